// Closing: repeatedly, in any order, by the garbage collector, and use of closed objects.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

import (
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"
)

func TestClosingConcurrently(t *testing.T) {
	for i := 0; i < 20; i++ {
		w := newWorld(t)
		var group sync.WaitGroup
		for _, object := range append(w.objects(), w.objects()...) {
			group.Add(1)
			go func(object closer) {
				defer group.Done()
				if err := object.Close(); err != nil {
					t.Error(err)
				}
			}(object)
		}
		group.Wait()
	}
}

func TestGarbageCollectorCloses(t *testing.T) {
	w := newWorld(t)
	before, err := w.context.Memory()
	w.must(err)
	for i := 0; i < 20; i++ {
		model, err := w.context.NewModel(w.tokenizer, w.config)
		w.must(err)
		trainer, err := model.NewTrainer(w.config)
		w.must(err)
		_, err = trainer.Step(background, w.batch())
		w.must(err)
		_, err = trainer.Model()
		w.must(err)
	}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		runtime.GC()
		after, err := w.context.Memory()
		w.must(err)
		if after.Current <= before.Current {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d bytes, expected %d as before", after.Current, before.Current)
		}
	}
}

func TestPartsKeepTheirOwner(t *testing.T) {
	w := newWorld(t)
	w.must(w.trainer.Save(background, w.file("run.ckpt"), nil))
	trainer, err := w.context.ResumeTrainer(background, w.file("run.ckpt"), nil)
	w.must(err)
	model, err := trainer.Model()
	w.must(err)
	tokenizer, err := model.Tokenizer()
	w.must(err)
	trainer, model = nil, nil
	for i := 0; i < 5; i++ {
		runtime.GC()
		time.Sleep(time.Millisecond)
		if _, err := tokenizer.Encode("one two"); err != nil {
			t.Fatal(err) // the trainer was collected although its tokenizer is in use
		}
	}
	w.must(tokenizer.Close())
	_, err = tokenizer.Encode("one")
	if refused(t, ErrState, err); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}
