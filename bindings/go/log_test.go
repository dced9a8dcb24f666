// Log lines, and what a log function may do wrong.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

import (
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

var badLines = []byte("a\tb\nbad\n")

func TestLogLines(t *testing.T) {
	w := newWorld(t)
	var lines []string
	w.must(w.context.SetLog(LogDebug, func(level LogLevel, component, message string) {
		lines = append(lines, level.String()+" "+component+" "+message)
	}))
	runtime.GC()
	corpus, err := w.context.NewCorpus(background, "some text", badLines, nil)
	w.must(err)
	if all := strings.Join(lines, "\n"); !strings.Contains(all, "warning data some text:2") {
		t.Errorf("%q", lines)
	}
	if want := (CorpusStats{Lines: 2, Kept: 1, BadColumns: 1}); corpus.Stats() != want {
		t.Errorf("%+v, expected %+v", corpus.Stats(), want)
	}
	count := len(lines)
	w.must(w.context.SetLog(LogError, func(LogLevel, string, string) { t.Error("a warning passes as an error") }))
	_, err = w.context.NewCorpus(background, "some text", badLines, nil)
	w.must(err)
	w.must(w.context.SetLog(LogDebug, nil))
	_, err = w.context.NewCorpus(background, "some text", badLines, nil)
	if w.must(err); len(lines) != count {
		t.Errorf("%q after silence", lines[count:])
	}
}

func TestALogFunctionOutlivesItsContext(t *testing.T) {
	w := newWorld(t)
	corpus, err := w.context.NewCorpus(background, "long", []byte("a\tb\none two three four\tc\n"), nil)
	w.must(err)
	called := 0
	w.must(w.context.SetLog(LogDebug, func(LogLevel, string, string) { called++ }))
	w.must(w.context.Close())
	runtime.GC()
	if _, err = corpus.NewBatcher(background, w.tokenizer, Options{"data.max_tokens": 3}); err != nil || called == 0 {
		t.Errorf("%v; called %d times", err, called)
	}
}

func TestAPanicGoesOnAfterTheCall(t *testing.T) {
	w := newWorld(t)
	type value struct{ number int }
	for i := 0; i < 50; i++ {
		calls := 0
		w.must(w.context.SetLog(LogDebug, func(LogLevel, string, string) {
			calls++
			panic(&value{i})
		}))
		func() {
			defer func() {
				if found, ok := recover().(*value); !ok || found.number != i || calls != 1 {
					t.Errorf("recovered %v after %d calls, expected %d after one", found, calls, i)
				}
			}()
			_, err := w.context.NewCorpus(background, "panics", badLines, nil)
			t.Errorf("no panic but %v", err)
		}()
	}
	w.must(w.context.SetLog(LogDebug, nil)) // nobody is in a call any more
	w.train(1)
}

func TestAPanicComesToItsOwnGoroutine(t *testing.T) {
	w := newWorld(t)
	w.must(w.context.SetLog(LogDebug, func(_ LogLevel, _, message string) {
		runtime.Gosched()
		panic(strings.SplitN(message, ":", 2)[0])
	}))
	var group sync.WaitGroup
	for i := 0; i < 8; i++ {
		group.Add(1)
		go func(name string) {
			defer group.Done()
			for k := 0; k < 30; k++ {
				func() {
					defer func() {
						if found := recover(); found != name {
							t.Errorf("%v came to %v", found, name)
						}
					}()
					w.context.NewCorpus(background, name, badLines, nil)
				}()
			}
		}(strings.Repeat("x", i+1))
	}
	group.Wait()
}

func TestALogFunctionThatUsesWhatIsInUse(t *testing.T) {
	w := newWorld(t)
	var found []error
	w.must(w.context.SetLog(LogWarning, func(LogLevel, string, string) {
		found = append(found, w.context.SetLog(LogDebug, nil))
	}))
	_, err := w.context.NewCorpus(background, "meddles", badLines, nil)
	w.must(err)
	if len(found) == 0 || !errors.Is(found[0], ErrBusy) || !errors.Is(found[0], ErrState) {
		t.Errorf("%v", found)
	}
}

func TestWhatIsClosedForgetsItsFunctions(t *testing.T) {
	w := newWorld(t)
	forgotten := make(chan string, 4)
	// logs gives a function that keeps an object, whose end is told.
	logs := func(name string) LogFunc {
		kept := &[1 << 10]byte{}
		runtime.SetFinalizer(kept, func(*[1 << 10]byte) { forgotten <- name })
		return func(LogLevel, string, string) { kept[0]++ }
	}
	asks := func(name string) Constraint {
		log := logs(name)
		return func(Prefix, Allowed) error { log(LogDebug, "", ""); return nil }
	}
	w.must(w.context.SetLog(LogDebug, logs("replaced log")))
	w.must(w.context.SetLog(LogDebug, logs("log")))
	w.must(w.decoder.SetConstraint(asks("replaced constraint")))
	w.must(w.decoder.SetConstraint(asks("constraint")))
	w.close()
	seen := map[string]bool{}
	for end := time.Now().Add(20 * time.Second); len(seen) < 4; {
		runtime.GC()
		select {
		case name := <-forgotten:
			seen[name] = true
		case <-time.After(time.Millisecond):
		}
		if time.Now().After(end) {
			t.Fatalf("%v are forgotten, expected 4", seen)
		}
	}
}
