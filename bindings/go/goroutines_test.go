// Several goroutines: one model with many decoders, and one object in two calls.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestBusyAndCloseDuringACall(t *testing.T) {
	w := newWorld(t)
	decoder, batch := slow(t, w.context)
	small, err := NewBatch([][]int32{{2, tokenEnd}}, nil)
	w.must(err)
	run := func() (cancel func(), result chan error) {
		ctx, cancel := context.WithCancel(background)
		result = make(chan error, 1)
		go func() {
			_, err := decoder.Decode(ctx, batch, nil)
			result <- err
		}()
		for decoder.h.state.Load() == 0 {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(20 * time.Millisecond) // until the call has entered C
		return cancel, result
	}

	cancel, result := run()
	_, err = decoder.Decode(background, small, nil)
	refused(t, ErrBusy, err)
	_, err = w.context.Memory() // allowed at any time
	w.must(err)
	_, err = w.decoder.Translate(background, sources(), nil) // another object
	w.must(err)
	cancel()
	refused(t, ErrCancelled, <-result)

	cancel, result = run()
	w.must(decoder.Close())
	if _, err := decoder.Decode(background, small, nil); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	cancel()
	refused(t, ErrCancelled, <-result)
	if decoder.h.state.Load() != closed {
		t.Error("the end of the call did not free the decoder")
	}
}

func TestTrainerUsesItsModelExclusively(t *testing.T) {
	w := newWorld(t)
	ask := func([]Partial, int) error {
		_, err := w.trainer.Next(background, w.batcher)
		return err
	}
	_, err := w.decoder.Translate(background, []string{"one"}, &Params{Constraint: ask})
	if refused(t, ErrCallback, err); !errors.Is(err, ErrBusy) {
		t.Error(err)
	}
	if stats, err := w.batcher.Stats(); stats.Batch != 0 || err != nil || w.trainer.Steps() != 0 {
		t.Errorf("%+v, %v after %d steps", stats, err, w.trainer.Steps())
	}
	w.train(1)
}
