// One call of the library: what it holds, and its arguments in the form of C.
//
// Go may not pass C a struct with pointers into Go memory: these are made in memory of C for the call.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

// #include "shim.h"
import "C"

import (
	"context"
	"math"
	"runtime"
	"runtime/cgo"
	"strings"
	"time"
	"unsafe"
)

type status = C.enum_xf_status

// A call is given to the function that makes it. Its methods end the call by abort when an argument won't do.
type call struct {
	err     C.xf_error
	aborted error
	atEnd   []func()
	blocks  []unsafe.Pointer
}

func (c *call) abort(err error) {
	c.aborted = err
	panic(err)
}

// do makes a call.
func do(f func(c *call) status) error {
	return doLong(context.Background(), nil, f)
}

// doLong makes a call that ctx may end, by the handle's cancel.
func doLong(ctx context.Context, h *handle, f func(c *call) status) (err error) {
	if err := ctx.Err(); err != nil {
		return cancelledError(err)
	}
	c := new(call)
	defer func() {
		c.end()
		if c.aborted != nil {
			recover()
			err = c.aborted
		}
	}()
	return c.run(ctx, h, f)
}

func (c *call) run(ctx context.Context, h *handle, f func(c *call) status) error {
	if h != nil && ctx.Done() != nil {
		c.hold(h)
		defer watch(ctx, h.cancel)()
	}
	// The callbacks of the library come on the thread of the call, and what they fail with is kept there.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	found := f(c)
	kept := takeKept()
	err := check(found, &c.err)
	if failed, ok := err.(*Error); ok {
		if kept != nil {
			failed.Message, failed.cause = failed.Message+": "+kept.Error(), kept
		} else if reason := ctx.Err(); failed.Status == ErrCancelled && reason != nil {
			return cancelledError(reason)
		}
	}
	return err
}

func (c *call) end() {
	for i := len(c.atEnd) - 1; i >= 0; i-- {
		c.atEnd[i]()
	}
	for _, block := range c.blocks {
		C.free(block)
	}
}

// watch cancels when ctx is done, and again until the function it returns is called: a cancel that comes before C has
// begun does nothing.
func watch(ctx context.Context, cancel func()) (stop func()) {
	ended, left := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(left)
		select {
		case <-ended:
			return
		case <-ctx.Done():
		}
		again := time.NewTicker(2 * time.Millisecond)
		defer again.Stop()
		for {
			cancel()
			select {
			case <-ended:
				return
			case <-again.C:
			}
		}
	}()
	return func() {
		close(ended)
		<-left // or it might hit the next call
	}
}

// hold gives C's pointer, valid to the end of the call.
func (c *call) hold(h *handle) unsafe.Pointer {
	if err := h.begin(); err != nil {
		c.abort(err)
	}
	c.atEnd = append(c.atEnd, h.end)
	return h.ptr
}

// handle lets C know a Go value to the end of the call.
func (c *call) handle(value any) C.uintptr_t {
	h := cgo.NewHandle(value)
	c.atEnd = append(c.atEnd, h.Delete)
	return C.uintptr_t(h)
}

// alloc gives zeroed memory of C to the end of the call, also for nothing.
func (c *call) alloc(count int, size uintptr) unsafe.Pointer {
	p := C.calloc(C.size_t(count)+1, C.size_t(size))
	if p == nil {
		c.abort(newError(ErrNoMemory, 0, "out of memory for the arguments of a call"))
	}
	c.blocks = append(c.blocks, p)
	return p
}

// text is a string for a parameter that ends at a NUL; what tells which one in the error.
func (c *call) text(what, value string) *C.char {
	if at := strings.IndexByte(value, 0); at >= 0 {
		c.abort(invalid("the %s has a NUL byte at %d, expected none", what, at))
	}
	return as[C.char](append([]byte(value), 0))
}

// texts are strings, and their lengths.
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

// names are strings without NUL bytes.
func (c *call) names(what string, values []string) **C.char {
	for i, value := range values {
		if at := strings.IndexByte(value, 0); at >= 0 {
			c.abort(invalid("%s %d has a NUL byte at %d, expected none", what, i, at))
		}
	}
	all, _ := c.texts(values)
	return all
}

// newArray is an array of C; its capacity, which is one more, gives even an empty one an address.
func newArray[T any](c *call, count int) []T {
	var value T
	return unsafe.Slice((*T)(c.alloc(count, unsafe.Sizeof(value))), count+1)[:count]
}

// ids is an array of C with the same numbers.
func (c *call) ids(values []int32) *C.int32_t {
	if len(values) > math.MaxInt32 {
		c.abort(newError(ErrLimit, 0, "an array has more than 2^31 - 1 ids"))
	}
	all := newArray[int32](c, len(values))
	copy(all, values)
	return as[C.int32_t](all)
}

// first is the address of an array: of an empty one, too, when it has room.
func first[T any](values []T) *T {
	if cap(values) == 0 {
		return nil
	}
	return &values[:1][0]
}

// as is the address of an array as a type of C.
func as[To, From any](values []From) *To {
	return (*To)(unsafe.Pointer(first(values)))
}

// copied is an array of C as a slice of Go's own.
func copied[To, From any](p *From, count C.int64_t) []To {
	if p == nil || count <= 0 {
		return nil
	}
	return append([]To(nil), unsafe.Slice((*To)(unsafe.Pointer(p)), int(count))...)
}

// text is bytes of C as a string.
func text(p *C.char, length C.size_t) string {
	if p == nil {
		return ""
	}
	return string(unsafe.Slice((*byte)(unsafe.Pointer(p)), int(length)))
}

// filled is what f writes: to room, or when that is too small, to as much as it asks for.
func filled[T any](room []T, f func(room []T, count *C.size_t) status) ([]T, status) {
	var count C.size_t
	found := f(room, &count)
	if found == C.XF_ERROR_BUFFER_TOO_SMALL {
		room = make([]T, count+1) // the NUL of a text
		found = f(room, &count)
	}
	if found != C.XF_OK {
		return nil, found
	}
	return room[:count], found
}
