// From text to a trained model, a file, translations, and scores.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

import (
	"context"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

func best(results []Result) (texts []string) {
	for _, all := range results {
		texts = append(texts, all.Best().Text)
	}
	return texts
}

func TestBeamScoresAndEvaluationAgree(t *testing.T) {
	w := newWorld(t)
	w.train(100)
	decoder, err := w.model.NewDecoder(with(Options{"decode.beam": 5, "decode.n_best": 3, "decode.alpha": 0.6}))
	w.must(err)
	results, err := decoder.Translate(background, append(sources(), ""), nil)
	w.must(err)
	if last := results[len(testPairs)].Hypotheses; len(last) != 1 || last[0].Text != "" || last[0].Score != 0 {
		t.Errorf("an empty text has the hypotheses %+v", last)
	}
	var from, to [][]int32
	var logs []float64
	for i, result := range results[:len(testPairs)] {
		w.must(result.Err)
		all := result.Hypotheses
		if len(all) != 3 || all[0].Score < all[1].Score || all[1].Score < all[2].Score {
			t.Errorf("%+v, expected three hypotheses, best first", all)
		}
		for _, h := range all {
			length := float64(len(h.IDs))
			if h.Finished {
				length++
			}
			sum := 0.0
			for _, log := range h.TokenLogProbabilities {
				sum += float64(log)
			}
			if float64(len(h.TokenLogProbabilities)) != length || math.Abs(sum-h.LogProbability) > 1e-4 || !h.Complete {
				t.Errorf("%+v", h)
			}
			if score := h.LogProbability / math.Pow((5+length)/6, 0.6); math.Abs(score-h.Score) > 1e-5 {
				t.Errorf("%+v has the score %v", h, score)
			}
			if text, err := w.tokenizer.Decode(h.IDs); text != h.Text || err != nil {
				t.Errorf("%q, %v, expected %q", text, err, h.Text)
			}
		}
		if all[0].Finished {
			tokens, err := w.tokenizer.Encode(testPairs[i].Source)
			w.must(err)
			from = append(from, append(tokens, tokenEnd))
			to = append(to, append(append([]int32(nil), all[0].IDs...), tokenEnd))
			logs = append(logs, all[0].LogProbability)
		}
	}
	if len(logs) == 0 {
		t.Fatal("no hypothesis is finished")
	}
	batch, err := NewBatch(from, to)
	w.must(err)
	scores, err := decoder.Score(background, batch)
	w.must(err)
	sum := 0.0
	for i, score := range scores {
		if sum += score; math.Abs(score-logs[i]) > 1e-4 {
			t.Errorf("%d: score %v, expected %v", i, score, logs[i])
		}
	}
	corpus, err := w.context.NewCorpusFromIDs(background, batch)
	w.must(err)
	batcher, err := corpus.NewBatcher(background, nil, w.config)
	w.must(err)
	stats, err := decoder.Evaluate(background, batcher)
	w.must(err)
	if stats.Sentences != int64(len(logs)) || math.Abs(stats.NLL+sum/float64(stats.TgtTokens)) > 1e-9 ||
		math.Abs(stats.Perplexity-math.Exp(stats.NLL)) > 1e-9 || stats.Loss <= 0 {
		t.Errorf("%+v, scores %v", stats, scores)
	}
}

func TestAccumulateAndUpdateEqualStep(t *testing.T) {
	w, other := newWorld(t), newWorld(t)
	batches := []Batch{w.batch(), w.batch(), w.batch()}
	whole, err := other.trainer.Step(background, batches...)
	w.must(err)
	for _, batch := range batches {
		stats, err := w.trainer.Accumulate(background, batch)
		if w.must(err); stats.Sentences != int64(batch.Len()) || stats.Step != 0 {
			t.Errorf("%+v", stats)
		}
	}
	norm := 0.0
	for _, info := range w.model.Tensors() {
		gradient, err := w.trainer.ReadGradient(info.Name)
		w.must(err)
		for _, x := range gradient {
			norm += float64(x) * float64(x)
		}
	}
	stats, err := w.trainer.Update()
	if w.must(err); stats != whole || w.trainer.Steps() != 1 {
		t.Errorf("%+v, expected %+v", stats, whole)
	}
	if math.Abs(math.Sqrt(norm)-whole.GradientNorm) > 1e-4*whole.GradientNorm {
		t.Errorf("the gradients have the norm %v, expected %v", math.Sqrt(norm), whole.GradientNorm)
	}
	_, err = w.trainer.Update()
	refused(t, ErrState, err)
}

func TestErrorOfReportStopsTraining(t *testing.T) {
	w := newWorld(t)
	stop := errors.New("enough")
	err := w.trainer.Train(background, w.batcher, 100, func(s StepStats) error {
		if s.Step == 3 {
			return stop
		}
		return nil
	})
	if err != stop || w.trainer.Steps() != 3 {
		t.Errorf("%v after %d steps", err, w.trainer.Steps())
	}
	w.must(w.trainer.Train(background, w.batcher, 1, nil))
}

func TestSkippedStepsAndTheMovingAverage(t *testing.T) {
	w := newWorld(t)
	_, err := w.trainer.CopyAverage(background)
	refused(t, ErrState, err)
	trainer, err := w.model.NewTrainer(with(Options{"train.ema": 0.5, "train.on_nonfinite": "skip"}))
	w.must(err)
	w.must(trainer.Train(background, w.batcher, 2, nil))
	mean, err := trainer.CopyAverage(background)
	w.must(err)
	if size := mean.Tensors(); !reflect.DeepEqual(size, w.model.Tensors()) {
		t.Errorf("%v", size)
	}
	name := w.model.Tensors()[0].Name
	values, err := w.model.ReadTensor(name)
	w.must(err)
	for i := range values {
		values[i] = 3e38
	}
	w.must(w.model.WriteTensor(name, values))
	stats, err := trainer.Step(background, w.batch())
	if w.must(err); stats.Outcome != StepSkipped || trainer.Steps() != 2 {
		t.Errorf("%+v after %d steps", stats, trainer.Steps())
	}
}

func TestParamsOfACall(t *testing.T) {
	w := newWorld(t)
	w.train(100)
	texts := []string{"one two", "\xff", "three four one"}
	results, err := w.decoder.Translate(background, texts, &Params{
		Settings: Options{"decode.beam": 3, "decode.n_best": 2},
		Prefixes: []string{"vier", "", ""},
	})
	w.must(err)
	refused(t, ErrData, results[1].Err)
	if !strings.HasPrefix(results[0].Best().Text, "vier") || len(results[0].Hypotheses) != 2 ||
		results[1].Hypotheses != nil || len(results[2].Hypotheses) != 2 || results[2].Err != nil {
		t.Errorf("%+v", results)
	}
	batch, err := w.model.Batch([]string{"one two", "three"}, nil, nil)
	w.must(err)
	prefix, err := w.tokenizer.Encode("vier")
	w.must(err)
	decoded, err := w.decoder.Decode(background, batch, &Params{PrefixIDs: [][]int32{prefix, nil}})
	w.must(err)
	if ids := decoded[0].Best().IDs; len(ids) < len(prefix) || !reflect.DeepEqual(ids[:len(prefix)], prefix) {
		t.Errorf("%v does not begin with %v", ids, prefix)
	}
	plain, err := w.decoder.Decode(background, batch, nil)
	if w.must(err); !reflect.DeepEqual(plain[1], decoded[1]) || len(plain[0].Hypotheses) != 1 {
		t.Errorf("%+v, expected %+v", plain, decoded)
	}

	slowDecoder, many := slow(t, w.context)
	ctx, cancel := context.WithTimeout(background, 30*time.Millisecond)
	defer cancel()
	late, err := slowDecoder.Decode(ctx, many, nil)
	w.must(err)
	if failed := refused(t, ErrDeadline, late[many.Len()-1].Err); !errors.Is(failed, context.DeadlineExceeded) {
		t.Error(failed)
	}
	for _, all := range late {
		if all.Err == nil && !all.Best().Complete || errors.Is(all.Err, ErrDeadline) {
			continue
		}
		if all.Err != nil || !all.Best().Finished {
			t.Errorf("%+v", all)
		}
	}
}
