// What all objects share: a pointer of C, and when it is freed.
//
// The library itself refuses what can't run side by side (ErrBusy). What it can't know is that Go has read a pointer
// and is about to enter C with it. So each handle counts the calls that hold it: Close marks it, and the last call out
// frees.
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

// An object is what the types of this package have in common.
type object struct {
	h *handle
}

// Close gives back what is behind the object, when calls of it that run have ended; what was made from it goes on. It
// may be called again, also from several goroutines, and always returns nil.
func (o *object) Close() error {
	o.h.close()
	return nil
}

// A kind is a type of object, and which functions of C are for it.
type kind struct {
	name   string
	free   func(p unsafe.Pointer)
	cancel func(p unsafe.Pointer) // nil: its calls are cancelled by the context
}

var (
	kindBatcher   = &kind{"batcher", func(p unsafe.Pointer) { C.xf_batcher_free((*C.xf_batcher)(p)) }, nil}
	kindConfig    = &kind{"config", func(p unsafe.Pointer) { C.xf_config_free((*C.xf_config)(p)) }, nil}
	kindContext   = &kind{"context", func(p unsafe.Pointer) { C.xf_context_free((*C.xf_context)(p)) }, nil}
	kindCorpus    = &kind{"corpus", func(p unsafe.Pointer) { C.xf_corpus_free((*C.xf_corpus)(p)) }, nil}
	kindModel     = &kind{"model", func(p unsafe.Pointer) { C.xf_model_free((*C.xf_model)(p)) }, nil}
	kindTokenizer = &kind{"tokenizer", func(p unsafe.Pointer) { C.xf_tokenizer_free((*C.xf_tokenizer)(p)) }, nil}

	kindDecoder = &kind{"decoder", func(p unsafe.Pointer) { C.xf_decoder_free((*C.xf_decoder)(p)) },
		func(p unsafe.Pointer) { C.xf_decoder_cancel((*C.xf_decoder)(p)) }}
	kindTrainer = &kind{"trainer", func(p unsafe.Pointer) { C.xf_trainer_free((*C.xf_trainer)(p)) },
		func(p unsafe.Pointer) { C.xf_trainer_cancel((*C.xf_trainer)(p)) }}
)

// A handle is an object of C. The finalizer is here and not on the types that users hold, so that a copy of one of
// those is harmless.
type handle struct {
	kind   *kind
	ptr    unsafe.Pointer
	parent *handle      // the context, freed after this; nil for a context and a config
	owner  *handle      // whose part this is, when that frees it
	after  func()       // called when it is freed, if not nil
	state  atomic.Int32 // calls that hold it, and handles that it is the parent of; and closed
}

const closed = 1 << 30

// newHandle is the handle of a new object, which its user closes or the collector does.
func newHandle(kind *kind, p unsafe.Pointer, parent *handle) *handle {
	h := &handle{kind: kind, ptr: p, parent: parent}
	if parent != nil {
		parent.state.Add(1)
	}
	runtime.SetFinalizer(h, (*handle).close)
	return h
}

// create makes an object by a function of the library, which writes its pointer. It belongs to the context of h, whose
// cancel ctx uses; a config belongs to none. wrap comes before the call ends, so that the collector finds it.
func create[T, P any](ctx context.Context, h *handle, kind *kind, wrap func(*handle) *T,
	f func(c *call, p **P) status) (made *T, err error) {
	err = doLong(ctx, h, func(c *call) status {
		var p *P
		found := f(c, &p)
		if found == C.XF_OK {
			made = wrap(newHandle(kind, unsafe.Pointer(p), h.context()))
		}
		return found
	})
	return made, err
}

// part is the handle of what this one owns: usable until either is closed.
func (h *handle) part(kind *kind, p unsafe.Pointer) *handle {
	return &handle{kind: kind, ptr: p, parent: h.parent, owner: h}
}

func (h *handle) context() *handle {
	if h != nil && h.parent != nil {
		return h.parent
	}
	return h
}

// begin notes a call that holds the handle, unless it is closed.
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

// cancel ends the calls that run on a decoder or a trainer, and for other objects those that run on their context.
func (h *handle) cancel() {
	if h.kind.cancel != nil {
		h.kind.cancel(h.ptr)
		return
	}
	C.xf_context_cancel((*C.xf_context)(h.context().ptr))
}
