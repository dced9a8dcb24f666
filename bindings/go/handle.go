// What all objects share: closing, and the rule that one object is not in two calls at once.
//
// The library adds no locks on handles. So that a mistake is an error here and never a crash, each call first notes
// what it uses: an exclusive call beside any other on the same object is ErrBusy, and Close during a call frees when
// that call has ended.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

/*
#include "shim.h"
*/
import "C"

import (
	"runtime"
	"sync"
	"unsafe"
)

// A guard notes who is in a call on one native object: many readers or one writer. It outlives the closing of its
// object, as a trainer goes on with a model that was closed. Its family's lock is held when it is touched.
type guard struct {
	kind    string
	readers int
	writing bool
}

type claim struct {
	guard *guard
	write bool
}

func (c claim) possible() bool {
	return !c.guard.writing && !(c.write && c.guard.readers > 0)
}

func (c claim) take(by int) {
	if c.write {
		c.guard.writing = by > 0
	} else {
		c.guard.readers += by
	}
}

// A family is what the objects of one context share. It has no pointer to any of their handles: a cycle through an
// object with a finalizer would never be collected.
type family struct {
	sync.Mutex // over guards and over the members of handles that change
	cancels    canceller
	logs       logHandle
}

// A handle is a native object in the hands of this package. The finalizer is here and not on the types that users hold,
// so that a copy of one of those is harmless.
type handle struct {
	guard  *guard
	family *family
	parent *handle // the context, whose native object outlives this one
	owner  *handle // whose part this is, when it is not to be freed
	free   func(unsafe.Pointer)
	reads  []claim // what a call marked "shared-read" in the headers takes
	writes []claim // what one marked "exclusive" takes

	ptr    unsafe.Pointer // C's; does not change while uses is not 0
	uses   int            // calls, and children that are not freed
	closed bool
}

// open makes the handle of a native object. others are the guards of what it stands on, which each of its calls reads.
func (h *handle) open(p unsafe.Pointer, others ...*guard) *handle {
	h.ptr = p
	h.reads = append(h.reads, claim{h.guard, false})
	h.writes = append(h.writes, claim{h.guard, true})
	for _, g := range others {
		h.reads = append(h.reads, claim{g, false})
		h.writes = append(h.writes, claim{g, false})
	}
	if h.parent != nil {
		h.parent.retain()
	}
	if h.owner == nil {
		runtime.SetFinalizer(h, (*handle).close)
	}
	return h
}

func (h *handle) retain() {
	h.family.Lock()
	h.uses++
	h.family.Unlock()
}

// begin notes a call on the handle, or says why it can't be.
func (h *handle) begin(claims []claim) error {
	h.family.Lock()
	defer h.family.Unlock()
	for part := h; part != nil; part = part.owner {
		if part.closed {
			return stateError(ErrClosed, "the %s is closed", part.guard.kind)
		}
	}
	for _, c := range claims {
		if !c.possible() {
			return stateError(ErrBusy, "the %s is in another call", c.guard.kind)
		}
	}
	for _, c := range claims {
		c.take(1)
	}
	for part := h; part != nil; part = part.owner {
		part.uses++
	}
	return nil
}

func (h *handle) end(claims []claim) {
	h.family.Lock()
	for _, c := range claims {
		c.take(-1)
	}
	h.family.Unlock()
	for part := h; part != nil; part = part.owner {
		part.release()
	}
}

func (h *handle) release() {
	h.family.Lock()
	h.uses--
	p := h.unused()
	h.family.Unlock()
	h.destroy(p)
}

func (h *handle) close() {
	h.family.Lock()
	h.closed = true
	p := h.unused()
	h.family.Unlock()
	h.destroy(p)
}

// unused is the pointer to free, once: when the handle is closed and in no call. The lock is held.
func (h *handle) unused() unsafe.Pointer {
	if !h.closed || h.uses > 0 {
		return nil
	}
	p := h.ptr
	h.ptr = nil
	return p
}

// destroy is not under the lock: freeing a context waits for its threads.
func (h *handle) destroy(p unsafe.Pointer) {
	if p == nil {
		return
	}
	if h.owner == nil {
		runtime.SetFinalizer(h, nil)
		h.free(p)
	}
	if h.parent != nil {
		h.parent.release()
	}
}

// A use is a handle and what a call takes of it. Without a handle it is a NULL.
type use struct {
	handle *handle
	claims []claim
}

func reading(h *handle) use {
	if h == nil {
		return use{}
	}
	return use{h, h.reads}
}

func writing(h *handle) use {
	return use{h, h.writes}
}

// either is for calls marked "any": beside whatever else runs.
func either(h *handle) use {
	return use{h, nil}
}

// pointer is C's pointer, in a call that uses the handle.
func (h *handle) pointer() unsafe.Pointer {
	if h == nil {
		return nil
	}
	return h.ptr
}

// A native function makes one call of the library. What the call creates it wraps before it returns: whatever happens
// then, the collector finds it.
type native func(e *C.xf_error) C.enum_xf_status

// call runs a native function, with every handle that it uses held.
func call(f native, uses ...use) error {
	held := 0
	defer func() {
		for _, u := range uses[:held] {
			if u.handle != nil {
				u.handle.end(u.claims)
				runtime.KeepAlive(u.handle)
			}
		}
	}()
	for _, u := range uses {
		if u.handle != nil {
			if err := u.handle.begin(u.claims); err != nil {
				return err
			}
		}
		held++
	}
	var e C.xf_error
	var status C.enum_xf_status
	run := func() { status = f(&e) }
	if h := uses[0].handle; h != nil {
		h.family.logs.during(run)
	} else {
		run()
	}
	return check(status, &e)
}
