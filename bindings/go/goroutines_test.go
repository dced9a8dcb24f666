// Several goroutines: one model for many decoders, and one object in two calls.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"testing"
	"time"
)

func TestFourGoroutinesDecode(t *testing.T) {
	w := newWorld(t)
	w.train(30)
	expected, err := w.decoder.Translate(background, sources())
	w.must(err)
	w.must(w.model.Save(w.path("model.xf")))
	translate := func(model *Model) error {
		decoder, err := model.NewDecoder(testOptions)
		if err != nil {
			return err
		}
		defer decoder.Close()
		for i := 0; i < 10; i++ {
			found, err := decoder.Translate(background, sources())
			if err == nil && !reflect.DeepEqual(found, expected) {
				err = errors.New("other answers")
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	for name, work := range map[string]func() error{
		"one model": func() error { return translate(w.model) },
		"a context each": func() error {
			context, err := NewContext(testOptions)
			if err != nil {
				return err
			}
			defer context.Close()
			model, err := context.LoadModel(w.path("model.xf"))
			if err != nil {
				return err
			}
			defer model.Close()
			return translate(model)
		},
		"one tokenizer": func() error {
			_, err := w.tokenizer.Batch(sources(), targets())
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			var group sync.WaitGroup
			for i := 0; i < 4; i++ {
				group.Add(1)
				go func() {
					defer group.Done()
					if err := work(); err != nil {
						t.Error(err)
					}
				}()
			}
			group.Wait()
		})
	}
}

func TestBusyAndCloseDuringACall(t *testing.T) {
	w := newWorld(t)
	decoder, batch := slow(t, w.context)
	small, err := NewBatch([][]int32{{2, TokenEnd}}, nil)
	w.must(err)
	run := func() (cancel func(), result chan error) {
		ctx, cancel := context.WithCancel(background)
		result = make(chan error, 1)
		go func() {
			_, err := decoder.Decode(ctx, batch)
			result <- err
		}()
		for busy := false; !busy; time.Sleep(time.Millisecond) {
			w.context.h.family.Lock()
			busy = decoder.h.guard.writing
			w.context.h.family.Unlock()
		}
		return cancel, result
	}

	cancel, result := run()
	_, err = decoder.Decode(background, small)
	failed := refused(t, ErrState, err)
	if !errors.Is(err, ErrBusy) || failed.Message != "the decoder is in another call" {
		t.Error(err)
	}
	if err := w.context.SetLog(LogDebug, nil); !errors.Is(err, ErrBusy) {
		t.Error(err)
	}
	_, err = w.context.Memory() // any time
	w.must(err)
	_, err = w.decoder.Translate(background, sources()) // another object
	w.must(err)
	cancel()
	refused(t, ErrCancelled, <-result)

	cancel, result = run()
	w.must(decoder.Close())
	if _, err := decoder.Decode(background, small); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	cancel()
	refused(t, ErrCancelled, <-result)
	w.context.h.family.Lock()
	defer w.context.h.family.Unlock()
	if decoder.h.ptr != nil {
		t.Error("the end of the call did not free the decoder")
	}
}

func TestATrainerHasItsModelToItself(t *testing.T) {
	w := newWorld(t)
	w.must(w.trainer.h.begin(w.trainer.h.writes))
	_, err := w.decoder.Translate(background, []string{"one"})
	if !errors.Is(err, ErrBusy) {
		t.Error(err)
	}
	if err := w.model.Save(w.path("model.xf")); !errors.Is(err, ErrBusy) {
		t.Error(err)
	}
	if w.trainer.Steps() != 0 {
		t.Error("steps can't be asked for")
	}
	w.trainer.h.end(w.trainer.h.writes)
	w.must(w.model.Save(w.path("model.xf")))
	w.must(w.decoder.h.begin(w.decoder.h.writes))
	if _, err := w.trainer.Step(background, w.batch()); !errors.Is(err, ErrBusy) {
		t.Error(err)
	}
	w.decoder.h.end(w.decoder.h.writes)
	w.train(1)
}
