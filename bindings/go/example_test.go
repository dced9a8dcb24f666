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

// small are options for a model that is trained in an instant and knows little.
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
	check(model.Save(context.Background(), path, nil))
	return path, func() { os.RemoveAll(folder) }
}

func train(c *xformer.Context) *xformer.Trainer {
	ctx := context.Background()
	corpus, err := c.NewCorpusFromPairs(ctx, numerals, small)
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
	model, err := c.LoadModel(context.Background(), path)
	check(err)
	defer model.Close()
	decoder, err := model.NewDecoder(xformer.Options{"decode.beam": 4})
	check(err)
	defer decoder.Close()

	answers, err := decoder.Translate(context.Background(), []string{"two one", "one", "\xff"}, nil)
	check(err)
	for _, all := range answers {
		fmt.Println(all.Best().Text, errors.Is(all.Err, xformer.ErrData))
	}
	// Output:
	// zwei eins false
	// eins false
	//  true
}

// The answer begins with a given word, and is short.
func ExampleParams() {
	path, remove := saveModel()
	defer remove()
	c, err := xformer.NewContext(nil)
	check(err)
	defer c.Close()
	model, err := c.LoadModel(context.Background(), path)
	check(err)
	decoder, err := model.NewDecoder(nil)
	check(err)
	defer decoder.Close()

	answers, err := decoder.Translate(context.Background(), []string{"two"}, &xformer.Params{
		Settings: xformer.Options{"decode.beam": 2},
		Prefixes: []string{"eins"},
		Constraint: func(prefix xformer.Prefix, allowed xformer.Allowed) error {
			if len(prefix.IDs) > 6 {
				allowed.Only(xformer.TokenEnd)
			}
			return nil
		},
	})
	check(err)
	fmt.Println(strings.HasPrefix(answers[0].Best().Text, "eins"), len(answers[0].Best().IDs) < 8)
	// Output: true true
}

func ExampleBatcher() {
	ctx := context.Background()
	c, err := xformer.NewContext(small)
	check(err)
	defer c.Close()
	corpus, err := c.NewCorpusFromPairs(ctx, numerals, nil)
	check(err)
	tokenizer, err := c.TrainTokenizer(ctx, corpus, small)
	check(err)
	batcher, err := corpus.NewBatcher(ctx, tokenizer, small)
	check(err)

	for epoch := 0; epoch < 2; epoch++ {
		pairs := 0
		batch, err := batcher.Next()
		for ; err == nil; batch, err = batcher.Next() {
			pairs += batch.Len()
		}
		if err != io.EOF {
			log.Fatal(err)
		}
		fmt.Println("epoch", epoch, "gave", pairs, "pairs")
	}
	// Output:
	// epoch 0 gave 6 pairs
	// epoch 1 gave 6 pairs
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
	check(trainer.Save(path, nil))
	check(trainer.Close())

	resumed, err := c.ResumeTrainer(context.Background(), path, nil)
	check(err)
	fmt.Println(resumed.Steps(), "steps")
	// Output: 200 steps
}

// A call ends when its context.Context does.
func ExampleErrCancelled() {
	path, remove := saveModel()
	defer remove()
	c, err := xformer.NewContext(nil)
	check(err)
	defer c.Close()
	model, err := c.LoadModel(context.Background(), path)
	check(err)
	decoder, err := model.NewDecoder(nil)
	check(err)

	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	_, err = decoder.Translate(ctx, make100000(), nil)
	fmt.Println(errors.Is(err, xformer.ErrCancelled), errors.Is(err, context.DeadlineExceeded))

	texts, err := decoder.TranslateTexts(context.Background(), []string{"two"}) // usable as before
	check(err)
	fmt.Println(texts[0])
	// Output:
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
	_, err = c.LoadModel(context.Background(), "/no/such/model.xf")
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
	tell := func(level xformer.LogLevel, component, message string) {
		if component == "data" {
			fmt.Printf("%v: %s\n", level, message)
		}
	}
	c, err := xformer.NewContext(nil, xformer.WithLog(xformer.LogWarning, tell))
	check(err)
	defer c.Close()
	corpus, err := c.NewCorpus(context.Background(), "two lines", []byte("one\teins\nno tab\n"), nil)
	check(err)
	fmt.Println(corpus.Len(), "pair")
	// Output:
	// warning: two lines:2: no tab between source and target
	// warning: two lines: skipped 1 of 2 lines: 1 without a tab
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
