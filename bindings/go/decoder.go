// Translation, scoring, and evaluation.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

// #include "shim.h"
import "C"

import (
	"context"
	"fmt"
)

// Hypothesis is one translation of a sentence.
type Hypothesis struct {
	// Text is the translation; "" if the model has no tokenizer.
	Text string
	// IDs are its tokens without start and end symbol, including a prefix and the model's first token.
	IDs []int32
	// TokenLogProbabilities are the natural logarithms of the probability of each token. If Finished, the last one is
	// that of the end symbol. LogProbability is their sum.
	TokenLogProbabilities []float32
	LogProbability        float64
	// Alignment has the index of the source token to which each token is aligned, -1: none, and TextEnds the size of the
	// text of the tokens up to each one in bytes. Both are empty without "decode.alignment".
	Alignment []int32
	TextEnds  []int
	// Score is LogProbability divided by the length penalty.
	Score float64
	// Finished reports whether the hypothesis ended with the end symbol; false: a limit cut it off.
	Finished bool
	// Complete reports whether the search was completed; false: the deadline ended it.
	Complete bool
}

// Result contains the hypotheses of one sentence.
type Result struct {
	// Hypotheses are 1 to "decode.n_best" hypotheses, best first.
	Hypotheses []Hypothesis
	// Err is the reason if there are none: ErrData (invalid UTF-8), ErrOutOfRange (too long, or an invalid id),
	// ErrDeadline (not begun in time).
	Err error
	// SourceEnds are the offsets in the text where its tokens end, in bytes; empty without "decode.alignment" and for a
	// source of ids.
	SourceEnds []int
}

// Best returns the best hypothesis, or an empty one if there is none.
func (r Result) Best() Hypothesis {
	if len(r.Hypotheses) == 0 {
		return Hypothesis{}
	}
	return r.Hypotheses[0]
}

// Decoder translates, scores, and evaluates with a model. It does not copy the parameters, so any number of decoders
// may share one model. Only one goroutine at a time may use a decoder.
type Decoder struct {
	object
}

func (d *Decoder) in(c *call) *C.xf_decoder {
	return (*C.xf_decoder)(c.hold(d.h))
}

// A ModelOption is an optional argument of NewDecoder, NewEngine, and SetModel: further models that decode together with
// the first one. They have the same Context, tokenizer, vocabulary, and special tokens, and may be closed afterwards.
type ModelOption func(*models)

type models struct {
	ensemble []*Model
	draft    *Model
}

// WithEnsemble sets the other models of an ensemble, at most 7. The log-probability of a token is the mean of those of
// all models.
func WithEnsemble(others ...*Model) ModelOption {
	return func(m *models) { m.ensemble = others }
}

// WithDraft sets a smaller model that proposes tokens in greedy search ("decode.beam" 1); nil: none. It affects only the
// speed. Not with an ensemble.
func WithDraft(draft *Model) ModelOption {
	return func(m *models) { m.draft = draft }
}

// models converts further models.
func (c *call) models(options []ModelOption) *C.xf_decode_models {
	var more models
	for _, option := range options {
		option(&more)
	}
	ensemble := newArray[*C.xf_model](c, len(more.ensemble))
	for i, model := range more.ensemble {
		ensemble[i] = model.in(c)
	}
	given := first(newArray[C.xf_decode_models](c, 1))
	*given = C.xf_decode_models{struct_size: C.sizeof_xf_decode_models, ensemble: first(ensemble),
		ensemble_count: C.size_t(len(ensemble)), draft: more.draft.in(c)}
	return given
}

// NewDecoder creates a decoder. It reads the options of the groups "decode." and "text."; for Evaluate also
// "train.label_smoothing" and "train.label_smoothing_kind". ErrInvalidArgument: also models that cannot decode together,
// or an ensemble with a draft.
func (m *Model) NewDecoder(settings Settings, more ...ModelOption) (*Decoder, error) {
	wrap := func(h *handle) *Decoder { return &Decoder{object{h}} }
	return create(context.Background(), m.h, kindDecoder, wrap, func(c *call, p **C.xf_decoder) status {
		return C.xf_decoder_create(m.in(c), c.models(more), c.config(settings), p, &c.err)
	})
}

// Translate translates texts and returns their results in the same order. White space around a text is ignored. A text
// without any token has one empty hypothesis with score 0. A text that cannot be translated does not fail the call; see
// Result.Err. params may be nil.
//
// When the deadline of ctx passes, each running search ends with its best hypothesis so far (Complete is false), and
// sentences that were not begun have the error ErrDeadline. The call itself then succeeds.
func (d *Decoder) Translate(ctx context.Context, texts []string, params *Params) ([]Result, error) {
	return d.results(ctx, func(c *call, p **C.xf_hypotheses) status {
		given, lengths := c.texts(texts)
		return C.xf_translate(d.in(c), given, lengths, C.size_t(len(texts)), c.params(params, len(texts)), c.xf, p, &c.err)
	})
}

// TranslateTexts returns the best translation of each text, or the error of the first text that has none.
func (d *Decoder) TranslateTexts(ctx context.Context, texts []string) ([]string, error) {
	results, err := d.Translate(ctx, texts, nil)
	if err != nil {
		return nil, err
	}
	found := make([]string, len(results))
	for i, result := range results {
		if failed, ok := result.Err.(*Error); ok {
			return nil, &Error{failed.Status, failed.NativeCode, fmt.Sprintf("text %d: %s", i, failed.Message), failed.cause}
		}
		found[i] = result.Best().Text
	}
	return found, nil
}

// Decode decodes the sources of a batch of any size, as Translate does for texts.
func (d *Decoder) Decode(ctx context.Context, batch Batch, params *Params) ([]Result, error) {
	return d.results(ctx, func(c *call, p **C.xf_hypotheses) status {
		return C.xf_decode(d.in(c), c.batches(batch), c.params(params, batch.Len()), c.xf, p, &c.err)
	})
}

func (d *Decoder) results(ctx context.Context, f func(c *call, p **C.xf_hypotheses) status) (all []Result, err error) {
	err = doLong(ctx, func(c *call) status {
		var p *C.xf_hypotheses
		found := f(c, &p)
		if found == C.XF_OK {
			defer C.xf_hypotheses_free(p)
			all = make([]Result, C.xf_hypotheses_sentence_count(p))
			for i := range all {
				all[i] = readResult(p, C.size_t(i))
			}
		}
		return found
	})
	return all, err
}

// readResult copies the hypotheses of a sentence.
func readResult(p *C.xf_hypotheses, sentence C.size_t) (r Result) {
	var e C.xf_error
	info := C.xf_sentence_info{struct_size: C.sizeof_xf_sentence_info}
	if r.Err = check(C.xf_hypotheses_get_sentence(p, sentence, &info, &e), &e); r.Err == nil && info.status < 0 {
		r.Err = statusError(Status(info.status), C.GoString(info.message))
	}
	for i := C.size_t(0); i < info.hypothesis_count && r.Err == nil; i++ {
		h := C.xf_hypothesis{struct_size: C.sizeof_xf_hypothesis}
		r.Err = check(C.xf_hypotheses_get(p, sentence, i, &h, &e), &e)
		r.Hypotheses = append(r.Hypotheses, Hypothesis{text(h.text, h.text_length), copied[int32](h.ids, int(h.id_count)),
			copied[float32](h.token_log_probabilities, int(h.id_count)+int(h.finished)), float64(h.log_probability),
			copied[int32](h.alignment, int(h.id_count)), copied[int](h.text_ends, int(h.id_count)), float64(h.score),
			h.finished != 0, h.complete != 0})
	}
	r.SourceEnds = copied[int](info.source_ends, int(info.source_token_count))
	return r
}

// statusError returns the error of one sentence.
func statusError(status Status, message string) *Error {
	failed := newError(status, 0, message)
	if status == ErrDeadline {
		failed.cause = context.DeadlineExceeded
	}
	return failed
}

// Score returns the natural logarithm of the probability of each target of a batch given its source, including the end
// symbol.
func (d *Decoder) Score(ctx context.Context, batch Batch) ([]float64, error) {
	scores := make([]float64, batch.Len()+1) // the library requires an address, also for an empty batch
	err := doLong(ctx, func(c *call) status {
		return C.xf_score(d.in(c), c.batches(batch), c.xf, as[C.double](scores), &c.err)
	})
	if err != nil {
		return nil, err
	}
	return scores[:batch.Len()], nil
}

// TextScore is the score of one pair of texts.
type TextScore struct {
	// LogProbability is the natural logarithm of the probability of the target given the source, including the end
	// symbol; NaN if the pair was not scored.
	LogProbability float64
	// Err is the reason if the pair was not scored: ErrData (invalid UTF-8), ErrOutOfRange (too long).
	Err error
}

// ScoreTexts scores given translations. A pair that cannot be scored does not fail the call; see TextScore.Err.
func (d *Decoder) ScoreTexts(ctx context.Context, pairs []Pair) ([]TextScore, error) {
	scores, statuses := make([]C.double, len(pairs)+1), make([]C.xf_status, len(pairs)+1)
	err := doLong(ctx, func(c *call) status {
		sources, sourceLengths, targets, targetLengths := c.pairs(pairs)
		return C.xf_score_texts(d.in(c), sources, sourceLengths, targets, targetLengths, C.size_t(len(pairs)), c.xf,
			first(scores), first(statuses), &c.err)
	})
	if err != nil {
		return nil, err
	}
	all := make([]TextScore, len(pairs))
	for i := range all {
		all[i].LogProbability = float64(scores[i])
		if found := Status(statuses[i]); found < 0 {
			all[i].Err = statusError(found, fmt.Sprintf("pair %d cannot be scored: %v", i, found))
		}
	}
	return all, nil
}

// EvalStats is the quality of a model on held-out pairs, without dropout.
type EvalStats struct {
	// Sentences is the number of pairs. TgtTokens is the number of target tokens, including end symbols.
	Sentences, TgtTokens int64
	// Loss is the cross-entropy with label smoothing, NLL without, in nats per target token.
	Loss, NLL float64
	// Perplexity is exp(NLL).
	Perplexity float64
}

// Evaluate measures loss and perplexity on all pairs of a batcher, whose position is unchanged afterwards.
func (d *Decoder) Evaluate(ctx context.Context, batcher *Batcher) (EvalStats, error) {
	s := C.xf_eval_stats{struct_size: C.sizeof_xf_eval_stats}
	err := doLong(ctx, func(c *call) status { return C.xf_evaluate(d.in(c), batcher.in(c), c.xf, &s, &c.err) })
	return EvalStats{int64(s.sentences), int64(s.tgt_tokens), float64(s.loss), float64(s.nll), float64(s.perplexity)}, err
}
