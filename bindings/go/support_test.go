// Objects and helpers that the tests share.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

var background = context.Background()

// tokenEnd is the end symbol of tokenizers that are trained here.
const tokenEnd = 1

var testPairs = []Pair{
	{"one two three", "eins zwei drei"},
	{"two three four", "zwei drei vier"},
	{"three four", "drei vier"},
	{"four one", "vier eins"},
	{"one one two", "eins eins zwei"},
	{"four four three two", "vier vier drei zwei"},
	{"two", "zwei"},
	{"three one four two", "drei eins vier zwei"},
	{"one four", "eins vier"},
	{"two two", "zwei zwei"},
	{"three three three", "drei drei drei"},
	{"four two one", "vier zwei eins"},
}

var testOptions = Options{
	"context.device":          "cpu",
	"context.threads":         1,
	"tokenizer.vocab_size":    290,
	"data.batch_tokens":       40,
	"model.encoder_layers":    1,
	"model.decoder_layers":    1,
	"model.d_model":           16,
	"model.d_ff":              24,
	"model.heads":             2,
	"model.d_k":               8,
	"model.d_v":               8,
	"model.max_length":        64,
	"train.schedule":          "constant",
	"train.learning_rate":     0.01,
	"train.warmup_steps":      5,
	"decode.max_extra_tokens": 8,
}

// with returns the test options, with others that override them.
func with(more Options) Options {
	all := Options{}
	for _, options := range []Options{testOptions, more} {
		for key, value := range options {
			all[key] = value
		}
	}
	return all
}

func sources() (texts []string) {
	for _, pair := range testPairs {
		texts = append(texts, pair.Source)
	}
	return texts
}

func targets() (texts []string) {
	for _, pair := range testPairs {
		texts = append(texts, pair.Target)
	}
	return texts
}

// world contains one object of each type.
type world struct {
	*testing.T
	folder    string
	config    *Config
	context   *Context
	corpus    *Corpus
	tokenizer *Tokenizer
	batcher   *Batcher
	model     *Model
	trainer   *Trainer
	decoder   *Decoder
}

func newWorld(t *testing.T, more ...ContextOption) *world {
	t.Helper()
	w := &world{T: t, folder: t.TempDir()}
	var err error
	w.config, err = NewConfig("", testOptions)
	w.must(err)
	w.context, err = NewContext(w.config, more...)
	w.must(err)
	w.corpus, err = w.context.NewCorpus(background, testPairs, w.config)
	w.must(err)
	w.tokenizer, err = w.context.TrainTokenizer(background, w.corpus, w.config)
	w.must(err)
	w.batcher, err = w.corpus.NewBatcher(background, w.tokenizer, w.config)
	w.must(err)
	w.model, err = w.context.NewModel(w.tokenizer, w.config)
	w.must(err)
	w.trainer, err = w.model.NewTrainer(w.config)
	w.must(err)
	w.decoder, err = w.model.NewDecoder(w.config)
	w.must(err)
	t.Cleanup(w.close)
	return w
}

type closer interface{ Close() error }

func (w *world) objects() []closer {
	return []closer{w.decoder, w.trainer, w.model, w.batcher, w.tokenizer, w.corpus, w.context, w.config}
}

func (w *world) close() {
	for _, object := range w.objects() {
		if err := object.Close(); err != nil {
			w.Error(err)
		}
	}
}

func (w *world) path(name string) string {
	return filepath.Join(w.folder, name)
}

func (w *world) file(name string) Path {
	return Path(w.path(name))
}

// textCorpus opens a file with the given lines.
func (w *world) textCorpus(name string, lines []byte, settings Settings) (*Corpus, error) {
	w.Helper()
	w.must(os.WriteFile(w.path(name), lines, 0o600))
	return w.context.OpenCorpus(background, w.path(name), settings)
}

func (w *world) must(err error) {
	w.Helper()
	must(w.T, err)
}

// train makes updates and returns their statistics.
func (w *world) train(steps int64) (all []StepStats) {
	w.Helper()
	w.must(w.trainer.Train(background, w.batcher, steps, func(s StepStats) error {
		all = append(all, s)
		return nil
	}))
	return all
}

// batch returns the next batch.
func (w *world) batch() Batch {
	w.Helper()
	batch, err := w.batcher.Next(background)
	for err == io.EOF {
		batch, err = w.batcher.Next(background)
	}
	w.must(err)
	return batch
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// refused checks that an error has a status and a message, and returns it.
func refused(t *testing.T, status Status, err error) *Error {
	t.Helper()
	var failed *Error
	if !errors.Is(err, status) || !errors.As(err, &failed) || failed.Status != status || failed.Message == "" {
		t.Fatalf("the error is %v, expected %v", err, status)
	}
	return failed
}

// idle waits until the number of goroutines is as before.
func idle(t *testing.T, before int) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines, expected %d as before", runtime.NumGoroutine(), before)
		}
	}
}
