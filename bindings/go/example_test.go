// Examples of the package documentation; their output is checked.
//
// SPDX-License-Identifier: Apache-2.0

package xformer_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"libxformer.invalid/xformer"
)

// small contains options for a model that is trained in less than a second.
var small = xformer.Options{
	"context.threads": 1, "tokenizer.vocab_size": 290, "data.batch_tokens": 40, "model.encoder_layers": 1,
	"model.decoder_layers": 1, "model.d_model": 32, "model.d_ff": 64, "model.heads": 2, "model.d_k": 16, "model.d_v": 16,
	"train.schedule": "constant", "train.learning_rate": 0.005, "train.warmup_steps": 20, "train.dropout": 0,
}

var numerals = []xformer.Pair{{"one", "eins"}, {"two", "zwei"}, {"one two", "eins zwei"}, {"two one", "zwei eins"},
	{"one one", "eins eins"}, {"two two", "zwei zwei"}}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// saveModel trains a model on the numerals and saves it for the other examples.
func saveModel() (path string, remove func()) {
	folder, err := os.MkdirTemp("", "xformer")
	check(err)
	path = filepath.Join(folder, "numerals.xf")
	c, err := xformer.NewContext(small)
	check(err)
	defer c.Close()
	trainer := train(c)
	defer trainer.Close()
	model, err := trainer.Model()
	check(err)
	check(model.Save(context.Background(), xformer.Path(path), nil))
	return path, func() { os.RemoveAll(folder) }
}

func train(c *xformer.Context) *xformer.Trainer {
	ctx := context.Background()
	corpus, err := c.NewCorpus(ctx, numerals, small)
	check(err)
	defer corpus.Close()
	tokenizer, err := c.TrainTokenizer(ctx, corpus, small)
	check(err)
	defer tokenizer.Close()
	batcher, err := corpus.NewBatcher(ctx, tokenizer, small)
	check(err)
	defer batcher.Close()
	model, err := c.NewModel(tokenizer, small)
	check(err)
	defer model.Close()
	trainer, err := model.NewTrainer(small)
	check(err)
	check(trainer.Train(ctx, batcher, 200, nil))
	return trainer
}

func ExampleDecoder_Translate() {
	path, remove := saveModel()
	defer remove()

	c, err := xformer.NewContext(nil)
	check(err)
	defer c.Close()
	model, err := c.LoadModel(context.Background(), xformer.Path(path), nil)
	check(err)
	defer model.Close()
	decoder, err := model.NewDecoder(xformer.Options{"decode.beam": 4})
	check(err)
	defer decoder.Close()

	results, err := decoder.Translate(context.Background(), []string{"two one", "one", "\xff"}, nil)
	check(err)
	for _, result := range results {
		fmt.Println(result.Best().Text, errors.Is(result.Err, xformer.ErrData))
	}
	// Output:
	// zwei eins false
	// eins false
	//  true
}

// The translation begins with a given word and has at most seven tokens.
func ExampleParams() {
	path, remove := saveModel()
	defer remove()
	c, err := xformer.NewContext(nil)
	check(err)
	defer c.Close()
	model, err := c.LoadModel(context.Background(), xformer.Path(path), nil)
	check(err)
	decoder, err := model.NewDecoder(nil)
	check(err)
	defer decoder.Close()
	tokenizer, err := model.Tokenizer()
	check(err)

	results, err := decoder.Translate(context.Background(), []string{"two"}, &xformer.Params{
		Settings: xformer.Options{"decode.beam": 2},
		Prefixes: []string{"eins"},
		Constraint: func(partials []xformer.Partial, _ int) error {
			for _, p := range partials {
				if len(p.IDs) > 6 {
					p.Allowed.Only(tokenizer.Info().EndToken)
				}
			}
			return nil
		},
	})
	check(err)
	best := results[0].Best()
	fmt.Println(strings.HasPrefix(best.Text, "eins"), len(best.IDs) < 8)
	// Output: true true
}

func ExampleBatcher() {
	ctx := context.Background()
	c, err := xformer.NewContext(small)
	check(err)
	defer c.Close()
	corpus, err := c.NewCorpus(ctx, numerals, nil)
	check(err)
	tokenizer, err := c.TrainTokenizer(ctx, corpus, small)
	check(err)
	batcher, err := corpus.NewBatcher(ctx, tokenizer, small)
	check(err)

	for epoch := 0; epoch < 2; epoch++ {
		pairs := 0
		batch, err := batcher.Next(ctx)
		for ; err == nil; batch, err = batcher.Next(ctx) {
			pairs += batch.Len()
		}
		if err != io.EOF {
			log.Fatal(err)
		}
		fmt.Println("epoch", epoch, "has", pairs, "pairs")
	}
	// Output:
	// epoch 0 has 6 pairs
	// epoch 1 has 6 pairs
}

func ExampleTrainer_Save() {
	folder, err := os.MkdirTemp("", "xformer")
	check(err)
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "run.ckpt")
	c, err := xformer.NewContext(small)
	check(err)
	defer c.Close()
	trainer := train(c)
	check(trainer.Save(context.Background(), xformer.Path(path), nil))
	check(trainer.Close())

	resumed, err := c.ResumeTrainer(context.Background(), xformer.Path(path), nil)
	check(err)
	fmt.Println(resumed.Steps(), "steps")
	// Output: 200 steps
}

// The deadline of a context.Context ends Translate with the best hypotheses so far, and its cancellation with an error.
func ExampleErrCancelled() {
	path, remove := saveModel()
	defer remove()
	c, err := xformer.NewContext(nil)
	check(err)
	defer c.Close()
	model, err := c.LoadModel(context.Background(), xformer.Path(path), nil)
	check(err)
	decoder, err := model.NewDecoder(nil)
	check(err)

	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	results, err := decoder.Translate(ctx, make100000(), nil)
	check(err)
	last := results[len(results)-1]
	fmt.Println(errors.Is(last.Err, xformer.ErrDeadline), errors.Is(last.Err, context.DeadlineExceeded))

	ctx, cancel = context.WithCancel(context.Background())
	time.AfterFunc(100*time.Millisecond, cancel)
	_, err = decoder.Translate(ctx, make100000(), nil)
	fmt.Println(errors.Is(err, xformer.ErrCancelled), errors.Is(err, context.Canceled))

	texts, err := decoder.TranslateTexts(context.Background(), []string{"two"}) // the decoder remains usable
	check(err)
	fmt.Println(texts[0])
	// Output:
	// true true
	// true true
	// zwei
}

func make100000() []string {
	texts := make([]string, 100000)
	for i := range texts {
		texts[i] = "two one"
	}
	return texts
}

func ExampleError() {
	c, err := xformer.NewContext(nil)
	check(err)
	defer c.Close()
	_, err = c.LoadModel(context.Background(), xformer.Path("/no/such/model.xf"), nil)
	var failed *xformer.Error
	if errors.As(err, &failed) {
		fmt.Println(failed.Status)
	}
	fmt.Println(errors.Is(err, xformer.ErrNotFound), errors.Is(err, fs.ErrNotExist))

	_, err = xformer.NewConfig("", xformer.Options{"train.dropuot": 0.1})
	fmt.Println(err)
	// Output:
	// XF_ERROR_NOT_FOUND
	// true true
	// xformer: there is no option 'train.dropuot'; the nearest is 'train.dropout'
}

func ExampleWithLog() {
	report := func(level xformer.LogLevel, component, message string) {
		if component == "data" {
			fmt.Printf("%v: %s\n", level, message)
		}
	}
	c, err := xformer.NewContext(nil, xformer.WithLog(xformer.LogWarning, report))
	check(err)
	defer c.Close()
	corpus, err := c.NewCorpus(context.Background(), []xformer.Pair{{"one", "eins"}, {"two", ""}}, nil)
	check(err)
	fmt.Println(corpus.Len(), "pair")
	// Output:
	// warning: pairs:2: the target is empty
	// warning: pairs: skipped 1 of 2 lines: 1 with an empty side
	// 1 pair
}

func ExampleBLEU() {
	hypotheses := []string{"the cat sat on the mat"}
	score, err := xformer.BLEU(hypotheses, []string{"the cat sat on a mat"}, xformer.BLEU13a)
	check(err)
	fmt.Printf("%.1f\n", score.Score)
	// Output: 53.7
}

func ExampleOptionTable() {
	for _, option := range xformer.OptionTable() {
		if option.Key == "decode.beam" {
			fmt.Println(option.Key, option.Type, option.Default, option.Doc)
		}
	}
	// Output: decode.beam int64 4 Beam size; 1 is greedy search.
}

// The progress function belongs to one call.
func ExampleWithProgress() {
	path, remove := saveModel()
	defer remove()
	c, err := xformer.NewContext(nil)
	check(err)
	defer c.Close()
	model, err := c.LoadModel(context.Background(), xformer.Path(path), nil)
	check(err)
	decoder, err := model.NewDecoder(nil)
	check(err)

	tasks := map[string]bool{}
	ctx := xformer.WithProgress(context.Background(), func(task string, done, total int64) error {
		tasks[task] = true
		return nil
	})
	_, err = decoder.TranslateTexts(ctx, make100000()[:20000])
	check(err)
	fmt.Println(tasks)
	// Output: map[translate:true]
}
