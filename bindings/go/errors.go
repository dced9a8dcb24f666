// Errors: one type with the status of the library, sentence and native code; the statuses are the sentinels.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

// #include "shim.h"
import "C"

import (
	"errors"
	"fmt"
	"syscall"
)

// Status is the result of a call of the library. The numbers never change. The negative ones are errors and serve as
// sentinels, as the numbers of package syscall do:
//
//	if errors.Is(err, xformer.ErrCorrupt) { ... }
type Status int32

// The statuses of xformer/status.h.
const (
	// StatusOK is success.
	StatusOK Status = C.XF_OK
	// StatusDone is not an error: an iterator has nothing more to give.
	StatusDone Status = C.XF_DONE

	// ErrInvalidArgument is a value that the parameter can't take.
	ErrInvalidArgument Status = C.XF_ERROR_INVALID_ARGUMENT
	// ErrNoMemory is memory that the system, or the budget "context.memory_budget", does not give.
	ErrNoMemory Status = C.XF_ERROR_NO_MEMORY
	// ErrNotFound is an option, file, device or parameter that is not there.
	ErrNotFound Status = C.XF_ERROR_NOT_FOUND
	// ErrOutOfRange is a number outside its documented bounds.
	ErrOutOfRange Status = C.XF_ERROR_OUT_OF_RANGE
	// ErrBufferTooSmall is not met: this package sizes its buffers itself.
	ErrBufferTooSmall Status = C.XF_ERROR_BUFFER_TOO_SMALL
	// ErrState is a call that is not allowed in the present state of its object. ErrClosed is of this kind.
	ErrState Status = C.XF_ERROR_STATE
	// ErrBusy is an object, or its model, that is in a call beside which this one can't run. Nothing was done.
	ErrBusy Status = C.XF_ERROR_BUSY

	// ErrIO is the operating system refusing to open, read or write. errors.Is finds the reason too (fs.ErrPermission).
	ErrIO Status = C.XF_ERROR_IO
	// ErrCorrupt is a damaged file.
	ErrCorrupt Status = C.XF_ERROR_CORRUPT
	// ErrLimit is a file or an input that asks for more than the documented limits allow.
	ErrLimit Status = C.XF_ERROR_LIMIT
	// ErrVersion is a file, a plugin or a library of another version.
	ErrVersion Status = C.XF_ERROR_VERSION
	// ErrData is text that is not valid UTF-8, or training data that are not of the promised form.
	ErrData Status = C.XF_ERROR_DATA

	// ErrUnsupported is what this build, backend or device can't do.
	ErrUnsupported Status = C.XF_ERROR_UNSUPPORTED
	// ErrBackend is a backend that failed; Error.NativeCode is its own code.
	ErrBackend Status = C.XF_ERROR_BACKEND
	// ErrNonfinite is a loss or gradient that is not finite; weights and optimizer are as before the call.
	ErrNonfinite Status = C.XF_ERROR_NONFINITE
	// ErrForked is the use of an object in a process that was forked from its own.
	ErrForked Status = C.XF_ERROR_FORKED

	// ErrCancelled is a call that was ended. errors.Is finds the reason of its context.Context too (context.Canceled,
	// context.DeadlineExceeded), unless another's ended it. The object stays usable.
	ErrCancelled Status = C.XF_ERROR_CANCELLED
	// ErrCallback is a function of the caller that returned an error, which errors.Is finds too.
	ErrCallback Status = C.XF_ERROR_CALLBACK
	// ErrDeadline is a sentence that was not begun when "decode.deadline_ms" had passed.
	ErrDeadline Status = C.XF_ERROR_DEADLINE

	// ErrPeer is another rank of a training job that failed, ended or was silent for "context.comm_timeout".
	ErrPeer Status = C.XF_ERROR_PEER
	// ErrDesync is ranks that do not train the same thing: other options, data, versions or parameters.
	ErrDesync Status = C.XF_ERROR_DESYNC

	// ErrInternal is a defect of the library: please report it.
	ErrInternal Status = C.XF_ERROR_INTERNAL
)

// ErrClosed is the reason of an error of the kind ErrState: the object was closed before.
var ErrClosed = errors.New("closed")

// String is the library's name of a status, such as "XF_ERROR_CORRUPT".
func (s Status) String() string {
	return C.GoString(C.xf_status_name(C.int32_t(s)))
}

// Error makes a status an error, to compare with. It is the same as String.
func (s Status) Error() string {
	return s.String()
}

// Error is why a call failed. All errors of this package are of this type, but for those of the caller's own functions.
type Error struct {
	// Status is what errors.Is compares with; also one that this package does not know, when the library is newer.
	Status Status
	// NativeCode is the code of the layer below (errno, a cudaError_t), or 0.
	NativeCode int
	// Message is one sentence: the value found and the value expected.
	Message string

	cause error
}

// Error is the message with the name of this package before it.
func (e *Error) Error() string {
	return "xformer: " + e.Message
}

// Is tells whether the target is the status of this error.
func (e *Error) Is(target error) bool {
	status, ok := target.(Status)
	return ok && status == e.Status
}

// Unwrap gives the reason below: ErrClosed, a syscall.Errno, the error of a context.Context or of a function of the
// caller, or nil.
func (e *Error) Unwrap() error {
	return e.cause
}

func newError(status Status, nativeCode int, message string) *Error {
	e := &Error{Status: status, NativeCode: nativeCode, Message: message}
	if nativeCode > 0 && (status == ErrIO || status == ErrNotFound) {
		e.cause = syscall.Errno(nativeCode)
	}
	return e
}

// check is the error of a status and of what the call filled.
func check(status C.enum_xf_status, e *C.xf_error) error {
	if status >= 0 {
		return nil
	}
	return newError(Status(status), int(e.native_code), C.GoString(&e.message[0]))
}

func invalid(format string, args ...any) error {
	return newError(ErrInvalidArgument, 0, fmt.Sprintf(format, args...))
}

func cancelledError(cause error) error {
	return &Error{Status: ErrCancelled, Message: "the call was cancelled: " + cause.Error(), cause: cause}
}
