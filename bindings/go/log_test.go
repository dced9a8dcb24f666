// Log lines, progress, and failures of callbacks.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

var badLines = []byte("a\tb\nbad\n")

func TestLogFunctionOutlivesItsContext(t *testing.T) {
	called := 0
	w := newWorld(t, WithLog(LogDebug, func(LogLevel, string, string) { called++ }))
	corpus, err := w.textCorpus("long", []byte("a\tb\none two three four\tc\n"), nil)
	w.must(err)
	w.must(w.context.Close())
	runtime.GC()
	called = 0
	if _, err = corpus.NewBatcher(background, w.tokenizer, Options{"data.max_tokens": 3}); err != nil || called == 0 {
		t.Errorf("%v; called %d times", err, called)
	}
}

func TestPanicContinuesAfterTheCall(t *testing.T) {
	type value struct{ number int }
	var thrown *value
	calls := 0
	w := newWorld(t, WithLog(LogDebug, func(LogLevel, string, string) {
		if calls++; thrown != nil {
			panic(thrown)
		}
	}))
	for i := 0; i < 50; i++ {
		thrown, calls = &value{i}, 0
		func() {
			defer func() {
				if found, ok := recover().(*value); !ok || found.number != i || calls != 1 {
					t.Errorf("recovered %v after %d calls, expected %d after one", found, calls, i)
				}
			}()
			_, err := w.textCorpus("panics", badLines, nil)
			t.Errorf("no panic but %v", err)
		}()
	}
	thrown = nil
	w.train(1) // no call is running
}

func TestPanicReachesItsOwnGoroutine(t *testing.T) {
	w := newWorld(t, WithLog(LogWarning, func(_ LogLevel, _, message string) {
		runtime.Gosched()
		panic(filepath.Base(strings.SplitN(message, ":", 2)[0]))
	}))
	var group sync.WaitGroup
	for i := 0; i < 8; i++ {
		w.must(os.WriteFile(w.path(strings.Repeat("x", i+1)), badLines, 0o600))
		group.Add(1)
		go func(name string) {
			defer group.Done()
			for k := 0; k < 30; k++ {
				func() {
					defer func() {
						if found := recover(); found != name {
							t.Errorf("goroutine %v received the panic %v", name, found)
						}
					}()
					w.context.OpenCorpus(background, w.path(name), nil)
				}()
			}
		}(strings.Repeat("x", i+1))
	}
	group.Wait()
}

func TestCallbacksAreReleased(t *testing.T) {
	forgotten := make(chan string, 4)
	// logs returns a callback that refers to an object with a finalizer.
	logs := func(name string) LogFunc {
		kept := &[1 << 10]byte{}
		runtime.SetFinalizer(kept, func(*[1 << 10]byte) { forgotten <- name })
		return func(LogLevel, string, string) { kept[0]++ }
	}
	asks := func(name string) Constraint {
		log := logs(name)
		return func([]Partial, int) error { log(LogDebug, "", ""); return nil }
	}
	w := newWorld(t, WithLog(LogDebug, logs("log")))
	_, err := w.decoder.Translate(background, []string{"one"}, &Params{Constraint: asks("constraint")})
	w.must(err)
	w.close()
	seen := map[string]bool{}
	for end := time.Now().Add(20 * time.Second); len(seen) < 2; {
		runtime.GC()
		select {
		case name := <-forgotten:
			seen[name] = true
		case <-time.After(time.Millisecond):
		}
		if time.Now().After(end) {
			t.Fatalf("released %v, expected 2", seen)
		}
	}
}
