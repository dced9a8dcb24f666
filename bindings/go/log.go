// Log lines from the library to a Go function.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

/*
#include "shim.h"
*/
import "C"

import (
	"fmt"
	"runtime"
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
	words := [...]string{"error", "warning", "info", "debug"}
	if l < 0 || int(l) >= len(words) {
		return fmt.Sprintf("LogLevel(%d)", int32(l))
	}
	return words[l]
}

// LogFunc receives log lines. It is called within a call of the library, on its goroutine, and by several at once when
// several calls run. It may end calls by their context.Context, but must not use objects of the context that logs. When
// it panics, that call ends first and the panic goes on from it. It must not call runtime.Goexit, which t.FailNow does.
type LogFunc func(level LogLevel, component, message string)

// A callback is the cgo.Handle of what C calls, or 0.
type callback struct {
	value atomic.Uintptr
}

// set replaces what is called and forgets the one before.
func (c *callback) set(value cgo.Handle) {
	if before := c.value.Swap(uintptr(value)); before != 0 {
		cgo.Handle(before).Delete()
	}
}

// A logHandle is that of a context's LogFunc.
type logHandle struct {
	callback
}

// during runs f, and lets a panic of the LogFunc go on when C has returned. That panic is kept for the thread, which
// therefore must be the same before and after.
func (l *logHandle) during(f func()) {
	if l.value.Load() == 0 {
		f()
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	f()
	if kept := cgo.Handle(C.xfgo_take_panic()); kept != 0 {
		value := kept.Value()
		kept.Delete()
		panic(value)
	}
}

//export xfgoLog
func xfgoLog(user C.uintptr_t, level C.int32_t, component, message *C.char) (panicked C.uintptr_t) {
	returned := false
	defer func() {
		if !returned {
			panicked = C.uintptr_t(cgo.NewHandle(recover()))
		}
	}()
	wanted := cgo.Handle(user).Value().(LogFunc)
	wanted(LogLevel(level), C.GoString(component), C.GoString(message))
	returned = true
	return 0
}
