// One call of the library: its xf_call, the handles that it uses, and its arguments in the form of C.
//
// Go must not pass C a struct with pointers into Go memory, so such arguments are copied to memory of C for the call.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

// #include "shim.h"
import "C"

import (
	"context"
	"runtime"
	"runtime/cgo"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"
)

type status = C.xf_status

// call is passed to the function that makes the call. Its methods stop the call with abort if an argument is invalid.
type call struct {
	// xf is the xf_call of the library, in memory of C; nil selects the defaults.
	xf      *C.xf_call
	err     C.xf_error
	aborted error
	atEnd   []func()
	blocks  []unsafe.Pointer
}

func (c *call) abort(err error) {
	c.aborted = err
	panic(err)
}

// do makes a call that cannot be cancelled.
func do(f func(c *call) status) error {
	return doLong(context.Background(), f)
}

// doLong makes a call with the cancellation, deadline, and progress function of ctx.
func doLong(ctx context.Context, f func(c *call) status) (err error) {
	if err := ctx.Err(); err != nil {
		return contextError(err)
	}
	c := new(call)
	defer func() {
		c.end()
		if c.aborted != nil {
			recover()
			err = c.aborted
		}
	}()
	c.control(ctx)
	// The library calls callbacks on the thread of the call, and their failures are stored for that thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	found := f(c)
	kept := takeKept()
	err = check(found, &c.err)
	if failed, ok := err.(*Error); ok {
		if kept != nil {
			failed.Message, failed.cause = failed.Message+": "+kept.Error(), kept
		} else if failed.Status == ErrDeadline {
			failed.cause = context.DeadlineExceeded
		} else if failed.Status == ErrCancelled {
			failed.cause = ctx.Err()
		}
	}
	return err
}

// control fills c.xf from ctx.
func (c *call) control(ctx context.Context) {
	deadline, limited := ctx.Deadline()
	progress, _ := ctx.Value(progressKey{}).(ProgressFunc)
	if ctx.Done() == nil && !limited && progress == nil {
		return
	}
	given := first(newArray[C.xfgo_call](c, 1))
	c.xf = &given.call
	*c.xf = C.xf_call{struct_size: C.sizeof_xf_call, cancelled: &given.cancelled}
	if limited {
		c.xf.deadline_ms = milliseconds(deadline)
	}
	if progress != nil {
		C.xfgo_set_progress(c.xf, c.handle(progress))
	}
	if ctx.Done() == nil {
		return
	}
	flag := (*int32)(unsafe.Pointer(&given.cancelled))
	ended, left := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(left)
		select {
		case <-ended:
		case <-ctx.Done():
			// After the deadline, the library ends the call itself and may return partial results.
			if !limited || ctx.Err() != context.DeadlineExceeded {
				atomic.StoreInt32(flag, 1)
			}
		}
	}()
	c.atEnd = append(c.atEnd, func() {
		close(ended)
		<-left // the flag is freed afterwards
	})
}

// milliseconds returns the time until a deadline for C, rounded up; 0 would mean that there is no deadline.
func milliseconds(deadline time.Time) C.int64_t {
	if left := time.Until(deadline); left > time.Millisecond {
		return C.int64_t((left + time.Millisecond - 1) / time.Millisecond)
	}
	return 1
}

func (c *call) end() {
	for i := len(c.atEnd) - 1; i >= 0; i-- {
		c.atEnd[i]()
	}
	for _, block := range c.blocks {
		C.free(block)
	}
}

// hold returns the pointer of a handle, which remains valid until the call ends.
func (c *call) hold(h *handle) unsafe.Pointer {
	if err := h.begin(); err != nil {
		c.abort(err)
	}
	c.atEnd = append(c.atEnd, h.end)
	return h.ptr
}

// handle returns a reference to a Go value that C can store until the call ends.
func (c *call) handle(value any) C.uintptr_t {
	h := cgo.NewHandle(value)
	c.atEnd = append(c.atEnd, h.Delete)
	return C.uintptr_t(h)
}

// alloc allocates zeroed memory of C until the call ends. The result is not nil, even if count is 0.
func (c *call) alloc(count int, size uintptr) unsafe.Pointer {
	p := C.calloc(C.size_t(count)+1, C.size_t(size))
	if p == nil {
		c.abort(newError(ErrNoMemory, 0, "out of memory for the arguments of a call"))
	}
	c.blocks = append(c.blocks, p)
	return p
}

// text converts a string to a NUL-terminated one. The error message calls it what.
func (c *call) text(what, value string) *C.char {
	if at := strings.IndexByte(value, 0); at >= 0 {
		c.abort(invalid("the %s has a NUL byte at %d, expected none", what, at))
	}
	copied := newArray[byte](c, len(value)+1)
	copy(copied, value)
	return as[C.char](copied)
}

// texts returns strings and their lengths.
func (c *call) texts(values []string) (**C.char, *C.size_t) {
	size := 0
	for _, value := range values {
		size += len(value) + 1
	}
	all := newArray[*C.char](c, len(values))
	lengths := newArray[C.size_t](c, len(values))
	rest := newArray[byte](c, size)
	for i, value := range values {
		all[i], lengths[i] = (*C.char)(unsafe.Pointer(&rest[0])), C.size_t(len(value))
		rest = rest[copy(rest, value)+1:]
	}
	return first(all), first(lengths)
}

// newArray allocates an array of C. Its capacity is one more than count, so even an empty array has an address.
func newArray[T any](c *call, count int) []T {
	var value T
	return unsafe.Slice((*T)(c.alloc(count, unsafe.Sizeof(value))), count+1)[:count]
}

// array copies a slice to an array of C.
func array[To, From any](c *call, values []From) *To {
	all := newArray[From](c, len(values))
	copy(all, values)
	return as[To](all)
}

// first returns the address of an array, also of an empty one with capacity.
func first[T any](values []T) *T {
	if cap(values) == 0 {
		return nil
	}
	return &values[:1][0]
}

// as returns the address of an array as a pointer to a type of C.
func as[To, From any](values []From) *To {
	return (*To)(unsafe.Pointer(first(values)))
}

// copied copies an array of C to a new slice.
func copied[To, From any](p *From, count int) []To {
	if p == nil || count <= 0 {
		return nil
	}
	return append([]To(nil), unsafe.Slice((*To)(unsafe.Pointer(p)), count)...)
}

// text converts bytes of C to a string.
func text(p *C.char, length C.size_t) string {
	if p == nil {
		return ""
	}
	return string(unsafe.Slice((*byte)(unsafe.Pointer(p)), int(length)))
}

// filled returns what f writes to room, or to a larger buffer if f requires one.
func filled[T any](room []T, f func(room []T, count *C.size_t) status) ([]T, status) {
	var count C.size_t
	found := f(room, &count)
	if found == C.XF_ERROR_BUFFER_TOO_SMALL {
		room = make([]T, count+1) // includes the NUL of a text
		found = f(room, &count)
	}
	if found != C.XF_OK {
		return nil, found
	}
	return room[:count], found
}

// filledText is filled for a text of a call that cannot be cancelled.
func filledText(size int, f func(c *call, room *C.char, capacity C.size_t, length *C.size_t) status) (string, error) {
	var text []byte
	err := do(func(c *call) (found status) {
		text, found = filled(make([]byte, size), func(room []byte, length *C.size_t) status {
			return f(c, as[C.char](room), C.size_t(len(room)), length)
		})
		return found
	})
	return string(text), err
}
