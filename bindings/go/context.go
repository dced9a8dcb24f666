// The context: device, threads, memory, log.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

// #include "shim.h"
import "C"

import (
	"runtime/cgo"
	"unsafe"
)

// Context is the root of all objects: an opened device with its threads, memory account and log. It is not a
// context.Context, which ends a call; this is what calls are made on.
type Context struct {
	object
	device string
}

func (c *Context) in(call *call) *C.xf_context {
	if c == nil {
		return nil
	}
	return (*C.xf_context)(call.hold(c.h))
}

// NewContext opens a device. It reads the options of the group "context.", such as "context.threads" and
// "context.device". When a function of more refers to the context, only Close frees the context: the collector can't.
func NewContext(settings Settings, more ...ContextOption) (context *Context, err error) {
	if err := checkVersion(VersionNum()); err != nil {
		return nil, err
	}
	var functions host
	for _, option := range more {
		option(&functions)
	}
	known := cgo.NewHandle(&functions)
	err = do(func(c *call) status {
		given := first(newArray[C.xf_host](c, 1))
		*given = C.xf_host{struct_size: C.sizeof_xf_host, log_level: C.int32_t(functions.level)}
		if functions.log != nil {
			C.xfgo_set_log(given, C.uintptr_t(known))
		}
		if functions.progress != nil {
			C.xfgo_set_progress(given, C.uintptr_t(known))
		}
		var p *C.xf_context
		found := C.xf_context_create(c.config(settings), given, &p, &c.err)
		if found == C.XF_OK {
			context = &Context{object{newHandle(kindContext, unsafe.Pointer(p), nil)}, C.GoString(C.xf_context_device(p))}
			context.h.after = known.Delete
		}
		return found
	})
	if context == nil {
		known.Delete()
	}
	return context, err
}

// Device tells what this context computes with, one line for people.
func (c *Context) Device() string {
	return c.device
}

// MemoryStats is the memory of a context's tensors and corpora, in bytes.
type MemoryStats struct {
	// Current is held now, Peak the most so far, Budget the limit or 0 for none.
	Current, Peak, Budget int64
	// Allocations made so far: stands still in the steady state of training and decoding.
	Allocations int64
}

// Memory reads the memory account. It may be read while calls run.
func (c *Context) Memory() (MemoryStats, error) {
	s := C.xf_memory_stats{struct_size: C.sizeof_xf_memory_stats}
	err := do(func(call *call) status { return C.xf_context_get_memory(c.in(call), &s, &call.err) })
	return MemoryStats{int64(s.current), int64(s.peak), int64(s.budget), int64(s.allocations)}, err
}

// Rank is this process's number among the ranks of its training job; 0 for one that is alone, -1 after Close.
func (c *Context) Rank() (rank int) {
	rank = -1
	_ = do(func(call *call) status {
		rank = int(C.xf_context_rank(c.in(call)))
		return C.XF_OK
	})
	return rank
}

// RankCount is the number of those ranks; 1 for a process that is alone, -1 after Close.
func (c *Context) RankCount() (count int) {
	count = -1
	_ = do(func(call *call) status {
		count = int(C.xf_context_rank_count(c.in(call)))
		return C.XF_OK
	})
	return count
}

// AllGather gives a number to all ranks and gets theirs, in their order. Every rank makes this call, in the same place;
// with it they decide as one, to stop for instance.
func (c *Context) AllGather(value int64) (values []int64, err error) {
	err = do(func(call *call) status {
		p := c.in(call)
		count := int(C.xf_context_rank_count(p))
		if count < 1 { // the call below says why
			count = 1
		}
		all := newArray[C.int64_t](call, count)
		found := C.xf_context_all_gather(p, C.int64_t(value), first(all), &call.err)
		for i := 0; found == C.XF_OK && i < len(all); i++ {
			values = append(values, int64(all[i]))
		}
		return found
	})
	return values, err
}

// BackendState is what a context knows of a backend.
type BackendState int32

const (
	// BackendAbsent has no file.
	BackendAbsent BackendState = C.XF_BACKEND_ABSENT
	// BackendFound has a file that was not opened: the context's device did not need it.
	BackendFound BackendState = C.XF_BACKEND_FOUND
	// BackendUnusable was opened and can't serve; BackendInfo.Reason says why.
	BackendUnusable BackendState = C.XF_BACKEND_UNUSABLE
	// BackendUsable was opened and could serve.
	BackendUsable BackendState = C.XF_BACKEND_USABLE
	// BackendActive is what the context computes with.
	BackendActive BackendState = C.XF_BACKEND_ACTIVE
)

// String is the state as a word, "found".
func (s BackendState) String() string {
	return word(s, "BackendState", "absent", "found", "unusable", "usable", "active")
}

// BackendInfo is a backend, present or not.
type BackendInfo struct {
	// Name is "ref", "openblas" or "cuda"; Kind, of its devices, "cpu" or "cuda".
	Name, Kind string
	// Version is that of the plugin and of what it stands on; "" when it was not opened.
	Version string
	// Path is its file; "" for the built-in one and for one that is absent.
	Path string
	// State is what the context knows of it.
	State BackendState
	// DeviceCount is how many devices it can open; 0 when it was not opened or can't serve.
	DeviceCount int
	// Reason is why it can't serve, one sentence; "" when it can, or was not asked.
	Reason string
}

// Backends lists the backends known to the context, available or not. It opens none.
func (c *Context) Backends() (all []BackendInfo, err error) {
	err = do(func(call *call) status {
		p := c.in(call)
		for i := C.size_t(0); i < C.xf_backend_count(p); i++ {
			info := C.xf_backend_info{struct_size: C.sizeof_xf_backend_info}
			if found := C.xf_backend_get(p, i, &info, &call.err); found != C.XF_OK {
				return found
			}
			all = append(all, BackendInfo{C.GoString(info.name), C.GoString(info.kind), C.GoString(info.version),
				C.GoString(info.path), BackendState(info.state), int(info.device_count), C.GoString(info.reason)})
		}
		return C.XF_OK
	})
	return all, err
}
