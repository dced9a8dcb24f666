// The engine: results, partial results, cancellation, deadlines, constraints, a new model, and closing.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

import (
	"context"
	"errors"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// engine creates an engine of the world's model, which computes in Step if stepped.
func (w *world) engine(stepped bool, more Options) *Engine {
	w.Helper()
	settings := with(more)
	settings["engine.thread"] = !stepped
	engine, err := w.model.NewEngine(settings)
	w.must(err)
	w.Cleanup(func() { engine.Close() })
	return engine
}

// run computes until no requests are left.
func (w *world) run(engine *Engine) {
	w.Helper()
	for more := true; more; {
		var err error
		more, err = engine.Step()
		w.must(err)
	}
}

// last returns the last event of a channel, which is closed afterwards.
func last(t *testing.T, events <-chan Event) (found Event) {
	t.Helper()
	for event := range events {
		found = event
	}
	if !found.Last {
		t.Fatalf("%+v is not the last event", found)
	}
	return found
}

func (w *world) submit(engine *Engine, request Request) (uint64, <-chan Event) {
	w.Helper()
	id, events, err := engine.Submit(background, request)
	w.must(err)
	return id, events
}

func TestEngineResultsAreThoseOfTheDecoder(t *testing.T) {
	w := newWorld(t)
	w.train(20)
	settings := Options{"decode.beam": 3, "decode.n_best": 2}
	expected, err := w.decoder.Translate(background, sources(), &Params{Settings: settings})
	w.must(err)
	engine := w.engine(false, nil)
	var group sync.WaitGroup
	for i := 0; i < 4; i++ {
		for k, source := range sources() {
			group.Add(1)
			go func(source string, expected Result) {
				defer group.Done()
				found, err := engine.Translate(background, Request{Text: source, Settings: settings})
				if err != nil || !reflect.DeepEqual(found, expected) {
					t.Errorf("%v, %v, expected %v", found, err, expected)
				}
			}(source, expected[k])
		}
	}
	group.Wait()

	batch, err := w.model.Batch([]string{"one two"}, nil, nil)
	w.must(err)
	decoded, err := w.decoder.Decode(background, batch, nil)
	w.must(err)
	if found, err := engine.Translate(background, Request{SourceIDs: batch.SrcIDs}); err != nil ||
		!reflect.DeepEqual(found, decoded[0]) {
		t.Errorf("%v, %v, expected %v", found, err, decoded[0])
	}
	if found, err := engine.Translate(background, Request{Text: "two", Prefix: "eins "}); err != nil ||
		!strings.HasPrefix(found.Best().Text, "eins") {
		t.Errorf("%v, %v", found, err)
	}
	if found, err := engine.Translate(background, Request{}); err != nil || found.Best().Text != "" {
		t.Errorf("%v, %v", found, err)
	}
	_, err = engine.Translate(background, Request{Text: "\xff"})
	refused(t, ErrData, err)
	_, err = engine.Translate(background, Request{Text: "one", SourceIDs: batch.SrcIDs})
	refused(t, ErrInvalidArgument, err)
	for _, priority := range []int{1001, 1 << 40, -1 << 40} {
		_, err = engine.Translate(background, Request{Text: "one", Priority: priority})
		refused(t, ErrOutOfRange, err)
	}
	_, err = engine.Step()
	refused(t, ErrState, err)
	if info, err := engine.Info(); err != nil || info.Waiting+info.Active+info.Events != 0 || info.Failed != 1 {
		t.Errorf("%+v, %v", info, err)
	}
}

func TestPartialResultsOnlyGrow(t *testing.T) {
	w := newWorld(t)
	w.train(150)
	options := Options{"decode.beam": 1, "decode.min_tokens": 6}
	engine := w.engine(true, options)
	partial := 0
	for _, source := range sources() {
		expected, err := w.decoder.Translate(background, []string{source}, &Params{Settings: options})
		w.must(err)
		id, events := w.submit(engine, Request{Text: source, Stream: true})
		before := ""
		for ended := false; !ended; {
			_, err := engine.Step()
			w.must(err)
			select {
			case event := <-events:
				best := event.Result.Best()
				if event.ID != id || !strings.HasPrefix(best.Text, before) || best.Complete != event.Last {
					t.Errorf("%+v after %q", event, before)
				}
				if before, ended = best.Text, event.Last; !ended {
					partial++
				}
			case <-time.After(20 * time.Millisecond): // not every step has an event
			}
		}
		if before != expected[0].Best().Text {
			t.Errorf("%q, expected %v", before, expected)
		}
	}
	if partial < len(sources()) {
		t.Errorf("%d partial events", partial)
	}

	threaded := w.engine(false, options)
	before, enough := "", errors.New("enough")
	found, err := threaded.Stream(background, Request{Text: "two one four"}, func(partial Hypothesis) error {
		if !strings.HasPrefix(partial.Text, before) {
			t.Errorf("%q after %q", partial.Text, before)
		}
		before = partial.Text
		return nil
	})
	if err != nil || !strings.HasPrefix(found.Best().Text, before) {
		t.Errorf("%v, %v after %q", found, err, before)
	}
	slow := func([]Partial, int) error { time.Sleep(5 * time.Millisecond); return nil }
	stop := func(Hypothesis) error { return enough }
	if _, err := threaded.Stream(background, Request{Text: "two one four", Constraint: slow}, stop); err != enough {
		t.Error(err)
	}
}

func TestRequestsEndEarly(t *testing.T) {
	w := newWorld(t)
	engine := w.engine(true, nil)
	id, cancelled := w.submit(engine, Request{Text: "one"})
	if found, err := engine.Cancel(id); !found || err != nil {
		t.Error(found, err)
	}
	_, err := engine.Cancel(99)
	refused(t, ErrNotFound, err)
	ctx, cancel := context.WithTimeout(background, time.Millisecond)
	defer cancel()
	_, late, err := engine.Submit(ctx, Request{Text: "two"})
	w.must(err)
	<-ctx.Done()
	time.Sleep(2 * time.Millisecond)
	w.run(engine)
	refused(t, ErrCancelled, last(t, cancelled).Result.Err)
	if err := refused(t, ErrDeadline, last(t, late).Result.Err); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if found, err := engine.Cancel(id); found || err != nil {
		t.Error(found, err)
	}

	// Translate returns at once after a cancellation, although the engine has no thread.
	ctx, cancel = context.WithCancel(background)
	time.AfterFunc(5*time.Millisecond, cancel)
	_, err = engine.Translate(ctx, Request{Text: "one"})
	if err := refused(t, ErrCancelled, err); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	_, _, err = engine.Submit(ctx, Request{Text: "one"})
	refused(t, ErrCancelled, err)
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		w.run(engine)
		info, err := engine.Info()
		if w.must(err); info.Cancelled == 2 && info.Waiting+info.Events == 0 {
			break
		} else if time.Now().After(end) {
			t.Fatalf("%+v", info)
		}
	}

	// The deadline ends a search that has begun with its best hypotheses.
	ctx, cancel = context.WithTimeout(background, 200*time.Millisecond)
	defer cancel()
	slow := func([]Partial, int) error { time.Sleep(100 * time.Millisecond); return nil }
	found, err := w.engine(false, Options{"decode.min_tokens": 8}).Translate(ctx, Request{Text: "one", Constraint: slow})
	if err != nil && !errors.Is(err, ErrDeadline) || err == nil && found.Best().Complete {
		t.Errorf("%+v, %v", found, err)
	}
}

func TestAFullEngineIsBusy(t *testing.T) {
	w := newWorld(t)
	engine := w.engine(true, Options{"engine.max_requests": 2})
	_, first := w.submit(engine, Request{Text: "one"})
	w.submit(engine, Request{Text: "one"})
	_, _, err := engine.Submit(background, Request{Text: "two"})
	refused(t, ErrBusy, err)
	w.run(engine)
	last(t, first)
	id, _ := w.submit(engine, Request{Text: "two"})
	if id != 3 {
		t.Error(id)
	}
}

func TestANewModelDecodesLaterRequests(t *testing.T) {
	w := newWorld(t)
	engine, batch := w.engine(true, nil), w.batch()
	model, err := w.model.Copy(background, nil, nil)
	w.must(err)
	trainer, err := model.NewTrainer(w.config)
	w.must(err)
	_, err = trainer.Step(background, batch)
	w.must(err)
	before, err := engine.Info()
	w.must(err)
	_, first := w.submit(engine, Request{Text: "one two"})
	_, err = engine.Step()
	w.must(err)
	_, err = w.trainer.Step(background, batch)
	refused(t, ErrBusy, err)
	w.must(engine.SetModel(model))
	after, err := engine.Info()
	if w.must(err); after.Models != 2 || after.ModelHash == before.ModelHash {
		t.Errorf("%+v after %+v", after, before)
	}
	_, second := w.submit(engine, Request{Text: "one two"})
	w.run(engine)
	if hash := last(t, first).ModelHash; hash != before.ModelHash {
		t.Error(hash)
	}
	if hash := last(t, second).ModelHash; hash != after.ModelHash {
		t.Error(hash)
	}
	_, err = w.trainer.Step(background, batch) // the engine does not use its model
	w.must(err)
	refused(t, ErrInvalidArgument, engine.SetModel(newWorld(t).model))
}

func TestConstraintsOfAnEngine(t *testing.T) {
	w := newWorld(t)
	engine := w.engine(false, nil)
	spell := each(func(p Partial) {
		if p.Allowed.Only(letterA); len(p.IDs) == 2 {
			p.Allowed.Only(tokenEnd)
		}
	})
	found, err := engine.Translate(background, Request{Text: "one", Constraint: spell})
	if w.must(err); found.Best().Text != "aa" {
		t.Errorf("%+v", found)
	}
	enough := errors.New("enough")
	_, err = engine.Translate(background, Request{Text: "one", Constraint: func([]Partial, int) error { return enough }})
	if err := refused(t, ErrCallback, err); !errors.Is(err, enough) {
		t.Error(err)
	}
	_, err = engine.Translate(background, Request{Text: "one", Constraint: each(func(Partial) { panic("within") })})
	if err := refused(t, ErrCallback, err); !strings.Contains(err.Message, "panicked: within") {
		t.Error(err)
	}
	_, err = w.decoder.Translate(background, sources(), nil) // no failure is left
	w.must(err)
}

func TestClosingAnEngineEndsItsRequests(t *testing.T) {
	w := newWorld(t)
	before := runtime.NumGoroutine()
	batch := w.batch()
	for i := 0; i < 20; i++ {
		engine := w.engine(i%2 == 0, nil)
		ctx, cancel := context.WithCancel(background)
		var all []<-chan Event
		for k := 0; k < 3; k++ {
			_, events, err := engine.Submit(ctx, Request{Text: "one", Constraint: each(func(Partial) {})})
			w.must(err)
			all = append(all, events)
		}
		var group sync.WaitGroup
		for k := 0; k < 2; k++ {
			group.Add(2)
			go func() {
				defer group.Done()
				engine.Close()
			}()
			go func() {
				defer group.Done()
				if _, err := engine.Translate(background, Request{Text: "two"}); err != nil && !errors.Is(err, ErrClosed) {
					t.Error(err)
				}
			}()
		}
		group.Wait()
		for _, events := range all {
			if err := last(t, events).Result.Err; i%2 == 0 && !errors.Is(err, ErrClosed) ||
				err != nil && !errors.Is(err, ErrClosed) {
				t.Error(err)
			}
		}
		_, _, err := engine.Submit(background, Request{Text: "one"})
		if refused(t, ErrState, err); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
		_, err = w.trainer.Step(background, batch) // the model is free
		w.must(err)
		cancel()
	}
	idle(t, before)
}

func TestGarbageCollectorClosesIdleEngines(t *testing.T) {
	w := newWorld(t)
	batch := w.batch()
	func() {
		engine, err := w.model.NewEngine(nil)
		w.must(err)
		_, err = engine.Translate(background, Request{Text: "one"})
		w.must(err)
	}()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		runtime.GC()
		_, err := w.trainer.Step(background, batch)
		if err == nil {
			return
		}
		if refused(t, ErrBusy, err); time.Now().After(end) {
			t.Fatal("the engine is in use")
		}
	}
}
