// Callbacks of the caller: log, progress, and how their failures are returned.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

// #include "shim.h"
import "C"

import (
	"context"
	"fmt"
	"runtime/cgo"
	"sync/atomic"
)

// LogLevel is the severity of a log line.
type LogLevel int32

const (
	// LogError is a failure. The call that failed also returns it.
	LogError LogLevel = C.XF_LOG_ERROR
	// LogWarning is something unexpected that is not an error: a skipped line, a changed option of a resumed run.
	LogWarning LogLevel = C.XF_LOG_WARNING
	// LogInfo is a decision or a completed operation: the selected device, each load, save, and resume.
	LogInfo LogLevel = C.XF_LOG_INFO
	// LogDebug is diagnostic detail.
	LogDebug LogLevel = C.XF_LOG_DEBUG
)

// String returns the level as a word, for example "warning".
func (l LogLevel) String() string {
	return word(l, "LogLevel", "error", "warning", "info", "debug")
}

// word returns the name of a value of an enumeration that starts at 1, or type and number of an unknown value.
func word[T ~int32](value T, kind string, words ...string) string {
	if value < 1 || int(value) > len(words) {
		return fmt.Sprintf("%s(%d)", kind, int32(value))
	}
	return words[value-1]
}

// LogFunc receives log lines. It is called during a call of the library, on its goroutine. Several calls may call it
// concurrently. It may cancel a context.Context, but must not use objects of the Context that logs. If it panics, the
// library completes the call, and then the panic continues. It must not call runtime.Goexit, as t.FailNow does.
type LogFunc func(level LogLevel, component, message string)

// ProgressFunc receives the progress of a call: done of total units of a task, which is "tokenizer", "encode", "load",
// "save", "average", "translate", "score", or "evaluate". It is called about ten times a second and once at the end;
// shorter calls do not report. An error stops the call, which returns an error that matches both ErrCallback and this
// error. The rules of LogFunc apply.
type ProgressFunc func(task string, done, total int64) error

type progressKey struct{}

// WithProgress returns a copy of ctx. Calls that receive it report their progress to fn.
func WithProgress(ctx context.Context, fn ProgressFunc) context.Context {
	return context.WithValue(ctx, progressKey{}, fn)
}

// A ContextOption is an optional argument of NewContext.
type ContextOption func(*host)

// WithLog sends log lines up to a level to fn. Without it, nothing is logged.
func WithLog(level LogLevel, fn LogFunc) ContextOption {
	return func(h *host) { h.level, h.log = level, fn }
}

// host contains the callbacks of a context.
type host struct {
	level LogLevel
	log   LogFunc
}

//export xfgoLog
func xfgoLog(user C.uintptr_t, level C.int32_t, component, message *C.char) {
	keep(func() error {
		cgo.Handle(user).Value().(*host).log(LogLevel(level), C.GoString(component), C.GoString(message))
		return nil
	})
}

//export xfgoProgress
func xfgoProgress(user C.uintptr_t, task *C.char, done, total C.int64_t) C.int32_t {
	return keep(func() error {
		return cgo.Handle(user).Value().(ProgressFunc)(C.GoString(task), int64(done), int64(total))
	})
}

// failure is the error or the panic of a callback.
type failure struct {
	err      error
	panicked bool
	value    any
}

// Number of stored failures of all threads. If it is 0, C need not be asked.
var failures atomic.Int32

// keep runs a callback during a call of C. A failure is stored until that call ends; no other callback runs until then.
// The result 1 stops the call.
func keep(f func() error) (stop C.int32_t) {
	if failures.Load() > 0 {
		if before := C.xfgo_keep(0); before != 0 {
			C.xfgo_keep(before)
			return 1
		}
	}
	returned := false
	var err error
	defer func() {
		if err != nil || !returned {
			kept := &failure{err, !returned, nil}
			if !returned {
				kept.value = recover()
			}
			failures.Add(1)
			C.xfgo_keep(C.uintptr_t(cgo.NewHandle(kept)))
			stop = 1
		}
	}()
	err = f()
	returned = true
	return 0
}

// takeKept returns the error of a callback of the call that ended on this thread, or continues its panic.
func takeKept() error {
	if failures.Load() == 0 {
		return nil
	}
	h := cgo.Handle(C.xfgo_keep(0))
	if h == 0 {
		return nil
	}
	failures.Add(-1)
	kept := h.Value().(*failure)
	h.Delete()
	if kept.panicked {
		panic(kept.value)
	}
	return kept.err
}
