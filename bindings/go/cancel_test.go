// Cancellation and deadlines of calls by their context.Context, without an effect on other calls.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand"
	"reflect"
	"sync"
	"testing"
	"time"
)

// slow returns a decoder and a batch that takes many seconds to decode.
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
		sentences = append(sentences, []int32{2 + i, 7, 8, tokenEnd})
	}
	batch, err := NewBatch(sentences, nil)
	must(t, err)
	return decoder, batch
}

// ended checks that a call ended soon, with the status and the cause of its context.Context.
func ended(t *testing.T, started time.Time, err, cause error) {
	t.Helper()
	status := ErrCancelled
	if cause == context.DeadlineExceeded {
		status = ErrDeadline
	}
	if failed := refused(t, status, err); !errors.Is(failed, cause) {
		t.Errorf("%v, expected %v", failed, cause)
	}
	if took := time.Since(started); took > 20*time.Second {
		t.Errorf("it took %v to end", took)
	}
}

func TestCancelOtherLongCalls(t *testing.T) {
	w := newWorld(t)
	var text bytes.Buffer
	random := rand.New(rand.NewSource(1))
	for i := 0; i < 100000; i++ {
		fmt.Fprintf(&text, "word%d word%d\twort%d\n", random.Int(), random.Int(), random.Int())
	}
	corpus, err := w.textCorpus("large", text.Bytes(), nil)
	w.must(err)
	model, err := w.context.NewModel(nil, Options{"model.vocab_size": 2000, "model.d_model": 128, "model.d_ff": 512,
		"model.encoder_layers": 4, "model.decoder_layers": 4})
	w.must(err)
	trainer, err := model.NewTrainer(nil)
	w.must(err)
	sentence := make([]int32, 50)
	for i := range sentence {
		sentence[i] = int32(i) + 2
	}
	sentence[len(sentence)-1] = tokenEnd
	var sentences [][]int32
	for i := 0; i < 200; i++ {
		sentences = append(sentences, sentence)
	}
	batch, err := NewBatch(sentences, sentences)
	w.must(err)
	decoder, err := model.NewDecoder(nil)
	w.must(err)
	ids, err := w.context.NewCorpusFromIDs(background, batch)
	w.must(err)
	batcher, err := ids.NewBatcher(background, nil, nil)
	w.must(err)
	for name, call := range map[string]func(ctx context.Context) error{
		"corpus": func(ctx context.Context) error {
			_, err := w.context.OpenCorpus(ctx, w.path("large"), nil)
			return err
		},
		"tokenizer": func(ctx context.Context) error { _, err := w.context.TrainTokenizer(ctx, corpus, nil); return err },
		"batcher":   func(ctx context.Context) error { _, err := corpus.NewBatcher(ctx, w.tokenizer, nil); return err },
		"step":      func(ctx context.Context) error { _, err := trainer.Step(ctx, batch); return err },
		"add":       func(ctx context.Context) error { _, err := trainer.Accumulate(ctx, batch); return err },
		"score":     func(ctx context.Context) error { _, err := decoder.Score(ctx, batch); return err },
		"evaluate":  func(ctx context.Context) error { _, err := decoder.Evaluate(ctx, batcher); return err },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(background, 2*time.Millisecond)
			defer cancel()
			ended(t, time.Now(), call(ctx), context.DeadlineExceeded)
			ctx, cancel = context.WithCancel(background)
			time.AfterFunc(2*time.Millisecond, cancel)
			ended(t, time.Now(), call(ctx), context.Canceled)
		})
	}
	if trainer.Steps() != 0 {
		t.Errorf("%d steps, expected none", trainer.Steps())
	}
	_, err = trainer.Update()
	refused(t, ErrState, err) // a cancelled Accumulate leaves no pending gradients
}

// A cancellation before a call, during it, at its end, or after it stops that call or none.
func TestLateCancelStopsNoOtherCall(t *testing.T) {
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
			<-stopped // otherwise the cancellation may happen during the next call
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

// Cancelled calls do not affect other calls of the same Context.
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
			ctx, cancel := context.WithCancel(background)
			time.AfterFunc(2*time.Millisecond, cancel)
			if _, err := slowDecoder.Decode(ctx, batch, nil); !errors.Is(err, context.Canceled) {
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

	// Concurrent training yields the same bits, and pending gradients are kept.
	if steps := w.train(60); !reflect.DeepEqual(steps, expectedSteps) {
		t.Error("training concurrently with cancelled calls yields other bits")
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
