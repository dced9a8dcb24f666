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

// Context is the root object: an open device with worker threads, memory account, and log. It is not a context.Context,
// which controls a single call.
type Context struct {
	object
	info ContextInfo
}

// Type is a type of numbers.
type Type int32

const (
	// TypeFP32 is 32-bit floating point.
	TypeFP32 Type = C.XF_TYPE_FP32
	// TypeFP16 is 16-bit floating point, IEEE 754 binary16.
	TypeFP16 Type = C.XF_TYPE_FP16
	// TypeBF16 is 16-bit floating point with the exponent range of fp32.
	TypeBF16 Type = C.XF_TYPE_BF16
	// TypeInt8 is an 8-bit integer with one fp32 scale per row.
	TypeInt8 Type = C.XF_TYPE_INT8
)

// String returns the type in the form of the option "model.weights", for example "fp32".
func (t Type) String() string {
	return word(t, "Type", "fp32", "fp16", "bf16", "int8")
}

// ContextInfo contains the properties of a context.
type ContextInfo struct {
	// Description is one line for people, for example "openblas on cpu:0, AMD EPYC, avx512, 2 threads, fp32".
	Description string
	// Backend is "ref", "openblas", or "cuda".
	Backend string
	// Device has the form of the option "context.device", for example "cpu:openblas" or "cuda:0".
	Device string
	// Arithmetic is the property of the device that determines the bits of results, for example "fma" or "sm_90".
	Arithmetic string
	// Precision is the type of activations and matrix products, TypeFP32 or TypeBF16.
	Precision Type
	// Threads is the number of CPU threads that compute.
	Threads int
	// Rank is the rank of this process in its training job, and RankCount the number of ranks; 0 and 1 for a single
	// process.
	Rank, RankCount int
}

func (c *Context) in(call *call) *C.xf_context {
	if c == nil {
		return nil
	}
	return (*C.xf_context)(call.hold(c.h))
}

// NewContext creates a context: it opens the device and starts the worker threads. It reads the options of the group
// "context.", such as "context.threads" and "context.device". A context with a LogFunc that refers to the context must
// be closed; the garbage collector cannot free it.
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
		var p *C.xf_context
		found := C.xf_context_create(c.config(settings), given, &p, &c.err)
		if found == C.XF_OK {
			context = &Context{object: object{newHandle(kindContext, unsafe.Pointer(p), nil)}}
			context.h.after = known.Delete
			info := C.xf_context_info{struct_size: C.sizeof_xf_context_info}
			C.xf_context_get_info(p, &info, nil) // cannot fail with these arguments
			context.info = ContextInfo{C.GoString(info.description), C.GoString(info.backend), C.GoString(info.device),
				C.GoString(info.arithmetic), Type(info.precision), int(info.threads), int(info.rank), int(info.rank_count)}
		}
		return found
	})
	if context == nil {
		known.Delete()
	}
	return context, err
}

// Info returns the properties of the context.
func (c *Context) Info() ContextInfo {
	return c.info
}

// Cancel cancels all calls that are running on the context and its objects. Later calls are not affected. To cancel one
// call, cancel its context.Context.
func (c *Context) Cancel() error {
	return do(func(call *call) status {
		C.xf_context_cancel(c.in(call))
		return C.XF_OK
	})
}

// MemoryStats is the memory account of a context, in bytes: tensors, workspaces, and corpora.
type MemoryStats struct {
	// Current is the memory in use, Peak its largest value so far, and Budget the limit; 0: no limit.
	Current, Peak, Budget int64
	// Allocations is the number of allocations so far. It does not change in the steady state of training and decoding.
	Allocations int64
}

// Memory returns the memory account. It may be called while other calls are running.
func (c *Context) Memory() (MemoryStats, error) {
	s := C.xf_memory_stats{struct_size: C.sizeof_xf_memory_stats}
	err := do(func(call *call) status { return C.xf_context_get_memory(c.in(call), &s, &call.err) })
	return MemoryStats{int64(s.current), int64(s.peak), int64(s.budget), int64(s.allocations)}, err
}

// BackendState is the state of a backend in a context.
type BackendState int32

const (
	// BackendAbsent: no file was found.
	BackendAbsent BackendState = C.XF_BACKEND_ABSENT
	// BackendFound: the file was not opened because the context's device does not need it.
	BackendFound BackendState = C.XF_BACKEND_FOUND
	// BackendUnusable: the file was opened but cannot be used; see BackendInfo.Reason.
	BackendUnusable BackendState = C.XF_BACKEND_UNUSABLE
	// BackendUsable: the file was opened and could be used.
	BackendUsable BackendState = C.XF_BACKEND_USABLE
	// BackendActive: the context computes with it.
	BackendActive BackendState = C.XF_BACKEND_ACTIVE
)

// String returns the state as a word, for example "found".
func (s BackendState) String() string {
	return word(s, "BackendState", "absent", "found", "unusable", "usable", "active")
}

// BackendInfo describes one backend.
type BackendInfo struct {
	// Name is "ref", "openblas", or "cuda". Kind is the kind of its devices, "cpu" or "cuda".
	Name, Kind string
	// Version is the version of the plugin and of the libraries that it uses; "" if it was not opened.
	Version string
	// Path is its file; "" for the built-in backend and for an absent one.
	Path string
	// State is its state in the context.
	State BackendState
	// DeviceCount is the number of devices that it can open; 0 if it was not opened or cannot be used.
	DeviceCount int
	// Reason states why it cannot be used; otherwise "".
	Reason string
}

// Backends returns all backends that the library supports, available or not. It opens none.
func (c *Context) Backends() (all []BackendInfo, err error) {
	err = do(func(call *call) status {
		p := c.in(call)
		for i := C.size_t(0); i < C.xf_context_backend_count(p); i++ {
			info := C.xf_backend_info{struct_size: C.sizeof_xf_backend_info}
			if found := C.xf_context_get_backend(p, i, &info, &call.err); found != C.XF_OK {
				return found
			}
			all = append(all, BackendInfo{C.GoString(info.name), C.GoString(info.kind), C.GoString(info.version),
				C.GoString(info.path), BackendState(info.state), int(info.device_count), C.GoString(info.reason)})
		}
		return C.XF_OK
	})
	return all, err
}
