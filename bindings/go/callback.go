// Functions of the caller that C calls: log, progress, and what their failures become.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

// #include "shim.h"
import "C"

import (
	"fmt"
	"runtime/cgo"
	"sync/atomic"
)

// LogLevel is the weight of a log line.
type LogLevel int32

const (
	// LogError is something that failed; the call that failed also returns it.
	LogError LogLevel = C.XF_LOG_ERROR
	// LogWarning is something that is not as the caller may think: a skipped line, a backend that could not be used.
	LogWarning LogLevel = C.XF_LOG_WARNING
	// LogInfo is what was chosen and done.
	LogInfo LogLevel = C.XF_LOG_INFO
	// LogDebug is detail for those who look for a fault.
	LogDebug LogLevel = C.XF_LOG_DEBUG
)

// String is the level as a word, "warning".
func (l LogLevel) String() string {
	return word(l, "LogLevel", "error", "warning", "info", "debug")
}

// word is that of a value of an enumeration from 0, or the type and the number of one that is not known.
func word[T ~int32](value T, kind string, words ...string) string {
	if value < 0 || int(value) >= len(words) {
		return fmt.Sprintf("%s(%d)", kind, int32(value))
	}
	return words[value]
}

// LogFunc receives log lines. It is called within a call of the library, on its goroutine, and by several at once when
// several calls run. It may end calls by their context.Context, but must not use objects of the context that logs. When
// it panics, that call ends first and the panic goes on from it. It must not call runtime.Goexit, which t.FailNow does.
type LogFunc func(level LogLevel, component, message string)

// ProgressFunc hears how far a long call has come: done of total, in units of the task, which is "tokenizer", "encode",
// "load", "save", "average", "translate" or "evaluate". About ten times a second and once at the end; calls that end
// sooner don't tell. An error ends the call, which returns one that is both ErrCallback and this one. The rules of
// LogFunc hold.
type ProgressFunc func(task string, done, total int64) error

// A ContextOption is a function that NewContext is given.
type ContextOption func(*host)

// WithLog sends log lines up to a level to fn. Without it the library says nothing.
func WithLog(level LogLevel, fn LogFunc) ContextOption {
	return func(h *host) { h.level, h.log = level, fn }
}

// WithProgress tells fn of the progress of long calls.
func WithProgress(fn ProgressFunc) ContextOption {
	return func(h *host) { h.progress = fn }
}

// A host is the functions of a context.
type host struct {
	level    LogLevel
	log      LogFunc
	progress ProgressFunc
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
		return cgo.Handle(user).Value().(*host).progress(C.GoString(task), int64(done), int64(total))
	})
}

// A failure is what a function of the caller failed with.
type failure struct {
	err      error
	panicked bool
	value    any
}

// How many failures are kept, on all threads: asking C is needless when there are none.
var failures atomic.Int32

// keep runs a function of the caller within a call of C. Its failure waits for the end of that call, and until then
// no other function is run: 1 tells C to end.
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

// takeKept is the error of a function that ran within the call that ended on this thread; or its panic goes on.
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
