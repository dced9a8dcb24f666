// From text to a trained model, a file, translations, and scores.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

import (
	"context"
	"errors"
	"io"
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

func TestTrainSaveLoadTranslateEvaluate(t *testing.T) {
	w := newWorld(t)
	stats := w.train(150)
	for i, s := range stats {
		if s.Step != int64(i)+1 || s.Sentences < 1 || s.TgtTokens < 1 || s.LearningRate <= 0 || s.GradientNorm <= 0 {
			t.Fatalf("step %d: %+v", i, s)
		}
	}
	if first, last := stats[0], stats[149]; last.NLL > first.NLL/2 || last.Loss > first.Loss {
		t.Errorf("from %+v to %+v: the loss did not decrease", first, last)
	}
	if w.trainer.Steps() != 150 {
		t.Errorf("%d steps, expected 150", w.trainer.Steps())
	}
	w.must(w.model.Save(background, w.file("model.xf"), nil))
	w.must(w.trainer.Save(background, w.file("run.ckpt"), w.batcher))
	expected, err := w.decoder.Translate(background, sources(), nil)
	w.must(err)
	for _, name := range []string{"model.xf", "run.ckpt"} {
		model, err := w.context.LoadModel(background, w.file(name), nil)
		w.must(err)
		decoder, err := model.NewDecoder(w.config)
		w.must(err)
		w.must(model.Close())
		found, err := decoder.Translate(background, sources(), nil)
		w.must(err)
		if !reflect.DeepEqual(found, expected) {
			t.Errorf("%s: %v, expected %v", name, found, expected)
		}
		w.must(decoder.Close())
	}
	score, err := BLEU(best(expected), targets(), BLEU13a)
	w.must(err)
	words := int64(len(strings.Fields(strings.Join(targets(), " "))))
	if score.Score < 30 || score.Score > 100 || score.BrevityPenalty <= 0 || score.Precisions[0] <= 0 ||
		score.ReferenceLength != words || !strings.Contains(score.Signature, "tok:13a") {
		t.Errorf("%+v", score)
	}
	chrf, err := ChrF(best(expected), targets())
	w.must(err)
	if chrf.Score < 30 || chrf.Score > 100 || !strings.Contains(chrf.Signature, "nc:6") {
		t.Errorf("%+v", chrf)
	}
	for _, tokenize := range []BLEUTokenize{BLEU13a, BLEUNone, BLEUSplitHyphens} {
		same, err := BLEU(targets(), targets(), tokenize)
		if w.must(err); math.Abs(same.Score-100) > 1e-6 {
			t.Errorf("BLEU of a text with itself is %v", same.Score)
		}
	}
}

func TestResumedRunHasTheSameBits(t *testing.T) {
	w := newWorld(t)
	w.train(5)
	w.must(w.trainer.Save(background, w.file("run.ckpt"), w.batcher))
	saved, err := w.batcher.Stats()
	w.must(err)
	expected := w.train(7)

	trainer, err := w.context.ResumeTrainer(background, w.file("run.ckpt"), nil)
	w.must(err)
	config, err := trainer.Config()
	w.must(err)
	if rate, err := config.Float("train.learning_rate"); rate != 0.01 || err != nil || trainer.Steps() != 5 {
		t.Errorf("learning rate %v (%v) after %d steps", rate, err, trainer.Steps())
	}
	model, err := trainer.Model()
	w.must(err)
	tokenizer, err := model.Tokenizer()
	w.must(err)
	batcher, err := w.corpus.NewBatcher(background, tokenizer, w.config)
	w.must(err)
	w.must(batcher.Resume(background, trainer))
	stats, err := batcher.Stats()
	if w.must(err); stats != saved || stats.Epoch+stats.Batch == 0 {
		t.Errorf("%+v, expected %+v", stats, saved)
	}
	var found []StepStats
	w.must(trainer.Train(background, batcher, 7, func(s StepStats) error {
		found = append(found, s)
		return nil
	}))
	if !reflect.DeepEqual(found, expected) {
		t.Errorf("%+v, expected %+v", found, expected)
	}

	decoder, err := model.NewDecoder(w.config)
	w.must(err)
	w.must(trainer.Close())
	_, encoding := tokenizer.Encode("a")
	for _, err := range []error{model.Save(background, w.file("late.xf"), nil), encoding} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%v, expected ErrClosed: the trainer owns the model", err)
		}
	}
	results, err := decoder.Translate(background, sources(), nil)
	w.must(err)
	others, err := w.decoder.Translate(background, sources(), nil)
	if w.must(err); !reflect.DeepEqual(results, others) {
		t.Errorf("%v, expected %v", results, others)
	}
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

func TestIdsAndTextsAgree(t *testing.T) {
	w := newWorld(t)
	w.train(20)
	whole, err := w.decoder.Translate(background, sources(), nil)
	w.must(err)
	batch, err := w.model.Batch(sources(), nil, nil)
	w.must(err)
	decoded, err := w.decoder.Decode(background, batch, nil)
	if w.must(err); !reflect.DeepEqual(decoded, whole) {
		t.Errorf("%v, expected %v", decoded, whole)
	}
	for i, source := range sources() {
		one, err := w.decoder.Translate(background, []string{source}, nil)
		if w.must(err); !reflect.DeepEqual(one[0], whole[i]) {
			t.Errorf("%v, expected %v", one[0], whole[i])
		}
	}
	if none, err := w.decoder.Translate(background, nil, nil); len(none) != 0 || err != nil {
		t.Errorf("%v, %v", none, err)
	}
	if none, err := w.decoder.Decode(background, Batch{}, nil); len(none) != 0 || err != nil {
		t.Errorf("%v, %v", none, err)
	}
}

func TestScoreTexts(t *testing.T) {
	w := newWorld(t)
	w.train(20)
	batch, err := w.model.Batch(sources(), targets(), nil)
	w.must(err)
	expected, err := w.decoder.Score(background, batch)
	w.must(err)
	scores, err := w.decoder.ScoreTexts(background, append([]Pair{{"one", "\xff"}}, testPairs...))
	w.must(err)
	if refused(t, ErrData, scores[0].Err); !math.IsNaN(scores[0].LogProbability) {
		t.Errorf("%+v", scores[0])
	}
	for i, score := range scores[1:] {
		if score.Err != nil || score.LogProbability != expected[i] {
			t.Errorf("%d: %+v, expected %v", i, score, expected[i])
		}
	}
	if none, err := w.decoder.ScoreTexts(background, nil); len(none) != 0 || err != nil {
		t.Errorf("%v, %v", none, err)
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

func TestNextAndBatcher(t *testing.T) {
	w := newWorld(t)
	w.train(1)
	before, err := w.batcher.Stats()
	w.must(err)
	values, err := w.model.ReadTensor(w.model.Tensors()[0].Name)
	w.must(err)
	broken := append([]float32(nil), values...)
	for i := range broken {
		broken[i] = 3e38
	}
	w.must(w.model.WriteTensor(w.model.Tensors()[0].Name, broken))
	_, err = w.trainer.Next(background, w.batcher)
	refused(t, ErrNonfinite, err)
	if after, err := w.batcher.Stats(); after != before || err != nil {
		t.Errorf("%+v, %v, expected %+v", after, err, before)
	}
	w.must(w.model.WriteTensor(w.model.Tensors()[0].Name, values))
	steps := int64(1)
	for ; err != io.EOF; steps++ {
		var stats StepStats
		if stats, err = w.trainer.Next(background, w.batcher); err != nil && err != io.EOF {
			t.Fatal(err)
		}
		if err == nil && (stats.Step != steps+1 || stats.Outcome != StepUpdated) {
			t.Errorf("%+v", stats)
		}
	}
	if after, err := w.batcher.Stats(); after.Epoch != 1 || steps-1 != before.Batches || err != nil {
		t.Errorf("%+v, %v after %d steps, expected the next epoch after %d", after, err, steps-1, before.Batches)
	}
	_, err = w.trainer.Next(background, nil)
	refused(t, ErrInvalidArgument, err)

	w.must(w.batcher.SeekTo(background, 1, 1))
	all, err := w.decoder.Evaluate(background, w.batcher)
	if w.must(err); all.Sentences != int64(len(testPairs)) || all.NLL <= 0 {
		t.Errorf("%+v", all)
	}
	if after, err := w.batcher.Stats(); after.Epoch != 1 || after.Batch != 1 || err != nil {
		t.Errorf("%+v, %v, expected epoch 1, batch 1", after, err)
	}
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
	w.must(trainer.Save(background, w.file("run.ckpt"), w.batcher))
	resumed, err := w.context.ResumeTrainer(background, w.file("run.ckpt"), Options{"train.learning_rate": 0.25})
	w.must(err)
	config, err := resumed.Config()
	w.must(err)
	if rate, err := config.Float("train.learning_rate"); rate != 0.25 || err != nil {
		t.Errorf("learning rate %v, %v", rate, err)
	}
	again, err := resumed.CopyAverage(background)
	w.must(err)
	w.same(again, mean, 0)
	_, err = w.context.ResumeTrainer(background, w.file("run.ckpt"), Options{"train.seed": 99})
	refused(t, ErrState, err)

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
