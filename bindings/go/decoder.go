// Translation and scoring.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

/*
#include "shim.h"
*/
import "C"

import (
	"context"
	"unsafe"
)

// Hypothesis is one answer.
type Hypothesis struct {
	// Text is the answer; "" when the model has no tokenizer.
	Text string
	// IDs are its tokens, without start and end symbol.
	IDs []int32
	// LogProbability is the natural logarithm of the probability, the end symbol's included when Finished.
	LogProbability float64
	// Score is LogProbability divided by the length penalty.
	Score float64
	// Finished tells that the end symbol ended it, and not the length limit.
	Finished bool
}

// Answers are the answers to one sentence, best first: 1 to "decode.n_best".
type Answers []Hypothesis

// Decoder is beam search over a model that it shares with others. It is for one goroutine at a time; several make one
// each, for it copies no weights.
type Decoder struct {
	h          *handle
	constraint *constraint
}

func (d *Decoder) ptr() *C.xf_decoder {
	return (*C.xf_decoder)(d.h.pointer())
}

// NewDecoder makes a decoder. It reads the options of the group "decode.", and for Evaluate "train.label_smoothing" and
// "train.label_smoothing_kind".
func (m *Model) NewDecoder(settings Settings) (*Decoder, error) {
	var decoder *Decoder
	err := using(settings, func(config *handle) error {
		return call(func(e *C.xf_error) C.enum_xf_status {
			var p *C.xf_decoder
			status := C.xf_decoder_create(m.ptr(), config.config(), &p, e)
			if status == C.XF_OK {
				asked := new(constraint)
				h := m.context.child(&guard{kind: "decoder"}, func(p unsafe.Pointer) {
					C.xf_decoder_free((*C.xf_decoder)(p))
					asked.set(0)
				})
				decoder = &Decoder{h.open(unsafe.Pointer(p), m.h.guard, m.context.h.guard), asked}
			}
			return status
		}, reading(m.h), reading(config))
	})
	return decoder, err
}

// Close frees the decoder. It may be called again, and always returns nil.
func (d *Decoder) Close() error {
	d.h.close()
	return nil
}

// Translate translates texts: for each, in their order, its answers. A text without a token (an empty line) has one
// empty answer with score 0.
func (d *Decoder) Translate(ctx context.Context, texts []string) ([]Answers, error) {
	given := newStringArray(texts)
	return d.answers(ctx, func(p **C.xf_hypotheses, e *C.xf_error) C.enum_xf_status {
		return C.xfgo_translate(d.ptr(), chars(given.text), first(given.lengths), C.size_t(len(texts)), p, e)
	})
}

// Decode decodes the sources of a batch, as Translate does texts.
func (d *Decoder) Decode(ctx context.Context, batch Batch) ([]Answers, error) {
	flat, err := flatten(batch)
	if err != nil {
		return nil, err
	}
	numbers, shape := flat.c()
	return d.answers(ctx, func(p **C.xf_hypotheses, e *C.xf_error) C.enum_xf_status {
		return C.xfgo_decode(d.ptr(), numbers, shape, p, e)
	})
}

func (d *Decoder) answers(ctx context.Context,
	f func(p **C.xf_hypotheses, e *C.xf_error) C.enum_xf_status) ([]Answers, error) {
	var found []Answers
	var ended *constraintEnd
	err := longRunning(ctx, true, func(e *C.xf_error) C.enum_xf_status {
		var p *C.xf_hypotheses
		d.constraint.ended = nil
		status := f(&p, e)
		if status == C.XF_OK {
			found, status = readAnswers(p, e)
			C.xf_hypotheses_free(p)
		}
		ended = d.constraint.ended
		return status
	}, writing(d.h))
	if err != nil {
		return nil, ended.explain(err)
	}
	return found, nil
}

// readAnswers copies the answers from where C has them.
func readAnswers(p *C.xf_hypotheses, e *C.xf_error) ([]Answers, C.enum_xf_status) {
	all := make([]Answers, C.xf_hypotheses_sentence_count(p))
	h := C.xf_hypothesis{struct_size: C.sizeof_xf_hypothesis}
	for i := range all {
		all[i] = make(Answers, C.xf_hypotheses_answer_count(p, C.size_t(i)))
		for rank := range all[i] {
			if status := C.xf_hypotheses_get(p, C.size_t(i), C.size_t(rank), &h, e); status != C.XF_OK {
				return nil, status
			}
			all[i][rank] = Hypothesis{text(h.text, h.text_length), copied[int32](h.ids, h.length),
				float64(h.log_probability), float64(h.score), h.finished != 0}
		}
	}
	return all, C.XF_OK
}

// Score is the natural logarithm of the probability of each target given its source, end symbol included.
func (d *Decoder) Score(ctx context.Context, batch Batch) ([]float64, error) {
	flat, err := flatten(batch)
	if err != nil {
		return nil, err
	}
	numbers, shape := flat.c()
	scores := make([]float64, batch.Len()+1) // one more: C wants an address for none, too
	err = longRunning(ctx, true, func(e *C.xf_error) C.enum_xf_status {
		return C.xfgo_score(d.ptr(), numbers, shape, (*C.double)(unsafe.Pointer(first(scores))), e)
	}, writing(d.h))
	if err != nil {
		return nil, err
	}
	return scores[:batch.Len()], nil
}

// EvalStats is the quality of a model on held-out pairs, without dropout.
type EvalStats struct {
	// Sentences are pairs; TgtTokens count end symbols.
	Sentences, TgtTokens int64
	// Loss is label-smoothed cross-entropy, NLL un-smoothed, in nats per target token.
	Loss, NLL float64
	// Perplexity is exp(NLL).
	Perplexity float64
}

// Evaluate measures loss and perplexity on pairs, over all batches together.
func (d *Decoder) Evaluate(ctx context.Context, batches ...Batch) (EvalStats, error) {
	flat, err := flatten(batches...)
	if err != nil {
		return EvalStats{}, err
	}
	numbers, shape := flat.c()
	s := C.xf_eval_stats{struct_size: C.sizeof_xf_eval_stats}
	err = longRunning(ctx, true, func(e *C.xf_error) C.enum_xf_status {
		return C.xfgo_evaluate(d.ptr(), numbers, shape, C.size_t(len(batches)), &s, e)
	}, writing(d.h))
	return EvalStats{int64(s.sentences), int64(s.tgt_tokens), float64(s.loss), float64(s.nll), float64(s.perplexity)}, err
}
