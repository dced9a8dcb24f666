// Translation and scoring.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

// #include "shim.h"
import "C"

import (
	"context"
	"fmt"
)

// Hypothesis is one answer.
type Hypothesis struct {
	// Text is the answer; "" when the model has no tokenizer.
	Text string
	// IDs are its tokens, without start and end symbol; a prefix is part of them.
	IDs []int32
	// TokenLogProbabilities are the natural logarithms of each token's probability, the end symbol's last when
	// Finished; LogProbability is their sum.
	TokenLogProbabilities []float32
	LogProbability        float64
	// Score is LogProbability divided by the length penalty.
	Score float64
	// Finished tells that the end symbol ended it, and not a limit.
	Finished bool
	// Complete tells that the search ran to its end, and that "decode.deadline_ms" did not end it.
	Complete bool
}

// Answers are the answers to one sentence.
type Answers struct {
	// Hypotheses are 1 to "decode.n_best", best first.
	Hypotheses []Hypothesis
	// Err is why there are none: ErrData (invalid UTF-8), ErrOutOfRange (too long, an id), ErrDeadline.
	Err error
}

// Best is the best answer, an empty one when there is none.
func (a Answers) Best() Hypothesis {
	if len(a.Hypotheses) == 0 {
		return Hypothesis{}
	}
	return a.Hypotheses[0]
}

// Decoder is beam search over a model that it shares with others. It is for one goroutine at a time; several make one
// each, for it copies no weights.
type Decoder struct {
	object
}

func (d *Decoder) in(c *call) *C.xf_decoder {
	return (*C.xf_decoder)(c.hold(d.h))
}

// NewDecoder makes a decoder. It reads the options of the group "decode.", and for Evaluate "train.label_smoothing" and
// "train.label_smoothing_kind".
func (m *Model) NewDecoder(settings Settings) (*Decoder, error) {
	wrap := func(h *handle) *Decoder { return &Decoder{object{h}} }
	return create(context.Background(), m.h, kindDecoder, wrap, func(c *call, p **C.xf_decoder) status {
		return C.xf_decoder_create(m.in(c), c.config(settings), p, &c.err)
	})
}

// Translate translates texts: for each, in their order, its answers, or why it has none. White space around a text
// never reaches the model; a text of nothing else has one empty answer with score 0. params may be nil.
func (d *Decoder) Translate(ctx context.Context, texts []string, params *Params) ([]Answers, error) {
	return d.answers(ctx, func(c *call, p **C.xf_hypotheses) status {
		given, lengths := c.texts(texts)
		return C.xf_translate(d.in(c), given, lengths, C.size_t(len(texts)), c.params(params, len(texts)), p, &c.err)
	})
}

// TranslateTexts is the best answer to each text; or the error of the first text that has none.
func (d *Decoder) TranslateTexts(ctx context.Context, texts []string) ([]string, error) {
	answers, err := d.Translate(ctx, texts, nil)
	if err != nil {
		return nil, err
	}
	found := make([]string, len(answers))
	for i, all := range answers {
		if failed, ok := all.Err.(*Error); ok {
			return nil, &Error{failed.Status, failed.NativeCode, fmt.Sprintf("text %d: %s", i, failed.Message), nil}
		}
		found[i] = all.Best().Text
	}
	return found, nil
}

// Decode decodes the sources of a batch of any size, as Translate does texts.
func (d *Decoder) Decode(ctx context.Context, batch Batch, params *Params) ([]Answers, error) {
	return d.answers(ctx, func(c *call, p **C.xf_hypotheses) status {
		return C.xf_decode(d.in(c), c.batches(batch), c.params(params, batch.Len()), p, &c.err)
	})
}

func (d *Decoder) answers(ctx context.Context, f func(c *call, p **C.xf_hypotheses) status) (all []Answers, err error) {
	err = doLong(ctx, d.h, func(c *call) status {
		var p *C.xf_hypotheses
		found := f(c, &p)
		if found == C.XF_OK {
			defer C.xf_hypotheses_free(p)
			all = make([]Answers, C.xf_hypotheses_sentence_count(p))
			for i := range all {
				all[i] = readAnswers(p, C.size_t(i))
			}
		}
		return found
	})
	return all, err
}

// readAnswers copies the answers to a sentence from where C has them.
func readAnswers(p *C.xf_hypotheses, sentence C.size_t) Answers {
	var e C.xf_error
	a := Answers{Err: check(C.xf_hypotheses_status(p, sentence, &e), &e)}
	for rank := C.size_t(0); rank < C.xf_hypotheses_answer_count(p, sentence) && a.Err == nil; rank++ {
		h := C.xf_hypothesis{struct_size: C.sizeof_xf_hypothesis}
		a.Err = check(C.xf_hypotheses_get(p, sentence, rank, &h, &e), &e)
		a.Hypotheses = append(a.Hypotheses, Hypothesis{text(h.text, h.text_length), copied[int32](h.ids, h.length),
			copied[float32](h.token_log_probabilities, h.length+C.int64_t(h.finished)), float64(h.log_probability),
			float64(h.score), h.finished != 0, h.complete != 0})
	}
	return a
}

// Score is the natural logarithm of the probability of each target given its source, end symbol included.
func (d *Decoder) Score(ctx context.Context, batch Batch) ([]float64, error) {
	scores := make([]float64, batch.Len()+1) // one more: C wants an address for none, too
	err := doLong(ctx, d.h, func(c *call) status {
		return C.xf_score(d.in(c), c.batches(batch), as[C.double](scores), &c.err)
	})
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
	return d.evaluate(ctx, func(c *call, s *C.xf_eval_stats) status {
		return C.xf_evaluate(d.in(c), c.batches(batches...), C.size_t(len(batches)), s, &c.err)
	})
}

// EvaluateBatcher measures loss and perplexity on all pairs of a batcher, which stands afterwards where it stood.
func (d *Decoder) EvaluateBatcher(ctx context.Context, batcher *Batcher) (EvalStats, error) {
	return d.evaluate(ctx, func(c *call, s *C.xf_eval_stats) status {
		return C.xf_evaluate_batcher(d.in(c), batcher.in(c), s, &c.err)
	})
}

func (d *Decoder) evaluate(ctx context.Context, f func(c *call, s *C.xf_eval_stats) status) (EvalStats, error) {
	s := C.xf_eval_stats{struct_size: C.sizeof_xf_eval_stats}
	err := doLong(ctx, d.h, func(c *call) status { return f(c, &s) })
	return EvalStats{int64(s.sentences), int64(s.tgt_tokens), float64(s.loss), float64(s.nll), float64(s.perplexity)}, err
}

// AttentionKind is one of the three uses of attention (paper s. 3.2.3).
type AttentionKind int32

const (
	// AttentionEncoder is encoder self-attention: queries and keys are the source's tokens.
	AttentionEncoder AttentionKind = C.XF_ATTENTION_ENCODER
	// AttentionDecoder is decoder self-attention: queries and keys are the target's positions; none looks ahead.
	AttentionDecoder AttentionKind = C.XF_ATTENTION_DECODER
	// AttentionCross is encoder-decoder attention: queries are the target's positions, keys the source's tokens.
	AttentionCross AttentionKind = C.XF_ATTENTION_CROSS
)

// Attention is the attention weights of one layer for one pair.
type Attention struct {
	// Heads, Queries and Keys are the shape.
	Heads, Queries, Keys int
	// Weights lie head by head, query by query; each query's sum to 1.
	Weights []float32
}

// Row is the weights of one head and query, one for each key.
func (a Attention) Row(head, query int) []float32 {
	at := (head*a.Queries + query) * a.Keys
	return a.Weights[at : at+a.Keys]
}

// AttentionWeights gives the attention weights of a layer, from 0, the lowest, for a batch of one source and target:
// what Figures 3 to 5 of the paper draw. Position i of the decoder holds the token before target token i, the start
// symbol at 0, and predicts target token i.
func (d *Decoder) AttentionWeights(ctx context.Context, pair Batch, kind AttentionKind,
	layer int32) (Attention, error) {
	a := Attention{Queries: len(pair.TgtIDs), Keys: len(pair.SrcIDs)}
	switch kind {
	case AttentionEncoder:
		a.Queries = len(pair.SrcIDs)
	case AttentionDecoder:
		a.Keys = len(pair.TgtIDs)
	}
	err := doLong(ctx, d.h, func(c *call) (found status) {
		a.Weights, found = filled(nil, func(room []float32, count *C.size_t) status {
			return C.xf_attention_weights(d.in(c), c.batches(pair), C.int32_t(kind), C.int32_t(layer), as[C.float](room),
				C.size_t(len(room)), count, &c.err)
		})
		return found
	})
	if err != nil {
		return Attention{}, err
	}
	a.Heads = len(a.Weights) / (a.Queries * a.Keys)
	return a, nil
}
