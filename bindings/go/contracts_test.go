// Runs the contracts of ../contracts.tsv, which all bindings have in common.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// errWithin is the failure of callbacks.
var errWithin = errors.New("from within")

// slowTexts and slowParams are those of a call that takes seconds.
var (
	slowTexts  = strings.Split(strings.Repeat("one two three four\n", 3000), "\n")
	slowParams = Params{Settings: Options{"decode.max_extra_tokens": 40, "decode.min_tokens": 40}}
)

type failing struct{}

func (failing) ReadAt([]byte, int64) (int, error)  { return 0, errWithin }
func (failing) WriteAt([]byte, int64) (int, error) { return 0, errWithin }

func unescaped(text string) string {
	return strings.NewReplacer(`\0`, "\x00", `\t`, "\t", `\n`, "\n", `\e`, "\xff", "LONG",
		strings.Repeat("one ", 2000)).Replace(text)
}

func several(text, separator string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, separator)
}

func number(text string) int64 {
	value, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(err)
	}
	return value
}

func numbers[T int32 | int64](text string) (all []T) {
	for _, word := range strings.Fields(text) {
		all = append(all, T(number(word)))
	}
	return all
}

func ids(text string) []int32 { return numbers[int32](text) }

func options(a []string) Options {
	all := Options{}
	for i := 0; i+1 < len(a); i += 2 {
		all[a[i]] = a[i+1]
	}
	return all
}

func shortName(err error) string {
	var failed *Error
	switch {
	case err == nil:
		return "OK"
	case errors.Is(err, errWithin):
		return "RAISED"
	case errors.Is(err, ErrClosed):
		return "CLOSED"
	case errors.As(err, &failed):
		return strings.TrimPrefix(failed.Status.String(), "XF_ERROR_")
	}
	return err.Error()
}

func longName(err error) string {
	var failed *Error
	if errors.As(err, &failed) && failed.NativeCode != 0 {
		return fmt.Sprintf("%v (%d)", err, failed.NativeCode)
	}
	return fmt.Sprint(err)
}

// attempt ends an operation with an error; see perform.
func attempt(err error) {
	if err != nil {
		panic(err)
	}
}

// need returns a value, or ends the operation with the error.
func need[T any](value T, err error) T {
	attempt(err)
	return value
}

// fails returns the error of a call whose result does not matter.
func fails[T any](_ T, err error) (string, error) { return "", err }

func statusesOf(results []Result, err error) (string, error) {
	var all []string
	for _, result := range results {
		all = append(all, shortName(result.Err))
	}
	return strings.Join(all, " "), err
}

func same(equal bool) string {
	if equal {
		return "equal"
	}
	return "different"
}

func truth(value bool) string { return map[bool]string{true: "True", false: "False"}[value] }

func sideNamed(name string) Side {
	return map[string]Side{"source": SideSource, "target": SideTarget}[name]
}

func pairsOf(text string) (pairs []Pair) {
	for _, row := range several(text, ";") {
		source, target, _ := strings.Cut(row, "/")
		pairs = append(pairs, Pair{source, target})
	}
	return pairs
}

func first2(corpus *Corpus, err error) (Pair, error) {
	if err != nil {
		return Pair{}, err
	}
	return corpus.Pair(0)
}

func onePair(source, target string) Batch {
	targets := [][]int32{ids(target)}
	if target == "" {
		targets = nil
	}
	batch, _ := NewBatch([][]int32{ids(source)}, targets)
	return batch
}

// saved returns the bytes of a file of the world.
func (w *world) saved(kind string) (data []byte) {
	if kind == "checkpoint" {
		w.train(1)
	}
	w.must(w.save(kind, ToBytes(&data)))
	return data
}

func (w *world) save(kind string, sink Sink) error {
	switch kind {
	case "checkpoint":
		return w.trainer.Save(background, sink, nil)
	case "tokenizer":
		return w.tokenizer.Save(background, sink)
	}
	return w.model.Save(background, sink, nil)
}

// loaded loads a file and returns a property of it.
func (w *world) loaded(kind string, source Source) (string, error) {
	switch kind {
	case "checkpoint":
		return fmt.Sprint(need(w.context.ResumeTrainer(background, source, nil)).Steps()), nil
	case "tokenizer":
		return fmt.Sprint(need(w.context.LoadTokenizer(background, source)).Info().VocabSize), nil
	case "inspect":
		s, err := w.context.InspectModel(source, nil)
		return fmt.Sprintf("%d parameters, %d ids, step %d, tokenizer %s, %v%s", s.Parameters, s.VocabSize, s.Step,
			truth(s.HasTokenizer), s.Weights, map[bool]string{true: ", ordered"}[s.FileBytes < s.DecodeBytes &&
				s.DecodeBytes < s.TrainBytes]), err
	case "corpus":
		corpus := need(w.context.OpenCorpus(background, string(source.(Path)), nil))
		return fmt.Sprint(corpus.Len()), nil
	}
	model := need(w.context.LoadModel(background, source, nil))
	return w.vocabSize(model)
}

func (w *world) vocabSize(model *Model) (string, error) {
	config := need(model.Config())
	return config.Text("model.vocab_size")
}

// pair returns a pair of tokenizers.
func (w *world) pair() *Tokenizer {
	sides := map[string]any{"format": "xformer-tokenizer", "version": 1, "kind": "pair"}
	for side, more := range map[string]Options{"source": {"tokenizer.kind": "bpe", "tokenizer.vocab_size": 280},
		"target": {"tokenizer.kind": "wordpiece", "tokenizer.vocab_size": 270}} {
		tokenizer := need(w.context.TrainTokenizer(background, w.corpus, more))
		var data []byte
		w.must(tokenizer.Save(background, ToBytes(&data)))
		sides[side] = string(data)
	}
	text := need(json.Marshal(sides))
	pair := need(w.context.LoadTokenizer(background, FromBytes(text)))
	return pair
}

func (w *world) pairModel() (*Model, *Decoder) {
	model := need(w.context.NewModel(w.pair(), with(Options{"model.tie": "decoder"})))
	decoder := need(model.NewDecoder(w.config))
	return model, decoder
}

func (w *world) side(tokenizer *Tokenizer, side Side) *Tokenizer {
	one := need(tokenizer.Side(side))
	return one
}

func (w *world) sides(t *Tokenizer) string {
	source, target := w.side(t, SideSource).Info(), w.side(t, SideTarget).Info()
	return fmt.Sprintf("%s %d, %s %d", source.Kind, source.VocabSize, target.Kind, target.VocabSize)
}

func roundTrip(tokenizer *Tokenizer, text string) (string, error) {
	tokens := need(tokenizer.Encode(text))
	return tokenizer.Decode(tokens)
}

// cancellable returns calls by name.
func (w *world) cancellable() map[string]func(ctx context.Context) error {
	batch := w.batch()
	model, checkpoint, words := w.saved("model"), w.saved("checkpoint"), w.saved("tokenizer")
	w.must(os.WriteFile(w.path("pairs"), []byte("a\tb\n"), 0o600))
	average := need(w.model.NewTrainer(with(Options{"train.ema": 0.5})))
	need(average.Step(background, batch))
	var position, out []byte
	w.must(w.trainer.Save(background, ToBytes(&position), w.batcher))
	resumed := need(w.context.ResumeTrainer(background, FromBytes(position), nil))
	return map[string]func(ctx context.Context) error{
		"translate":   func(ctx context.Context) error { _, err := w.decoder.Translate(ctx, sources(), nil); return err },
		"decode":      func(ctx context.Context) error { _, err := w.decoder.Decode(ctx, batch, nil); return err },
		"score":       func(ctx context.Context) error { _, err := w.decoder.Score(ctx, batch); return err },
		"score_texts": func(ctx context.Context) error { _, err := w.decoder.ScoreTexts(ctx, testPairs); return err },
		"evaluate":    func(ctx context.Context) error { _, err := w.decoder.Evaluate(ctx, w.batcher); return err },
		"step":        func(ctx context.Context) error { _, err := w.trainer.Step(ctx, batch); return err },
		"next":        func(ctx context.Context) error { _, err := w.trainer.Next(ctx, w.batcher); return err },
		"accumulate":  func(ctx context.Context) error { _, err := w.trainer.Accumulate(ctx, batch); return err },
		"train_tokenizer": func(ctx context.Context) error {
			_, err := w.context.TrainTokenizer(ctx, w.corpus, w.config)
			return err
		},
		"load_tokenizer": func(ctx context.Context) error {
			_, err := w.context.LoadTokenizer(ctx, FromBytes(words))
			return err
		},
		"save_tokenizer": func(ctx context.Context) error { return w.tokenizer.Save(ctx, ToBytes(&out)) },
		"load": func(ctx context.Context) error {
			_, err := w.context.LoadModel(ctx, FromBytes(model), nil)
			return err
		},
		"save": func(ctx context.Context) error { return w.model.Save(ctx, ToBytes(&out), nil) },
		"average": func(ctx context.Context) error {
			_, err := w.context.AverageModels(ctx, FromBytes(model))
			return err
		},
		"copy":  func(ctx context.Context) error { _, err := w.model.Copy(ctx, nil, nil); return err },
		"open":  func(ctx context.Context) error { _, err := w.context.OpenCorpus(ctx, w.path("pairs"), nil); return err },
		"pairs": func(ctx context.Context) error { _, err := w.context.NewCorpus(ctx, testPairs, nil); return err },
		"ids":   func(ctx context.Context) error { _, err := w.context.NewCorpusFromIDs(ctx, batch); return err },
		"batcher": func(ctx context.Context) error {
			_, err := w.corpus.NewBatcher(ctx, w.tokenizer, w.config)
			return err
		},
		"next_batch":     func(ctx context.Context) error { _, err := w.batcher.Next(ctx); return err },
		"seek":           func(ctx context.Context) error { return w.batcher.SeekTo(ctx, 0, 1) },
		"resume_batcher": func(ctx context.Context) error { return w.batcher.Resume(ctx, resumed) },
		"resume": func(ctx context.Context) error {
			_, err := w.context.ResumeTrainer(ctx, FromBytes(checkpoint), nil)
			return err
		},
		"checkpoint":   func(ctx context.Context) error { return w.trainer.Save(ctx, ToBytes(&out), nil) },
		"copy_average": func(ctx context.Context) error { _, err := average.CopyAverage(ctx); return err },
		"gather":       func(ctx context.Context) error { _, err := w.context.AllGather(ctx, 7); return err },
	}
}

// usable checks that the decoder works after a failed call.
func (w *world) usable() {
	w.Helper()
	if found, err := w.decoder.TranslateTexts(background, []string{"one"}); err != nil || len(found) != 1 {
		w.Errorf("%v, %v", found, err)
	}
}

// operations returns a value or an error.
var operations = map[string]func(w *world, a []string) (string, error){
	"config.set": func(w *world, a []string) (string, error) {
		attempt(w.config.Set(a[0], a[1]))
		return w.config.Text(a[0])
	},
	"config.preset": func(w *world, a []string) (string, error) {
		config := need(NewConfig(a[0], nil))
		return config.Text("model.d_model")
	},
	"config.copy": func(w *world, a []string) (string, error) {
		w.must(w.config.Set("data.seed", 5))
		copied := need(w.config.Copy())
		w.must(copied.Set("data.seed", 7))
		before := need(w.config.Int("data.seed"))
		after, err := copied.Int("data.seed")
		return fmt.Sprint(before, after), err
	},
	"option": func(w *world, a []string) (string, error) { row, err := FindOption(a[0]); return row.Default, err },
	"bleu": func(w *world, a []string) (string, error) {
		score, err := BLEU(several(a[0], "/"), several(a[1], "/"), BLEU13a)
		return fmt.Sprintf("%.0f", score.Score), err
	},
	"chrf": func(w *world, a []string) (string, error) {
		score, err := ChrF(several(a[0], "/"), several(a[1], "/"))
		return fmt.Sprintf("%.0f", score.Score), err
	},
	"sentences": func(w *world, a []string) (string, error) {
		var sentences []string
		spans, err := SplitSentences(a[0], a[1], need(strconv.Atoi(a[2])))
		for _, span := range spans {
			sentences = append(sentences, a[0][span.Begin:span.End])
		}
		return strings.Join(sentences, "/"), err
	},
	"context.create": func(w *world, a []string) (string, error) {
		context := need(NewContext(options(a)))
		return context.Info().Backend, context.Close()
	},
	"context.info": func(w *world, a []string) (string, error) {
		info := w.context.Info()
		return fmt.Sprint(info.Precision, " ", info.Threads, info.Rank, info.RankCount), nil
	},
	"context.backends": func(w *world, a []string) (string, error) {
		backends, err := w.context.Backends()
		active := 0
		for _, backend := range backends {
			if backend.State == BackendActive {
				active++
			}
		}
		return fmt.Sprint(active, " active"), err
	},
	"context.memory": func(w *world, a []string) (string, error) {
		m, err := w.context.Memory()
		return fmt.Sprintf("budget %d, %s", m.Budget, truth(m.Peak >= m.Current && m.Current > 0 && m.Allocations > 0)), err
	},
	"version": func(w *world, a []string) (string, error) {
		number := VersionNum()
		text := fmt.Sprintf("%d.%d.%d", number>>16, number>>8&0xFF, number&0xFF)
		return truth(text == Version() && BuildInfo() != ""), nil
	},
	"context.gather": func(w *world, a []string) (string, error) {
		values, err := w.context.AllGather(background, number(a[0]))
		return strings.Trim(fmt.Sprint(values), "[]"), err
	},
	"context.budget": func(w *world, a []string) (string, error) {
		context := need(NewContext(with(Options{"context.memory_budget": a[0]})))
		defer context.Close()
		return fails(context.NewModel(nil, Options{"model.vocab_size": 9000}))
	},
	"load": func(w *world, a []string) (string, error) {
		kind, mode := a[0], a[2]
		var data []byte
		switch a[1] {
		case "missing":
			return w.loaded(kind, w.file("none"))
		case "folder":
			return w.loaded(kind, Path(w.folder))
		case "nul":
			return w.loaded(kind, Path("a\x00b"))
		case "text":
			data = bytes.Repeat([]byte("text"), 50)
		case "empty":
		case "model":
			data = w.saved("model")
		default:
			data = w.saved(kind)
		}
		switch a[1] {
		case "half":
			data = data[:len(data)/2]
		case "flipped":
			data[len(data)/2] ^= 1
		case "newer":
			data = bytes.Replace(data, []byte(`"version":1`), []byte(`"version":7`), 1)
		}
		w.must(os.WriteFile(w.path("file"), data, 0o600))
		file := need(os.Open(w.path("file")))
		defer file.Close()
		return w.loaded(kind, map[string]Source{"path": w.file("file"), "bytes": FromBytes(data), "file": FromFile(file),
			"callback": FromReader(file, int64(len(data))), "failing": FromReader(failing{}, int64(len(data)))}[mode])
	},
	"save": func(w *world, a []string) (string, error) {
		file := need(os.Create(w.path("file")))
		defer file.Close()
		var data []byte
		sink := map[string]Sink{"path": w.file("file"), "bytes": ToBytes(&data), "file": ToFile(file),
			"callback": ToWriter(file), "failing": ToWriter(failing{}), "nofolder": w.file("no/folder"),
			"nul": Path("a\x00b")}[a[1]]
		attempt(w.save(a[0], sink))
		if a[1] != "bytes" {
			data = need(os.ReadFile(w.path("file")))
		}
		_, err := w.loaded(a[0], FromBytes(data))
		return "loads", err
	},
	"tokenizer.info": func(w *world, a []string) (string, error) {
		info := w.tokenizer.Info()
		return fmt.Sprint(info.Kind, " ", info.VocabSize, info.StartToken, info.EndToken), nil
	},
	"tokenizer.encode": func(w *world, a []string) (string, error) { return roundTrip(w.tokenizer, a[0]) },
	"tokenizer.decode": func(w *world, a []string) (string, error) { return w.tokenizer.Decode(ids(a[0])) },
	"tokenizer.piece":  func(w *world, a []string) (string, error) { return w.tokenizer.Piece(ids(a[0])[0]) },
	"model.encode": func(w *world, a []string) (string, error) {
		tokens := need(w.model.Encode(sideNamed(a[0]), a[1], options(a[2:])))
		text, err := w.tokenizer.Decode(tokens[:len(tokens)-1])
		return fmt.Sprintf("%s + %d", text, tokens[len(tokens)-1]), err
	},
	"pair.info": func(w *world, a []string) (string, error) {
		pair := w.pair()
		info := pair.Info()
		return fmt.Sprintf("%s %d %d %d: %s", info.Kind, info.VocabSize, info.StartToken, info.EndToken, w.sides(pair)), nil
	},
	"pair.encode": func(w *world, a []string) (string, error) { return fails(w.pair().Encode(a[0])) },
	"pair.decode": func(w *world, a []string) (string, error) { return w.pair().Decode(ids(a[0])) },
	"pair.side": func(w *world, a []string) (string, error) {
		return roundTrip(w.side(w.pair(), sideNamed(a[0])), a[1])
	},
	"pair.model_encode": func(w *world, a []string) (string, error) {
		model, _ := w.pairModel()
		tokens := need(model.Encode(sideNamed(a[0]), a[1], nil))
		tokenizer := need(model.Tokenizer())
		side := w.side(tokenizer, sideNamed(a[0]))
		expected, err := side.Encode(a[1])
		return same(reflect.DeepEqual(tokens, append(expected, side.Info().EndToken))), err
	},
	"pair.score_texts": func(w *world, a []string) (string, error) {
		model, decoder := w.pairModel()
		var pairs, good []Pair
		var scored []float64
		targets := several(a[1], "/")
		for i, source := range several(a[0], "/") {
			pairs = append(pairs, Pair{source, targets[i]})
		}
		found := need(decoder.ScoreTexts(background, pairs))
		for i, score := range found {
			if score.Err == nil {
				good, scored = append(good, pairs[i]), append(scored, score.LogProbability)
			}
		}
		var sources, wanted []string
		for _, pair := range good {
			sources, wanted = append(sources, pair.Source), append(wanted, pair.Target)
		}
		batch := need(model.Batch(sources, wanted, nil))
		expected, err := decoder.Score(background, batch)
		return fmt.Sprint(same(reflect.DeepEqual(scored, expected)), " ", len(good)), err
	},
	"pair.translate": func(w *world, a []string) (string, error) {
		_, decoder := w.pairModel()
		return statusesOf(decoder.Translate(background, several(a[0], "/"), nil))
	},
	"pair.train": func(w *world, a []string) (string, error) {
		model, _ := w.pairModel()
		trainer := need(model.NewTrainer(w.config))
		tokenizer := need(model.Tokenizer())
		batcher := need(w.corpus.NewBatcher(background, tokenizer, w.config))
		err := trainer.Train(background, batcher, number(a[0]), nil)
		return fmt.Sprint(trainer.Steps()), err
	},
	"pair.file": func(w *world, a []string) (string, error) {
		model, _ := w.pairModel()
		var data []byte
		w.must(model.Save(background, ToBytes(&data), nil))
		again := need(w.context.LoadModel(background, FromBytes(data), nil))
		tokenizer := need(again.Tokenizer())
		return tokenizer.Info().Kind + ": " + w.sides(tokenizer), nil
	},
	"pair.one_embedding": func(w *world, a []string) (string, error) {
		return fails(w.context.NewModel(w.pair(), testOptions))
	},
	"corpus.pairs": func(w *world, a []string) (string, error) {
		corpus, err := w.context.NewCorpus(background, pairsOf(a[0]), nil)
		pair := need(first2(corpus, err))
		return fmt.Sprintf("%d of %d: %s/%s", corpus.Len(), corpus.Stats().Lines, pair.Source, pair.Target), nil
	},
	"corpus.strict": func(w *world, a []string) (string, error) {
		return fails(w.context.NewCorpus(background, pairsOf(a[0]), Options{"data.strict": true}))
	},
	"corpus.get": func(w *world, a []string) (string, error) {
		pair, err := w.corpus.Pair(int(number(a[0])))
		return pair.Source + "/" + pair.Target, err
	},
	"corpus.subset": func(w *world, a []string) (string, error) {
		corpus, err := w.corpus.Subset(numbers[int64](a[0]))
		pair := need(first2(corpus, err))
		return fmt.Sprintf("%d: %s/%s", corpus.Len(), pair.Source, pair.Target), nil
	},
	"corpus.split": func(w *world, a []string) (string, error) {
		rest, heldOut, err := w.corpus.Split(int(number(a[0])), 7)
		attempt(err)
		return fmt.Sprint(rest.Len(), heldOut.Len()), nil
	},
	"corpus.lines": func(w *world, a []string) (string, error) {
		corpus := need(w.textCorpus("lines", []byte(a[0]), nil))
		s := corpus.Stats()
		return fmt.Sprintf("lines %d, kept %d, bad columns %d, empty %d, NUL %d", s.Lines, s.Kept, s.BadColumns, s.EmptySide,
			s.NULByte), nil
	},
	"corpus.parallel": func(w *world, a []string) (string, error) {
		w.must(os.WriteFile(w.path("source"), []byte(a[0]), 0o600))
		w.must(os.WriteFile(w.path("target"), []byte(a[1]), 0o600))
		corpus := need(w.context.OpenParallelCorpus(background, w.path("source"), w.path("target"), nil))
		pair, err := corpus.Pair(corpus.Len() - 1)
		return fmt.Sprintf("%d: %s/%s", corpus.Len(), pair.Source, pair.Target), err
	},
	"corpus.encode": func(w *world, a []string) (string, error) {
		w.must(os.WriteFile(w.path("source"), []byte(a[0]), 0o600))
		w.must(os.WriteFile(w.path("target"), []byte(a[1]), 0o600))
		if err := w.context.EncodeParallelCorpus(background, w.path("source"), w.path("target"), w.tokenizer,
			w.path("encoded"), nil); err != nil {
			return "", err
		}
		corpus := need(w.context.OpenCorpus(background, w.path("encoded"), nil))
		batcher := need(corpus.NewBatcher(background, w.tokenizer, w.config))
		stats, err := batcher.Stats()
		return fmt.Sprint(corpus.Len(), stats.Pairs), err
	},
	"corpus.encoded_pair": func(w *world, a []string) (string, error) {
		w.must(os.WriteFile(w.path("lines"), []byte("a\tb\n"), 0o600))
		w.must(w.context.EncodeCorpus(background, w.path("lines"), w.tokenizer, w.path("encoded"), nil))
		return fails(first2(w.context.OpenCorpus(background, w.path("encoded"), nil)))
	},
	"corpus.ids": func(w *world, a []string) (string, error) {
		corpus := need(w.context.NewCorpusFromIDs(background, onePair(a[0], a[1])))
		return fmt.Sprint(corpus.Len()), nil
	},
	"corpus.ids_text": func(w *world, a []string) (string, error) {
		return fails(first2(w.context.NewCorpusFromIDs(background, onePair("5 1", "6 1"))))
	},
	"batcher.epochs": func(w *world, a []string) (string, error) {
		var epochs []string
		for int64(len(epochs)) < number(a[0]) {
			sentences, indices := 0, int64(0)
			batch, err := w.batcher.Next(background)
			for ; err == nil; batch, err = w.batcher.Next(background) {
				for _, index := range batch.PairIndex {
					sentences, indices = sentences+1, indices+index
				}
			}
			if err != io.EOF {
				return "", err
			}
			epochs = append(epochs, fmt.Sprintf("%d (%d)", sentences, indices))
		}
		stats, err := w.batcher.Stats()
		return fmt.Sprintf("%s, epoch %d, batch %d", strings.Join(epochs, " "), stats.Epoch, stats.Batch), err
	},
	"batcher.seek": func(w *world, a []string) (string, error) {
		attempt(w.batcher.SeekTo(background, number(a[0]), number(a[1])))
		stats, err := w.batcher.Stats()
		return fmt.Sprint(stats.Epoch, stats.Batch), err
	},
	"batcher.resume": func(w *world, a []string) (string, error) {
		return "", w.batcher.Resume(background, w.trainer)
	},
	"batcher.resume_other": func(w *world, a []string) (string, error) {
		var data []byte
		w.must(w.trainer.Save(background, ToBytes(&data), w.batcher))
		trainer := need(w.context.ResumeTrainer(background, FromBytes(data), nil))
		batcher := need(w.corpus.NewBatcher(background, w.tokenizer, with(Options{"data.seed": 9})))
		return "", batcher.Resume(background, trainer)
	},
	"batcher.max_tokens": func(w *world, a []string) (string, error) {
		long := need(w.corpus.Subset([]int64{0}))
		return fails(long.NewBatcher(background, w.tokenizer, with(Options{"data.max_tokens": a[0]})))
	},
	"batcher.no_tokenizer": func(w *world, a []string) (string, error) {
		return fails(w.corpus.NewBatcher(background, nil, testOptions))
	},
	"batch": func(w *world, a []string) (string, error) {
		found, err := w.decoder.Decode(background, Batch{SrcIDs: ids(a[0]), SrcOffsets: numbers[int64](a[1])}, nil)
		return fmt.Sprint(len(found)), err
	},
	"batch.pairs": func(w *world, a []string) (string, error) {
		scores, err := w.decoder.Score(background, Batch{ids(a[0]), numbers[int64](a[1]), ids(a[2]),
			numbers[int64](a[3]), nil})
		return fmt.Sprint(len(scores)), err
	},
	"batch.ids": func(w *world, a []string) (string, error) {
		return fails(NewBatch(make([][]int32, number(a[0])), make([][]int32, number(a[1]))))
	},
	"score": func(w *world, a []string) (string, error) {
		scores, err := w.decoder.Score(background, onePair(a[0], a[1]))
		return fmt.Sprint(len(scores)), err
	},
	"tensor.read": func(w *world, a []string) (string, error) {
		values, err := w.model.ReadTensor(w.model.Tensors()[number(a[0])].Name)
		return fmt.Sprint(len(values)), err
	},
	"tensor.find": func(w *world, a []string) (string, error) { return fails(w.model.ReadTensor(a[0])) },
	"tensor.write": func(w *world, a []string) (string, error) {
		info := w.model.Tensors()[0]
		values := make([]float32, info.Size())
		for i := range values {
			values[i] = map[string]float32{"good": 0.5, "nan": float32(math.NaN())}[a[0]]
		}
		if a[0] == "short" {
			values = values[:1]
		}
		attempt(w.model.WriteTensor(info.Name, values))
		found, err := w.model.ReadTensor(info.Name)
		return fmt.Sprintf("%.1f", found[0]), err
	},
	"metadata": func(w *world, a []string) (string, error) {
		attempt(w.model.SetMetadata(a[0], a[1]))
		model := need(w.context.LoadModel(background, FromBytes(w.saved("model")), nil))
		found, err := model.Metadata()
		value, ok := found[a[0]]
		return value + map[bool]string{false: "missing"}[ok], err
	},
	"metadata.remove": func(w *world, a []string) (string, error) {
		w.must(w.model.SetMetadata(a[0], "b"))
		before := need(w.model.Metadata())
		w.must(w.model.DeleteMetadata(a[0]))
		after, err := w.model.Metadata()
		if len(after) != 0 {
			return "not removed", err
		}
		return before[a[0]], err
	},
	"model.create": func(w *world, a []string) (string, error) {
		model := need(w.context.NewModel(nil, with(options(a))))
		return w.vocabSize(model)
	},
	"model.copy": func(w *world, a []string) (string, error) {
		model := need(w.model.Copy(background, nil, Options{"model.weights": a[0]}))
		return model.Tensors()[0].Type.String(), nil
	},
	"model.train_quantized": func(w *world, a []string) (string, error) {
		model := need(w.model.Copy(background, nil, Options{"model.weights": "int8"}))
		return fails(model.NewTrainer(w.config))
	},
	"model.average": func(w *world, a []string) (string, error) {
		name := w.model.Tensors()[0].Name
		before := need(w.model.ReadTensor(name))
		var files []Source
		for i := int64(0); i < number(a[0]); i++ {
			files = append(files, FromBytes(w.saved("model")))
			values := need(w.model.ReadTensor(name))
			for k := range values {
				values[k]++
			}
			w.must(w.model.WriteTensor(name, values))
		}
		mean := need(w.context.AverageModels(background, files...))
		values, err := mean.ReadTensor(name)
		return fmt.Sprintf("%.1f", values[50]-before[50]), err
	},
	"train.step": func(w *world, a []string) (string, error) {
		stats, err := w.trainer.Step(background, onePair(a[0], a[1]))
		return fmt.Sprint(stats.Step, " ", stats.Outcome), err
	},
	"train.no_batch": func(w *world, a []string) (string, error) { return fails(w.trainer.Step(background)) },
	"train.progress": func(w *world, a []string) (string, error) {
		ctx := WithProgress(background, func(string, int64, int64) error { return nil })
		batch := w.batch()
		need(w.trainer.Step(ctx, batch))
		need(w.trainer.Next(ctx, w.batcher))
		need(w.trainer.Accumulate(ctx, batch))
		_, err := w.trainer.Update()
		return fmt.Sprint(w.trainer.Steps(), " steps"), err
	},
	"train.halves": func(w *world, a []string) (string, error) {
		batches := []Batch{w.batch(), w.batch()}
		whole := need(newWorld(w.T).trainer.Step(background, batches...))
		for _, batch := range batches {
			need(w.trainer.Accumulate(background, batch))
		}
		halves, err := w.trainer.Update()
		return same(halves == whole), err
	},
	"train.update": func(w *world, a []string) (string, error) { return fails(w.trainer.Update()) },
	"train.gradient": func(w *world, a []string) (string, error) {
		return fails(w.trainer.ReadGradient(w.model.Tensors()[0].Name))
	},
	"train.save_pending": func(w *world, a []string) (string, error) {
		need(w.trainer.Accumulate(background, w.batch()))
		return "", w.trainer.Save(background, w.file("file"), nil)
	},
	"train.nonfinite": func(w *world, a []string) (string, error) {
		for _, info := range w.model.Tensors() {
			values := make([]float32, info.Size())
			for i := range values {
				values[i] = 3e38
			}
			if len(info.Shape) > 1 {
				w.must(w.model.WriteTensor(info.Name, values))
			}
		}
		before := need(w.batcher.Stats())
		_, failed := w.trainer.Next(background, w.batcher)
		if after, err := w.batcher.Stats(); after != before || err != nil || w.trainer.Steps() != 0 {
			w.Errorf("%+v, %v, expected %+v", after, err, before)
		}
		return "", failed
	},
	"train.resume": func(w *world, a []string) (string, error) {
		trainer := need(w.context.ResumeTrainer(background, FromBytes(w.saved("checkpoint")), options(a)))
		config := need(trainer.Config())
		return config.Text(a[0])
	},
	"train.resume_bits": func(w *world, a []string) (string, error) {
		w.train(5)
		var data []byte
		w.must(w.trainer.Save(background, ToBytes(&data), w.batcher))
		expected := w.train(7)
		trainer := need(w.context.ResumeTrainer(background, FromBytes(data), nil))
		w.must(w.batcher.Resume(background, trainer))
		w.trainer = trainer
		return same(reflect.DeepEqual(w.train(7), expected)), nil
	},
	"train.average": func(w *world, a []string) (string, error) {
		trainer := need(w.model.NewTrainer(with(Options{"train.ema": a[0]})))
		need(trainer.Next(background, w.batcher))
		average := need(trainer.CopyAverage(background))
		name := w.model.Tensors()[0].Name
		found := need(average.ReadTensor(name))
		last, err := w.model.ReadTensor(name)
		return map[bool]string{true: "equal", false: "differs"}[reflect.DeepEqual(found, last)], err
	},
	"train.translate": func(w *world, a []string) (string, error) {
		w.train(number(a[0]))
		model := need(w.context.LoadModel(background, FromBytes(w.saved("model")), nil))
		decoder := need(model.NewDecoder(w.config))
		found := need(decoder.TranslateTexts(background, sources()))
		score, err := BLEU(found, targets(), BLEU13a)
		return map[bool]string{true: "BLEU above 30"}[score.Score > 30], err
	},
	"translate": func(w *world, a []string) (string, error) {
		return statusesOf(w.decoder.Translate(background, several(a[0], "/"), nil))
	},
	"translate.empty": func(w *world, a []string) (string, error) {
		found := need(w.decoder.Translate(background, []string{""}, nil))
		best := found[0].Best()
		return fmt.Sprintf("%d hypothesis with score %.0f%s", len(found[0].Hypotheses), best.Score, best.Text), nil
	},
	"translate.options": func(w *world, a []string) (string, error) {
		w.train(60)
		found := need(w.decoder.Translate(background, []string{"one"}, &Params{Settings: options(a)}))
		plain := need(w.decoder.Translate(background, []string{"one"}, nil))
		return fmt.Sprintf("%d then %d", len(found[0].Hypotheses), len(plain[0].Hypotheses)), nil
	},
	"translate.alignment": func(w *world, a []string) (string, error) {
		found := need(w.decoder.Translate(background, []string{" one two"}, &Params{Settings: options(a)}))[0]
		best, ends := found.Best(), found.SourceEnds
		if len(ends) == 0 && len(best.Alignment) == 0 && len(best.TextEnds) == 0 {
			return "none", nil
		}
		state, count := "aligned", len(best.IDs)
		if len(best.Alignment) != count || len(best.TextEnds) != count || best.TextEnds[count-1] != len(best.Text) {
			state = "wrong"
		}
		for _, s := range best.Alignment {
			if s < 0 || int(s)+1 >= len(ends) {
				state = "wrong"
			}
		}
		return fmt.Sprintf("source %d translation %s", ends[len(ends)-1], state), nil
	},
	"translate.prefixes": func(w *world, a []string) (string, error) {
		found, err := w.decoder.Translate(background, []string{"four two"}, &Params{Prefixes: several(a[0], "/")})
		if err != nil || found[0].Err != nil {
			return shortName(found0(found).Err), err
		}
		if text := found[0].Best().Text; !strings.HasPrefix(text, a[0]) {
			return text, nil
		}
		return "begins", nil
	},
	"translate.batches": func(w *world, a []string) (string, error) {
		whole := need(w.decoder.Translate(background, sources(), nil))
		for i, source := range sources() {
			single, err := w.decoder.Translate(background, []string{source}, nil)
			if w.must(err); !reflect.DeepEqual(single[0], whole[i]) {
				return source, nil
			}
		}
		batch := need(w.model.Batch(sources(), nil, nil))
		decoded, err := w.decoder.Decode(background, batch, nil)
		return same(reflect.DeepEqual(decoded, whole)), err
	},
	"decode": func(w *world, a []string) (string, error) {
		var sentences [][]int32
		for _, sentence := range several(a[0], "/") {
			sentences = append(sentences, ids(sentence))
		}
		batch := need(NewBatch(sentences, nil))
		return statusesOf(w.decoder.Decode(background, batch, nil))
	},
	"decode.prefixes": func(w *world, a []string) (string, error) {
		var prefixes [][]int32
		for _, prefix := range several(a[0], "/") {
			prefixes = append(prefixes, ids(prefix))
		}
		_, err := w.decoder.Decode(background, onePair("5 1", ""), &Params{PrefixIDs: prefixes})
		return "", err
	},
	"score_texts": func(w *world, a []string) (string, error) {
		var pairs []Pair
		targets := several(a[1], "/")
		for i, source := range several(a[0], "/") {
			pairs = append(pairs, Pair{source, targets[i]})
		}
		scores, err := w.decoder.ScoreTexts(background, pairs)
		scored := 0
		for _, score := range scores {
			if score.Err == nil {
				scored++
			}
		}
		return fmt.Sprintf("%d of %d", scored, len(scores)), err
	},
	"no_tokenizer": func(w *world, a []string) (string, error) {
		model := need(w.context.NewModel(nil, with(Options{"model.vocab_size": 290})))
		decoder := need(model.NewDecoder(testOptions))
		switch a[0] {
		case "encode":
			return fails(model.Encode(SideSource, "one", nil))
		case "translate":
			return fails(decoder.Translate(background, []string{"one"}, nil))
		}
		return fails(decoder.ScoreTexts(background, testPairs))
	},
	"evaluate": func(w *world, a []string) (string, error) {
		before := need(w.batcher.Stats())
		stats, err := w.decoder.Evaluate(background, w.batcher)
		if after, _ := w.batcher.Stats(); after != before {
			w.Errorf("%+v, expected %+v", after, before)
		}
		return fmt.Sprint(stats.Sentences), err
	},
	"constraint": func(w *world, a []string) (string, error) {
		var inner error
		constraint := map[string]Constraint{
			"spell": func(partials []Partial, _ int) error {
				for _, p := range partials {
					if p.Allowed.Only(2 + 'a'); len(p.IDs) == 3 {
						p.Allowed.Only(tokenEnd)
					}
				}
				return nil
			},
			"nothing": func(partials []Partial, _ int) error {
				for _, p := range partials {
					p.Allowed.Only()
				}
				return nil
			},
			"busy": func([]Partial, int) error {
				_, inner = w.decoder.Translate(background, []string{"one"}, nil)
				return inner
			},
		}[a[0]]
		found, err := w.decoder.Translate(background, []string{"one two"}, &Params{Constraint: constraint})
		if inner != nil && errors.Is(err, inner) {
			return "", inner
		}
		if best := found0(found).Best(); !best.Finished && math.IsInf(best.LogProbability, -1) {
			return "unfinished -inf", err
		}
		return found0(found).Best().Text, err
	},
	"attention": func(w *world, a []string) (string, error) {
		kind := map[string]AttentionKind{"encoder": AttentionEncoder, "decoder": AttentionDecoder,
			"cross": AttentionCross}[a[0]]
		found, err := w.decoder.AttentionWeights(onePair("5 6 1", "9 8 7 1"), kind, int(number(a[1])))
		return fmt.Sprint(found.Heads, found.Queries, found.Keys), err
	},
	"attention.sources_only": func(w *world, a []string) (string, error) {
		return fails(w.decoder.AttentionWeights(onePair("5 1", ""), AttentionDecoder, 0))
	},
	"attention.two_pairs": func(w *world, a []string) (string, error) {
		two := [][]int32{{5, 1}, {5, 1}}
		batch := need(NewBatch(two, two))
		return fails(w.decoder.AttentionWeights(batch, AttentionCross, 0))
	},
	"decode.models": func(w *world, a []string) (string, error) {
		other := need(w.context.NewModel(w.tokenizer, with(Options{"model.seed": 77})))
		named := map[string]*Model{"copy": need(w.model.Copy(background, nil, nil)), "other": other,
			"closed": need(w.model.Copy(background, nil, nil))}
		w.must(named["closed"].Close())
		var ensemble []*Model
		for _, name := range strings.Fields(a[1]) {
			ensemble = append(ensemble, named[name])
		}
		more := []ModelOption{WithEnsemble(ensemble...), WithDraft(named[a[2]])}
		given := with(options(a[3:]))
		expected := need(need(w.model.NewDecoder(given)).Translate(background, sources(), nil))
		closeModels := func() {
			w.must(named["copy"].Close())
			w.must(other.Close())
		}
		if a[0] == "decoder" {
			decoder := need(w.model.NewDecoder(given, more...))
			closeModels()
			found := need(decoder.Translate(background, sources(), nil))
			return same(reflect.DeepEqual(found, expected)), nil
		}
		var engine *Engine
		if a[0] == "engine" {
			engine = need(w.model.NewEngine(given, more...))
		} else {
			engine = need(other.NewEngine(given))
			attempt(engine.SetModel(w.model, more...))
		}
		closeModels()
		var found []Result
		for _, source := range sources() {
			found = append(found, need(engine.Translate(background, Request{Text: source})))
		}
		return same(reflect.DeepEqual(found, expected)), engine.Close()
	},
	"engine.translate": func(w *world, a []string) (string, error) {
		found := need(w.engine(false, nil).Translate(background, Request{Text: a[0]}))
		expected := need(w.decoder.Translate(background, []string{a[0]}, nil))
		return same(reflect.DeepEqual(found, expected[0])), nil
	},
	"engine.cancelled": func(w *world, a []string) (string, error) {
		engine := w.engine(true, nil)
		id, events := w.submit(engine, Request{Text: "one"})
		need(engine.Cancel(id))
		w.run(engine)
		return "", last(w.T, events).Result.Err
	},
	"engine.closed": func(w *world, a []string) (string, error) {
		engine := w.engine(false, nil)
		w.must(engine.Close())
		w.must(engine.Close())
		return fails(engine.Translate(background, Request{Text: "one"}))
	},
	"engine.priority": func(w *world, a []string) (string, error) {
		_, _, err := w.engine(false, nil).Submit(background, Request{Text: "one", Priority: int(number(a[0]))})
		return "", err
	},
	"cancel.before": func(w *world, a []string) (string, error) {
		call := w.cancellable()[a[0]]
		ctx, cancel := context.WithCancel(background)
		cancel()
		err := call(ctx)
		if again := call(background); again != io.EOF {
			w.must(again)
		}
		return "", err
	},
	"cancel.many": func(w *world, a []string) (string, error) {
		cancelled := 0
		for i := int64(0); i < number(a[0]); i++ {
			ctx, cancel := context.WithCancel(background)
			cancel()
			if _, err := w.decoder.Translate(ctx, sources(), nil); errors.Is(err, ErrCancelled) {
				cancelled++
			}
			w.usable()
		}
		return fmt.Sprint(cancelled), nil
	},
	"cancel.during": func(w *world, a []string) (string, error) {
		ctx, cancel := context.WithCancel(background)
		ended, left := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(left)
			for {
				select {
				case <-ended:
					return
				case <-time.After(20 * time.Millisecond):
				}
				if a[0] == "flag" {
					cancel()
				} else if err := w.context.Cancel(); err != nil {
					w.Error(err)
				}
			}
		}()
		_, err := w.decoder.Translate(ctx, slowTexts, &slowParams)
		close(ended)
		<-left
		cancel()
		w.usable()
		return "", err
	},
	"cancel.within": func(w *world, a []string) (string, error) {
		ctx, cancel := context.WithCancel(background)
		defer cancel()
		params := slowParams
		if a[0] == "constraint" {
			params.Constraint = func([]Partial, int) error { cancel(); return nil }
		} else {
			ctx = WithProgress(ctx, func(string, int64, int64) error { cancel(); return nil })
		}
		_, err := w.decoder.Translate(ctx, slowTexts, &params)
		return "", err
	},
	"cancel.training": func(w *world, a []string) (string, error) {
		ctx, cancel := context.WithCancel(background)
		err := w.trainer.Train(ctx, w.batcher, 1000, func(stats StepStats) error {
			if stats.Step == 3 {
				cancel()
			}
			return nil
		})
		if w.trainer.Steps() != 3 {
			w.Errorf("%d steps, expected 3", w.trainer.Steps())
		}
		return "", err
	},
	"deadline": func(w *world, a []string) (string, error) {
		ctx, cancel := context.WithTimeout(background, 50*time.Millisecond)
		defer cancel()
		if a[0] == "score" {
			sentences := make([][]int32, 20000)
			for i := range sentences {
				sentences[i] = []int32{5, 6, 7, 1}
			}
			batch := need(NewBatch(sentences, sentences))
			soon, cancel := context.WithTimeout(background, time.Millisecond)
			defer cancel()
			_, err := w.decoder.Score(soon, batch)
			return "", err
		}
		late, err := statusesOf(w.decoder.Translate(ctx, slowTexts, &slowParams))
		return map[bool]string{true: "late"}[strings.Contains(late, "DEADLINE")], err
	},
	"progress": func(w *world, a []string) (string, error) {
		reported := ""
		_, err := w.decoder.Translate(WithProgress(background, func(task string, done, total int64) error {
			if reported = task; done < 0 || done > total {
				w.Errorf("%s: %d of %d", task, done, total)
			}
			return errWithin
		}), slowTexts, &slowParams)
		if !errors.Is(err, errWithin) || !errors.Is(err, ErrCallback) {
			return "", err
		}
		return reported, nil
	},
	"callback.fails": func(w *world, a []string) (string, error) {
		ctx, params, decoder := background, slowParams, w.decoder
		switch a[0] {
		case "progress":
			ctx = WithProgress(ctx, func(string, int64, int64) error { return errWithin })
		case "constraint":
			params.Constraint = func([]Partial, int) error { return errWithin }
		case "log":
			own := newWorld(w.T, WithLog(LogWarning, func(LogLevel, string, string) { panic(errWithin) }))
			_, err := own.textCorpus("some text", badLines, nil)
			return "", err
		}
		_, err := decoder.Translate(ctx, slowTexts, &params)
		w.usable()
		return "", err
	},
	"log": func(w *world, a []string) (string, error) {
		lines := 0
		level := map[string]LogLevel{"warning": LogWarning, "error": LogError}[a[0]]
		_, err := newWorld(w.T, WithLog(level, func(_ LogLevel, _, message string) {
			if strings.Contains(message, "some text:2") {
				lines++
			}
		})).textCorpus("some text", badLines, nil)
		return fmt.Sprint(lines, " lines"), err
	},
	"threads": func(w *world, a []string) (string, error) {
		expected := need(w.decoder.Translate(background, sources(), nil))
		var group sync.WaitGroup
		results := make([]bool, number(a[0]))
		for i := range results {
			group.Add(1)
			go func(result *bool) {
				defer group.Done()
				decoder, err := w.model.NewDecoder(w.config)
				*result = err == nil
				for k := 0; k < 5 && *result; k++ {
					found, err := decoder.Translate(background, sources(), nil)
					*result = err == nil && reflect.DeepEqual(found, expected)
				}
			}(&results[i])
		}
		group.Wait()
		for _, result := range results {
			if !result {
				return "different", nil
			}
		}
		return "equal", nil
	},
	"busy": func(w *world, a []string) (string, error) {
		begun, end, left := make(chan struct{}), make(chan struct{}), make(chan error)
		var once sync.Once
		go func() {
			_, err := w.decoder.Translate(background, []string{"one"}, &Params{Constraint: func([]Partial, int) error {
				once.Do(func() { close(begun) })
				<-end
				return nil
			}})
			left <- err
		}()
		<-begun
		_, err := w.decoder.Translate(background, []string{"one"}, nil)
		close(end)
		w.must(<-left)
		return "", err
	},
	"closed": func(w *world, a []string) (string, error) {
		thing := map[string]closer{"config": w.config, "context": w.context, "corpus": w.corpus, "batcher": w.batcher,
			"tokenizer": w.tokenizer, "model": w.model, "trainer": w.trainer, "decoder": w.decoder}[a[0]]
		w.must(thing.Close())
		w.must(thing.Close())
		return "", map[string]func() error{
			"config":    func() error { _, err := w.config.Get("model.d_model"); return err },
			"context":   func() error { _, err := w.context.Memory(); return err },
			"corpus":    func() error { _, err := w.corpus.Pair(0); return err },
			"tokenizer": func() error { _, err := w.tokenizer.Encode("one"); return err },
			"batcher":   func() error { _, err := w.batcher.Next(background); return err },
			"model":     func() error { return w.model.Save(background, w.file("file"), nil) },
			"trainer":   func() error { _, err := w.trainer.Step(background, onePair("5 1", "6 1")); return err },
			"decoder":   func() error { _, err := w.decoder.Translate(background, sources(), nil); return err },
		}[a[0]]()
	},
	"closed.creators": func(w *world, a []string) (string, error) {
		batch := w.batch()
		for _, object := range []closer{w.config, w.context, w.corpus, w.tokenizer, w.model} {
			w.must(object.Close())
		}
		need(w.trainer.Step(background, batch))
		w.batch()
		w.usable()
		return "usable", nil
	},
	"closed.last": func(w *world, a []string) (string, error) {
		objects := w.objects()
		last := number(a[0])
		for _, object := range append(objects[last:], objects[:last]...) {
			w.must(object.Close())
		}
		return "closed", nil
	},
	"borrowed.ends": func(w *world, a []string) (string, error) {
		tokenizer := need(w.model.Tokenizer())
		w.must(w.model.Close())
		return fails(tokenizer.Encode("one"))
	},
}

// found0 returns the first result, or an empty one.
func found0(results []Result) Result {
	if len(results) == 0 {
		return Result{}
	}
	return results[0]
}

// perform returns status and value or message of an operation.
func perform(w *world, operation func(*world, []string) (string, error), a []string) (status, found string) {
	defer func() {
		if err, ok := recover().(error); ok {
			status, found = shortName(err), longName(err)
		}
	}()
	value, err := operation(w, a)
	if err != nil {
		return shortName(err), longName(err)
	}
	return "OK", value
}

func TestContracts(t *testing.T) {
	table, err := os.ReadFile("../contracts.tsv")
	must(t, err)
	used := map[string]bool{}
	for _, line := range strings.Split(strings.TrimSuffix(string(table), "\n"), "\n") {
		row := append(strings.Split(line, "\t"), "", "", "", "")
		if line[0] == '#' || row[0] == "operation" || strings.Contains(row[4], "go: ") {
			continue
		}
		used[row[0]] = true
		t.Run(row[0]+" "+row[1], func(t *testing.T) {
			operation, ok := operations[row[0]]
			if !ok {
				t.Fatal("the operation is unknown")
			}
			var a []string
			for _, argument := range strings.Split(row[1], "|") {
				a = append(a, unescaped(argument))
			}
			status, found := perform(newWorld(t), operation, a)
			expected := unescaped(row[3])
			fits := status == row[2] && (status != "OK" || found == expected)
			for _, part := range strings.Split(expected, " & ") {
				fits = fits && strings.Contains(found, part)
			}
			if !fits {
				t.Errorf("%s %q, expected %s %q", status, found, row[2], expected)
			}
		})
	}
	for name := range operations {
		if !used[name] {
			t.Errorf("no row has the operation %s", name)
		}
	}
}
