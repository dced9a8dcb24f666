// Text to tokenizer to model to training to file to translation to scores.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
)

func best(answers []Answers) (texts []string) {
	for _, all := range answers {
		texts = append(texts, all[0].Text)
	}
	return texts
}

func TestTrainSaveLoadTranslateMeasure(t *testing.T) {
	w := newWorld(t)
	stats := w.train(150)
	for i, s := range stats {
		if s.Step != int64(i)+1 || s.Sentences < 1 || s.TgtTokens < 1 || s.LearningRate <= 0 || s.GradientNorm <= 0 {
			t.Fatalf("step %d: %+v", i, s)
		}
	}
	if first, last := stats[0], stats[149]; last.NLL > first.NLL/2 || last.Loss > first.Loss {
		t.Errorf("from %+v to %+v: it learnt nothing", first, last)
	}
	if w.trainer.Steps() != 150 {
		t.Errorf("%d steps, expected 150", w.trainer.Steps())
	}
	w.must(w.model.Save(w.path("model.xf")))
	w.must(w.trainer.Save(w.path("run.ckpt"), w.batcher))
	expected, err := w.decoder.Translate(background, sources())
	w.must(err)
	for _, name := range []string{"model.xf", "run.ckpt"} {
		model, err := w.context.LoadModel(w.path(name))
		w.must(err)
		decoder, err := model.NewDecoder(w.config)
		w.must(err)
		w.must(model.Close())
		found, err := decoder.Translate(background, sources())
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
	if chrf < 30 || chrf > 100 {
		t.Errorf("chrF %v", chrf)
	}
	for _, tokenize := range []BLEUTokenize{BLEU13a, BLEUNone, BLEUSplitHyphens} {
		same, err := BLEU(targets(), targets(), tokenize)
		if w.must(err); math.Abs(same.Score-100) > 1e-6 {
			t.Errorf("BLEU of a text with itself is %v", same.Score)
		}
	}
}

func TestAResumedRunGoesOnWithTheSameBits(t *testing.T) {
	w := newWorld(t)
	w.train(5)
	w.must(w.trainer.Save(w.path("run.ckpt"), w.batcher))
	expected := w.train(7)

	trainer, err := w.context.ResumeTrainer(w.path("run.ckpt"))
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
	w.must(trainer.Seek(batcher))
	epoch, batch, err := trainer.Position()
	w.must(err)
	stats, err := batcher.Stats()
	if w.must(err); stats.Epoch != epoch || stats.Batch != batch || epoch+batch == 0 {
		t.Errorf("at %d, %d, expected %d, %d", stats.Epoch, stats.Batch, epoch, batch)
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
	for _, err := range []error{model.Save(w.path("late.xf")), encoding} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%v, expected ErrClosed: the model is the trainer's", err)
		}
	}
	answers, err := decoder.Translate(background, sources())
	w.must(err)
	others, err := w.decoder.Translate(background, sources())
	if w.must(err); !reflect.DeepEqual(answers, others) {
		t.Errorf("%v, expected %v", answers, others)
	}
}

func TestAverage(t *testing.T) {
	w := newWorld(t)
	name := w.model.Params()[0].Name
	before, err := w.model.ReadParam(name)
	w.must(err)
	w.must(w.model.Save(w.path("a.xf")))
	raised := append([]float32(nil), before...)
	for i := range raised {
		raised[i]++
	}
	w.must(w.model.WriteParam(name, raised))
	w.must(w.model.Save(w.path("b.xf")))
	mean, err := w.context.AverageModels(background, []string{w.path("a.xf"), w.path("b.xf")})
	w.must(err)
	found, err := mean.ReadParam(name)
	w.must(err)
	for i := range found {
		if math.Abs(float64(found[i]-before[i])-0.5) > 1e-5 {
			t.Fatalf("%d: %v, expected %v and a half", i, found[i], before[i])
		}
	}
}

func TestBeamScoresAndEvaluationAgree(t *testing.T) {
	w := newWorld(t)
	w.train(100)
	decoder, err := w.model.NewDecoder(with(Options{"decode.beam": 5, "decode.n_best": 3, "decode.alpha": 0.6}))
	w.must(err)
	answers, err := decoder.Translate(background, append(sources(), ""))
	w.must(err)
	if last := answers[len(testPairs)]; !reflect.DeepEqual(last, Answers{{Finished: true}}) {
		t.Errorf("an empty text has the answers %+v", last)
	}
	var from, to [][]int32
	var logs []float64
	for i, all := range answers[:len(testPairs)] {
		if len(all) != 3 || all[0].Score < all[1].Score || all[1].Score < all[2].Score {
			t.Errorf("%+v: not three, best first", all)
		}
		for _, h := range all {
			length := float64(len(h.IDs))
			if h.Finished {
				length++
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
			from = append(from, append(tokens, TokenEnd))
			to = append(to, append(append([]int32(nil), all[0].IDs...), TokenEnd))
			logs = append(logs, all[0].LogProbability)
		}
	}
	if len(logs) == 0 {
		t.Fatal("no answer is finished")
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
	stats, err := decoder.Evaluate(background, batch, batch)
	w.must(err)
	if stats.Sentences != 2*int64(len(logs)) || math.Abs(stats.NLL+2*sum/float64(stats.TgtTokens)) > 1e-9 ||
		math.Abs(stats.Perplexity-math.Exp(stats.NLL)) > 1e-9 || stats.Loss <= 0 {
		t.Errorf("%+v, scores %v", stats, scores)
	}
}

func TestIdsAndTextsAgree(t *testing.T) {
	w := newWorld(t)
	w.train(20)
	whole, err := w.decoder.Translate(background, sources())
	w.must(err)
	batch, err := w.tokenizer.Batch(sources(), nil)
	w.must(err)
	decoded, err := w.decoder.Decode(background, batch)
	if w.must(err); !reflect.DeepEqual(decoded, whole) {
		t.Errorf("%v, expected %v", decoded, whole)
	}
	for i, source := range sources() {
		one, err := w.decoder.Translate(background, []string{source})
		if w.must(err); !reflect.DeepEqual(one[0], whole[i]) {
			t.Errorf("%v, expected %v", one[0], whole[i])
		}
	}
	if none, err := w.decoder.Translate(background, nil); len(none) != 0 || err != nil {
		t.Errorf("%v, %v", none, err)
	}
	if none, err := w.decoder.Decode(background, Batch{}); len(none) != 0 || err != nil {
		t.Errorf("%v, %v", none, err)
	}
}

func TestTwoHalvesAreAStep(t *testing.T) {
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
	for _, info := range w.model.Params() {
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

func TestAnErrorOfProgressEndsTheTraining(t *testing.T) {
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
