// Ending calls by their context.Context, and sparing all others.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"reflect"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"
)

// slow is a decoder on which one call takes many seconds, and what to give it.
func slow(t *testing.T, c *Context) (*Decoder, Batch) {
	t.Helper()
	model, err := c.NewModel(nil, with(Options{"model.d_model": 128, "model.d_ff": 512, "model.vocab_size": 4000,
		"model.decoder_layers": 4, "model.max_length": 512}))
	must(t, err)
	decoder, err := model.NewDecoder(Options{"decode.max_extra_tokens": 300, "decode.beam": 8,
		"decode.batch_sentences": 4})
	must(t, err)
	var sentences [][]int32
	for i := int32(0); i < 300; i++ {
		sentences = append(sentences, []int32{2 + i, 7, 8, TokenEnd})
	}
	batch, err := NewBatch(sentences, nil)
	must(t, err)
	return decoder, batch
}

// ended checks that a call ended soon and as its context.Context says.
func ended(t *testing.T, started time.Time, err, cause error) {
	t.Helper()
	refused(t, ErrCancelled, err)
	if !errors.Is(err, cause) {
		t.Errorf("%v, expected %v", err, cause)
	}
	if took := time.Since(started); took > 20*time.Second {
		t.Errorf("it took %v to end", took)
	}
}

func TestCancelFromAnotherGoroutine(t *testing.T) {
	w := newWorld(t)
	goroutines := runtime.NumGoroutine()
	decoder, batch := slow(t, w.context)
	small, err := NewBatch([][]int32{{2, TokenEnd}}, nil)
	w.must(err)
	for _, cause := range []error{context.Canceled, context.DeadlineExceeded} {
		w.must(w.context.Close()) // which the decoder keeps in being
		ctx, cancel := context.WithCancel(background)
		if cause == context.DeadlineExceeded {
			ctx, cancel = context.WithTimeout(background, 30*time.Millisecond)
		} else {
			time.AfterFunc(30*time.Millisecond, cancel)
		}
		started := time.Now()
		answers, err := decoder.Decode(ctx, batch, nil)
		cancel()
		if ended(t, started, err, cause); answers != nil {
			t.Errorf("answers %v", answers)
		}
		found, err := decoder.Decode(background, small, nil) // usable again
		if w.must(err); len(found) != 1 {
			t.Errorf("%v", found)
		}
	}
	idle(t, goroutines)
}

// endless is a named pipe that gives pairs until the test ends.
func (w *world) endless(name string) string {
	path := w.path(name)
	w.must(syscall.Mkfifo(path, 0o600))
	pipe, err := os.OpenFile(path, os.O_RDWR, 0)
	w.must(err)
	w.Cleanup(func() { pipe.Close() })
	go func() {
		lines := bytes.Repeat([]byte("one\teins\n"), 1000)
		for err := error(nil); err == nil; {
			_, err = pipe.Write(lines)
		}
	}()
	return path
}

func TestCancelOtherLongCalls(t *testing.T) {
	w := newWorld(t)
	var text bytes.Buffer
	random := rand.New(rand.NewSource(1))
	for i := 0; i < 100000; i++ {
		fmt.Fprintf(&text, "word%d word%d\twort%d\n", random.Int(), random.Int(), random.Int())
	}
	corpus, err := w.context.NewCorpus(background, "large", text.Bytes(), nil)
	w.must(err)
	model, err := w.context.NewModel(nil, Options{"model.vocab_size": 2000, "model.d_model": 128, "model.d_ff": 512,
		"model.encoder_layers": 4, "model.decoder_layers": 4})
	w.must(err)
	trainer, err := model.NewTrainer(nil)
	w.must(err)
	sentence := make([]int32, 50)
	for i := range sentence {
		sentence[i] = int32(i) + 1
	}
	sentence[len(sentence)-1] = 1
	var sentences [][]int32
	for i := 0; i < 200; i++ {
		sentences = append(sentences, sentence)
	}
	batch, err := NewBatch(sentences, sentences)
	w.must(err)
	decoder, err := model.NewDecoder(nil)
	w.must(err)
	for name, call := range map[string]func(ctx context.Context) error{
		"corpus": func(ctx context.Context) error {
			_, err := w.context.NewCorpus(ctx, "x", text.Bytes(), nil)
			return err
		},
		"tokenizer": func(ctx context.Context) error { _, err := w.context.TrainTokenizer(ctx, corpus, nil); return err },
		"batcher":   func(ctx context.Context) error { _, err := corpus.NewBatcher(ctx, w.tokenizer, nil); return err },
		"step":      func(ctx context.Context) error { _, err := trainer.Step(ctx, batch); return err },
		"add":       func(ctx context.Context) error { _, err := trainer.Accumulate(ctx, batch); return err },
		"score":     func(ctx context.Context) error { _, err := decoder.Score(ctx, batch); return err },
		"evaluate":  func(ctx context.Context) error { _, err := decoder.Evaluate(ctx, batch); return err },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(background, 2*time.Millisecond)
			defer cancel()
			ended(t, time.Now(), call(ctx), context.DeadlineExceeded)
		})
	}
	if trainer.Steps() != 0 {
		t.Errorf("%d steps, expected none", trainer.Steps())
	}
	_, err = trainer.Update()
	refused(t, ErrState, err) // nothing waits after an Accumulate that was cancelled
}

// A call of a Context is ended by a cancel of that, and another's error is not a reason of one's own.
func TestACallThatAnotherEnds(t *testing.T) {
	w := newWorld(t)
	decoder, batch := slow(t, w.context)
	result := make(chan error, 1)
	go func() {
		_, err := decoder.Decode(background, batch, nil)
		result <- err
	}()
	for done := false; !done; {
		w.context.h.cancel()
		select {
		case err := <-result:
			if refused(t, ErrCancelled, err); errors.Unwrap(err) != nil {
				t.Errorf("%v has the reason %v", err, errors.Unwrap(err))
			}
			done = true
		case <-time.After(time.Millisecond):
		}
	}
}

// A cancel at any moment, before a call, in it, at its end or after it, ends that call or none.
func TestALateCancelHitsNoOther(t *testing.T) {
	w := newWorld(t)
	sources := append(append(sources(), sources()...), sources()...)
	expected, err := w.decoder.Translate(background, sources, nil)
	w.must(err)
	started := time.Now()
	_, err = w.decoder.Translate(background, sources, nil)
	w.must(err)
	usual := time.Since(started)
	random := rand.New(rand.NewSource(1))
	cancelled := 0
	for i := 0; i < 100 || cancelled == 0 && i < 2000; i++ {
		ctx, cancel := context.WithCancel(background)
		stopped := make(chan struct{})
		go func(delay time.Duration) {
			time.Sleep(delay)
			cancel()
			close(stopped)
		}(time.Duration(random.Int63n(int64(usual)*3/2 + 1)))
		if found, err := w.decoder.Translate(ctx, sources, nil); errors.Is(err, ErrCancelled) {
			cancelled++
		} else if err != nil || !reflect.DeepEqual(found, expected) {
			t.Fatalf("%v, %v, expected %v", found, err, expected)
		}
		if i%2 == 0 {
			<-stopped // else the cancel may come in the middle of the next
		}
		if found, err := w.decoder.Translate(background, sources, nil); err != nil || !reflect.DeepEqual(found, expected) {
			t.Fatalf("after %d: %v, %v", i, found, err)
		}
		<-stopped
	}
	if cancelled == 0 {
		t.Error("no call was cancelled")
	}
}

// On one Context, calls that are cancelled run beside calls that are not, and these must not notice.
func TestCancelOneOfMany(t *testing.T) {
	w := newWorld(t)
	w.train(20)
	expected, err := w.decoder.Translate(background, sources(), nil)
	w.must(err)
	other := newWorld(t)
	other.train(20)
	expectedSteps := other.train(60)

	slowDecoder, batch := slow(t, w.context)
	end := make(chan struct{})
	var victims, innocents sync.WaitGroup
	victims.Add(1)
	cancelled := 0
	go func() {
		defer victims.Done()
		for open := true; open; cancelled++ {
			ctx, cancel := context.WithTimeout(background, 2*time.Millisecond)
			if _, err := slowDecoder.Decode(ctx, batch, nil); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v", err)
				open = false
			}
			cancel()
			select {
			case <-end:
				open = false
			default:
			}
		}
	}()
	translate := func() {
		defer innocents.Done()
		decoder, err := w.model.NewDecoder(w.config)
		if err != nil {
			t.Error(err)
			return
		}
		defer decoder.Close()
		for i := 0; i < 40; i++ {
			if found, err := decoder.Translate(background, sources(), nil); err != nil || !reflect.DeepEqual(found, expected) {
				t.Errorf("%v, %v, expected %v", found, err, expected)
				return
			}
		}
	}
	innocents.Add(2)
	go translate()
	go translate()
	innocents.Wait()

	// Training beside it: the same bits, and waiting gradients are not lost.
	if steps := w.train(60); !reflect.DeepEqual(steps, expectedSteps) {
		t.Error("training beside calls that are cancelled gives other bits")
	}
	for i := 0; i < 20; i++ {
		for k := 0; k < 3; k++ {
			_, err := w.trainer.Accumulate(background, w.batch())
			w.must(err)
		}
		_, err := w.trainer.Update()
		w.must(err)
	}
	close(end)
	victims.Wait()
	if cancelled < 3 {
		t.Errorf("%d calls were cancelled", cancelled)
	}
}
