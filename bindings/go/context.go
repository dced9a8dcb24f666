// The context: device, threads, memory, log.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

/*
#include "shim.h"
*/
import "C"

import (
	"runtime/cgo"
	"unsafe"
)

// Context is the root of all objects: an opened device with its threads, memory account and log. It is not a
// context.Context, which ends a call; this is what calls are made on.
type Context struct {
	h      *handle
	device string
}

func (c *Context) ptr() *C.xf_context {
	return (*C.xf_context)(c.h.pointer())
}

// NewContext opens a device. It reads the options of the group "context.", such as "context.threads" and
// "context.device".
func NewContext(settings Settings) (*Context, error) {
	if err := checkVersion(VersionNum()); err != nil {
		return nil, err
	}
	var context *Context
	err := using(settings, func(config *handle) error {
		return call(func(e *C.xf_error) C.enum_xf_status {
			var p *C.xf_context
			status := C.xf_context_create(config.config(), nil, &p, e)
			if status == C.XF_OK {
				context = wrapContext(p)
			}
			return status
		}, reading(config))
	})
	return context, err
}

func wrapContext(p *C.xf_context) *Context {
	family := &family{}
	family.cancels.begin(p)
	h := &handle{guard: &guard{kind: "context"}, family: family}
	h.free = func(p unsafe.Pointer) {
		C.xf_context_free((*C.xf_context)(p))
		family.logs.set(0)
	}
	return &Context{h.open(unsafe.Pointer(p)), C.GoString(C.xf_context_device(p))}
}

// child makes the handle of an object of this context, without its pointer.
func (c *Context) child(g *guard, free func(unsafe.Pointer)) *handle {
	return &handle{guard: g, family: c.h.family, parent: c.h, free: free}
}

// Close gives up the context. Objects made from it go on, and keep device and threads as long as they live. It may be
// called again, also from several goroutines, and always returns nil.
func (c *Context) Close() error {
	c.h.close()
	return nil
}

// SetLog sends log lines up to a level to fn; nil is silence, which is the beginning. When fn refers to the context,
// only Close frees the context: the collector can't.
func (c *Context) SetLog(level LogLevel, fn LogFunc) error {
	return call(func(e *C.xf_error) C.enum_xf_status {
		var value cgo.Handle
		if fn != nil {
			value = cgo.NewHandle(fn)
		}
		status := C.xfgo_set_log(c.ptr(), C.uintptr_t(value), C.int32_t(level), e)
		if status == C.XF_OK {
			c.h.family.logs.set(value)
		} else if value != 0 {
			value.Delete()
		}
		return status
	}, writing(c.h))
}

// Device tells what this context computes with, one line for people.
func (c *Context) Device() string {
	return c.device
}

// MemoryStats is the memory of a context's tensors, in bytes.
type MemoryStats struct {
	// Current is held now, Peak the most so far, Budget the limit or 0 for none.
	Current, Peak, Budget int64
	// Allocations made so far: stands still in the steady state of training and decoding.
	Allocations int64
}

// Memory reads the memory account. It may be read while calls run.
func (c *Context) Memory() (MemoryStats, error) {
	stats := C.xf_memory_stats{struct_size: C.sizeof_xf_memory_stats}
	err := call(func(e *C.xf_error) C.enum_xf_status {
		return C.xf_context_get_memory(c.ptr(), &stats, e)
	}, either(c.h))
	return MemoryStats{int64(stats.current), int64(stats.peak), int64(stats.budget), int64(stats.allocations)}, err
}

// BackendInfo is a backend, present or not.
type BackendInfo struct {
	// Name is "ref", "openblas" or "cuda".
	Name string
	// Version is that of the plugin and of what it stands on; "" when it could not be loaded.
	Version string
	// Path is the file it was loaded from; "" for the built-in one.
	Path string
	// Kind is "cpu" or "cuda".
	Kind string
	// DeviceCount is how many devices it can open; 0 when it is not available.
	DeviceCount int
	// Active tells that this context computes with it.
	Active bool
	// Reason is why it is not available, one sentence; "" when it is.
	Reason string
}

// Backends lists the backends known to the context, available or not.
func (c *Context) Backends() ([]BackendInfo, error) {
	var found []BackendInfo
	err := call(func(e *C.xf_error) C.enum_xf_status {
		for i := C.size_t(0); i < C.xf_backend_count(c.ptr()); i++ {
			info := C.xf_backend_info{struct_size: C.sizeof_xf_backend_info}
			if status := C.xf_backend_get(c.ptr(), i, &info, e); status != C.XF_OK {
				return status
			}
			found = append(found, BackendInfo{
				Name:        C.GoString(info.name),
				Version:     C.GoString(info.version),
				Path:        C.GoString(info.path),
				Kind:        C.GoString(info.kind),
				DeviceCount: int(info.device_count),
				Active:      info.active != 0,
				Reason:      C.GoString(info.reason),
			})
		}
		return C.XF_OK
	}, reading(c.h))
	return found, err
}

// LoadBackend loads a plugin from a file, to look it over: Backends lists it afterwards.
func (c *Context) LoadBackend(path string) error {
	name, err := cString("file name", path)
	if err != nil {
		return err
	}
	return call(func(e *C.xf_error) C.enum_xf_status {
		return C.xf_backend_load(c.ptr(), chars(name), e)
	}, writing(c.h))
}
