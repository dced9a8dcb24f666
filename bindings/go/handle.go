// The state that all objects share: a pointer of C, and when it is freed.
//
// The library itself refuses calls that cannot run at the same time (ErrBusy). It cannot see that Go has read a pointer
// and is about to enter C with it. Each handle therefore counts the calls that use it: Close marks the handle, and the
// last call that ends frees it.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

// #include "shim.h"
import "C"

import (
	"context"
	"runtime"
	"sync/atomic"
	"unsafe"
)

// object is embedded in all types that own an object of C.
type object struct {
	h *handle
}

// Close frees the object after all running calls that use it have ended. Objects that were created from it remain
// valid. Close may be called repeatedly and by several goroutines, and always returns nil.
func (o *object) Close() error {
	o.h.close()
	return nil
}

// kind is a type of object of C.
type kind struct {
	name string
	free func(p unsafe.Pointer)
}

var (
	kindBatcher   = &kind{"batcher", func(p unsafe.Pointer) { C.xf_batcher_free((*C.xf_batcher)(p)) }}
	kindConfig    = &kind{"config", func(p unsafe.Pointer) { C.xf_config_free((*C.xf_config)(p)) }}
	kindContext   = &kind{"context", func(p unsafe.Pointer) { C.xf_context_free((*C.xf_context)(p)) }}
	kindCorpus    = &kind{"corpus", func(p unsafe.Pointer) { C.xf_corpus_free((*C.xf_corpus)(p)) }}
	kindDecoder   = &kind{"decoder", func(p unsafe.Pointer) { C.xf_decoder_free((*C.xf_decoder)(p)) }}
	kindEngine    = &kind{"engine", func(p unsafe.Pointer) { C.xf_engine_free((*C.xf_engine)(p)) }}
	kindModel     = &kind{"model", func(p unsafe.Pointer) { C.xf_model_free((*C.xf_model)(p)) }}
	kindTokenizer = &kind{"tokenizer", func(p unsafe.Pointer) { C.xf_tokenizer_free((*C.xf_tokenizer)(p)) }}
	kindTrainer   = &kind{"trainer", func(p unsafe.Pointer) { C.xf_trainer_free((*C.xf_trainer)(p)) }}
)

// handle refers to an object of C. The finalizer belongs to the handle and not to the exported types, so a copy of an
// exported object is harmless.
type handle struct {
	kind   *kind
	ptr    unsafe.Pointer
	parent *handle      // the context, which is freed after this object; nil for a context and a config
	owner  *handle      // the object that owns and frees the pointer; nil if this handle does
	after  func()       // called after the object was freed; may be nil
	state  atomic.Int32 // number of calls and of child handles, plus closed
}

const closed = 1 << 30

// newHandle returns the handle of a new object.
func newHandle(kind *kind, p unsafe.Pointer, parent *handle) *handle {
	h := &handle{kind: kind, ptr: p, parent: parent}
	if parent != nil {
		parent.state.Add(1)
	}
	runtime.SetFinalizer(h, (*handle).close)
	return h
}

// create creates an object with a function of the library, which writes its pointer. The object belongs to the context
// of h; a config belongs to none. The handle is created before the call ends, so the collector can free it.
func create[T, P any](ctx context.Context, h *handle, kind *kind, wrap func(*handle) *T,
	f func(c *call, p **P) status) (made *T, err error) {
	err = doLong(ctx, func(c *call) status {
		var p *P
		found := f(c, &p)
		if found == C.XF_OK {
			made = wrap(newHandle(kind, unsafe.Pointer(p), h.context()))
		}
		return found
	})
	return made, err
}

// part returns the handle of an object that h owns. It is valid until either is closed.
func (h *handle) part(kind *kind, p unsafe.Pointer) *handle {
	return &handle{kind: kind, ptr: p, parent: h.parent, owner: h}
}

func (h *handle) context() *handle {
	if h != nil && h.parent != nil {
		return h.parent
	}
	return h
}

// begin registers a call that uses the handle, unless it is closed.
func (h *handle) begin() error {
	if h.owner != nil {
		if err := h.owner.begin(); err != nil {
			return err
		}
	}
	for {
		state := h.state.Load()
		if state >= closed {
			if h.owner != nil {
				h.owner.end()
			}
			return &Error{Status: ErrState, Message: "the " + h.kind.name + " is closed", cause: ErrClosed}
		}
		if h.state.CompareAndSwap(state, state+1) {
			return nil
		}
	}
}

func (h *handle) end() {
	if h.state.Add(-1) == closed {
		h.destroy()
	}
	if h.owner != nil {
		h.owner.end()
	}
}

func (h *handle) close() {
	for state := h.state.Load(); state < closed; state = h.state.Load() {
		if h.state.CompareAndSwap(state, state+closed) && state == 0 {
			h.destroy()
		}
	}
}

func (h *handle) destroy() {
	if h.owner != nil {
		return
	}
	runtime.SetFinalizer(h, nil)
	h.kind.free(h.ptr)
	if h.after != nil {
		h.after()
	}
	if h.parent != nil {
		h.parent.end()
	}
}
