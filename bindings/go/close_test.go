// Closing: repeatedly, in any order, by the garbage collector, and use of closed objects.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

import (
	"errors"
	"math/rand"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// calls returns some calls of each object.
func (w *world) calls(batch Batch) map[closer][]func() error {
	path := w.path("late")
	return map[closer][]func() error{
		w.config: {
			func() error { _, err := w.config.Get("model.d_model"); return err },
			func() error { _, err := w.config.Copy(); return err },
			func() error { return w.config.Set("model.d_model", 4) },
			func() error { _, err := NewContext(w.config); return err },
		},
		w.context: {
			func() error { _, err := w.context.Memory(); return err },
			func() error { _, err := w.context.Backends(); return err },
			func() error { return w.context.Cancel() },
			func() error { _, err := w.context.LoadModel(background, Path(path), nil); return err },
			func() error { _, err := w.context.NewModel(nil, nil); return err },
			func() error { _, err := w.context.OpenCorpus(background, path, nil); return err },
		},
		w.corpus: {
			func() error { _, err := w.corpus.Pair(0); return err },
			func() error { _, err := w.corpus.NewBatcher(background, w.tokenizer, nil); return err },
			func() error { _, err := w.corpus.Subset([]int64{0}); return err },
		},
		w.tokenizer: {
			func() error { _, err := w.tokenizer.Encode("x"); return err },
			func() error { _, err := w.tokenizer.Side(SideSource); return err },
			func() error { return w.tokenizer.Save(background, Path(path)) },
			func() error { _, err := w.context.NewModel(w.tokenizer, nil); return err },
		},
		w.batcher: {
			func() error { _, err := w.batcher.Next(background); return err },
			func() error { _, err := w.batcher.Stats(); return err },
			func() error { return w.batcher.SeekTo(background, 0, 0) },
			func() error { return w.batcher.Resume(background, w.trainer) },
			func() error { return w.trainer.Save(background, Path(path), w.batcher) },
			func() error { return w.trainer.Train(background, w.batcher, 1, nil) },
		},
		w.model: {
			func() error { return w.model.Save(background, Path(path), nil) },
			func() error { _, err := w.model.Metadata(); return err },
			func() error { _, err := w.model.Copy(background, nil, nil); return err },
			func() error { _, err := w.model.ReadTensor(w.model.Tensors()[0].Name); return err },
			func() error { _, err := w.model.NewDecoder(nil); return err },
			func() error { _, err := w.model.NewTrainer(nil); return err },
			func() error { _, err := w.model.Tokenizer(); return err },
			func() error { _, err := w.model.Config(); return err },
			func() error { _, err := w.model.Encode(SideSource, "x", nil); return err },
		},
		w.trainer: {
			func() error { _, err := w.trainer.Step(background, batch); return err },
			func() error { _, err := w.trainer.Update(); return err },
			func() error { _, err := w.trainer.Next(background, w.batcher); return err },
			func() error { _, err := w.trainer.Model(); return err },
		},
		w.decoder: {
			func() error { _, err := w.decoder.Translate(background, []string{"x"}, nil); return err },
			func() error { _, err := w.decoder.Score(background, batch); return err },
		},
	}
}

func TestUseAfterClose(t *testing.T) {
	w := newWorld(t)
	calls := w.calls(w.batch())
	// In this order, each call fails because of its own object; its arguments are open.
	order := []closer{w.batcher, w.corpus, w.decoder, w.trainer, w.model, w.tokenizer, w.context, w.config}
	for _, object := range order {
		w.must(object.Close())
		w.must(object.Close())
		kind := strings.ToLower(reflect.TypeOf(object).Elem().Name())
		for i, call := range calls[object] {
			failed := refused(t, ErrState, call())
			if !errors.Is(failed, ErrClosed) || failed.Message != "the "+kind+" is closed" {
				t.Errorf("call %d of the %s: %v", i, kind, failed)
			}
		}
	}
	// Cached properties remain available.
	if w.context.Info().Device == "" || w.corpus.Len() != len(testPairs) || w.tokenizer.Info().VocabSize == 0 ||
		len(w.model.Tensors()) == 0 {
		t.Error("a closed object lost its properties")
	}
}

func TestCreatedObjectsRemainValid(t *testing.T) {
	w := newWorld(t)
	batch := w.batch()
	for _, object := range []closer{w.config, w.context, w.corpus, w.tokenizer, w.model} {
		w.must(object.Close())
	}
	_, err := w.trainer.Step(background, batch)
	w.must(err)
	_, err = w.decoder.Translate(background, sources(), nil)
	w.must(err)
	w.batch()
}

func TestClosingInAnyOrder(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	for i := 0; i < 20; i++ {
		w := newWorld(t)
		w.train(1)
		objects := w.objects()
		random.Shuffle(len(objects), func(i, j int) { objects[i], objects[j] = objects[j], objects[i] })
		for _, object := range objects {
			w.must(object.Close())
		}
	}
}

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
