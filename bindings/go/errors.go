// Errors: one type with status, native code, and message. The statuses are the targets of errors.Is.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

// #include "shim.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"syscall"
)

// Status is the result of a call of the library. The numbers never change. Negative values are errors and can be used
// with errors.Is, like the numbers of package syscall:
//
//	if errors.Is(err, xformer.ErrCorrupt) { ... }
type Status int32

// The statuses of xformer/status.h.
const (
	// StatusOK is success.
	StatusOK Status = C.XF_OK
	// StatusDone is not an error: an iterator has reached its end.
	StatusDone Status = C.XF_DONE

	// ErrInvalidArgument: an argument has a value that the parameter does not accept.
	ErrInvalidArgument Status = C.XF_ERROR_INVALID_ARGUMENT
	// ErrNoMemory: an allocation failed, or "context.memory_budget" would be exceeded.
	ErrNoMemory Status = C.XF_ERROR_NO_MEMORY
	// ErrNotFound: no option, file, backend, tensor, or metadata of that name exists.
	ErrNotFound Status = C.XF_ERROR_NOT_FOUND
	// ErrOutOfRange: a number is outside the documented bounds, or a word is not one of the allowed words.
	ErrOutOfRange Status = C.XF_ERROR_OUT_OF_RANGE
	// ErrBufferTooSmall: a buffer is too small. This package enlarges its buffers and does not return this error.
	ErrBufferTooSmall Status = C.XF_ERROR_BUFFER_TOO_SMALL
	// ErrState: the current state of the object does not allow the call. Errors that match ErrClosed have this status.
	ErrState Status = C.XF_ERROR_STATE
	// ErrBusy: another call is using the object or its model. Nothing was done.
	ErrBusy Status = C.XF_ERROR_BUSY

	// ErrIO: the operating system failed to open, read, or write. errors.Is also matches the reason (fs.ErrPermission).
	ErrIO Status = C.XF_ERROR_IO
	// ErrCorrupt: the file is damaged.
	ErrCorrupt Status = C.XF_ERROR_CORRUPT
	// ErrLimit: the file or the input exceeds a documented limit.
	ErrLimit Status = C.XF_ERROR_LIMIT
	// ErrVersion: the file, the plugin, or the library has another version.
	ErrVersion Status = C.XF_ERROR_VERSION
	// ErrData: text is not valid UTF-8, or training data do not have the documented form.
	ErrData Status = C.XF_ERROR_DATA

	// ErrUnsupported: this build, backend, or device does not support the request.
	ErrUnsupported Status = C.XF_ERROR_UNSUPPORTED
	// ErrBackend: a backend failed; Error.NativeCode is its own code.
	ErrBackend Status = C.XF_ERROR_BACKEND
	// ErrNonfinite: the loss or the gradient is not finite. Parameters and optimizer state are unchanged.
	ErrNonfinite Status = C.XF_ERROR_NONFINITE
	// ErrForked: the object was created in a process from which the current process was forked.
	ErrForked Status = C.XF_ERROR_FORKED

	// ErrCancelled: the call was cancelled. errors.Is also matches context.Canceled, unless Context.Cancel cancelled it.
	// The object remains usable.
	ErrCancelled Status = C.XF_ERROR_CANCELLED
	// ErrCallback: a callback of the caller returned an error, which errors.Is also matches.
	ErrCallback Status = C.XF_ERROR_CALLBACK
	// ErrDeadline: the deadline passed before the call had a result. errors.Is also matches context.DeadlineExceeded.
	// The object remains usable.
	ErrDeadline Status = C.XF_ERROR_DEADLINE

	// ErrPeer: another rank of a training job failed, ended, or did not respond within "context.comm_timeout".
	ErrPeer Status = C.XF_ERROR_PEER
	// ErrDesync: the ranks do not train the same model: options, data, versions, or parameters differ.
	ErrDesync Status = C.XF_ERROR_DESYNC

	// ErrInternal is a defect of the library. Please report it.
	ErrInternal Status = C.XF_ERROR_INTERNAL
)

// ErrClosed is the cause of an error with the status ErrState: the object was closed.
var ErrClosed = errors.New("closed")

// String returns the library's name of a status, such as "XF_ERROR_CORRUPT".
func (s Status) String() string {
	return C.GoString(C.xf_status_name(C.xf_status(s)))
}

// Error returns String. It makes a status a target of errors.Is.
func (s Status) Error() string {
	return s.String()
}

// Error is the reason for a failed call. All errors of this package have this type, except io.EOF and errors that
// Trainer.Train returns unchanged.
type Error struct {
	// Status is the status of the call. It may be unknown to this package if the library is newer.
	Status Status
	// NativeCode is the code of the layer below (errno, a cudaError_t), or 0.
	NativeCode int
	// Message is one sentence: what was found, what was expected, and what to do.
	Message string

	cause error
}

// Error returns the message, preceded by the name of this package.
func (e *Error) Error() string {
	return "xformer: " + e.Message
}

// Is reports whether target is the status of this error.
func (e *Error) Is(target error) bool {
	status, ok := target.(Status)
	return ok && status == e.Status
}

// Unwrap returns the cause: ErrClosed, a syscall.Errno, the error of a context.Context or of a callback, or nil.
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

// check returns the error of a status, with the message that the call wrote.
func check(found status, e *C.xf_error) error {
	if found >= 0 {
		return nil
	}
	return newError(Status(found), int(e.native_code), C.GoString(&e.message[0]))
}

func invalid(format string, args ...any) error {
	return newError(ErrInvalidArgument, 0, fmt.Sprintf(format, args...))
}

// contextError returns the error of a call whose context.Context was done before it began.
func contextError(cause error) error {
	if cause == context.DeadlineExceeded {
		return &Error{Status: ErrDeadline, Message: "the deadline passed before the call began", cause: cause}
	}
	return &Error{Status: ErrCancelled, Message: "the call was cancelled before it began", cause: cause}
}
