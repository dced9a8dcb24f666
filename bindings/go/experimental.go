// Experimental functions: ranks, constraints, attention weights, gradients.
//
// Everything in this file may change or disappear in any minor version, as in xformer/experimental.h.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

// #include "shim.h"
import "C"

import (
	"context"
	"fmt"
	"runtime/cgo"
	"unsafe"
)

// AllGather exchanges one number between all ranks of a training job and returns the numbers of all ranks. Every rank
// makes this call at the same point of its sequence of collective calls.
//
// Experimental: may change in any minor version.
func (c *Context) AllGather(ctx context.Context, value int64) ([]int64, error) {
	values := make([]int64, c.info.RankCount)
	err := doLong(ctx, func(call *call) status {
		return C.xf_context_all_gather(c.in(call), C.int64_t(value), call.xf, as[C.int64_t](values), &call.err)
	})
	if err != nil {
		return nil, err
	}
	return values, nil
}

// Partial is a hypothesis whose next token is about to be selected. It is valid during the call of the Constraint.
//
// Experimental: may change in any minor version.
type Partial struct {
	// Sentence is the index of its sentence in the texts or in the batch.
	Sentence int
	// IDs are its tokens so far, without the start symbol.
	IDs []int32
	// Remaining is the number of tokens that may still follow, including the end symbol; 1: without the end symbol it is
	// cut off.
	Remaining int
	// Allowed is the set of tokens that may follow. It contains all ids at first.
	Allowed Allowed
}

// Allowed is a set of ids: it contains id if bit id % 32 of word id / 32 is set.
//
// Experimental: may change in any minor version.
type Allowed []uint32

// Only removes all other ids from the set.
func (a Allowed) Only(ids ...int32) {
	for i := range a {
		a[i] = 0
	}
	a.Allow(ids...)
}

// Allow adds ids to the set.
func (a Allowed) Allow(ids ...int32) {
	for _, id := range ids {
		a[uint32(id)/32] |= 1 << (uint32(id) % 32)
	}
}

// Forbid removes ids from the set.
func (a Allowed) Forbid(ids ...int32) {
	for _, id := range ids {
		a[uint32(id)/32] &^= 1 << (uint32(id) % 32)
	}
}

// Has reports whether the set contains an id.
func (a Allowed) Has(id int32) bool {
	return a[uint32(id)/32]>>(uint32(id)%32)&1 != 0
}

// Constraint restricts the tokens that may follow each hypothesis, for example by a grammar or a lexicon. It is called
// once per step of the search with the live hypotheses of all sentences, in an unspecified order, on the goroutine that
// decodes. vocabSize is V: ids are 0 to V - 1. The result must depend only on the ids and the sentence.
//
// A forbidden token is never selected. The remaining tokens compete as usual; probabilities are not renormalized. If
// all hypotheses of a sentence are dropped, it has one that is not Finished, with a LogProbability of minus infinity.
//
// An error stops the call, which returns an error that matches both ErrCallback and this error. If the constraint
// panics, the call ends, and then the panic continues. A constraint must not use its decoder (ErrBusy) or call
// runtime.Goexit, as t.FailNow does.
//
// Experimental: may change in any minor version.
type Constraint func(partials []Partial, vocabSize int) error

// constraint converts a constraint for C.
func (c *call) constraint(f Constraint) *C.xf_constraint {
	given := first(newArray[C.xf_constraint](c, 1))
	C.xfgo_set_constraint(given, c.handle(&constraint{f: f}))
	return given
}

// constraint contains a Constraint and copies of its arguments, which the callback cannot misuse after the call.
type constraint struct {
	f        Constraint
	partials []Partial
	ids      []int32
	allowed  []uint32
}

//export xfgoConstrain
func xfgoConstrain(user C.uintptr_t, step *C.xf_constraint_step) C.int32_t {
	return keep(func() error { return cgo.Handle(user).Value().(*constraint).step(step) })
}

func (c *constraint) step(step *C.xf_constraint_step) error {
	size := int(step.vocab_size)
	words := (size + 31) / 32
	beyond := ^uint32(0) << ((uint32(size)-1)%32 + 1) // bits of the last word that are not ids
	partials := unsafe.Slice(step.partials, int(step.count))

	c.partials, c.ids, c.allowed = c.partials[:0], c.ids[:0], c.allowed[:0]
	for _, p := range partials {
		c.ids = append(c.ids, unsafe.Slice((*int32)(unsafe.Pointer(p.ids)), int(p.id_count))...)
		c.allowed = append(c.allowed, unsafe.Slice((*uint32)(unsafe.Pointer(p.allowed)), words)...)
	}
	ids := c.ids
	for i, p := range partials {
		end := (i + 1) * words
		c.allowed[end-1] &^= beyond
		count := int(p.id_count)
		c.partials = append(c.partials, Partial{int(p.sentence), ids[:count:count], int(p.remaining),
			c.allowed[end-words : end : end]})
		ids = ids[count:]
	}
	if err := c.f(c.partials, size); err != nil {
		return err
	}
	for i, p := range partials {
		allowed := c.allowed[i*words : (i+1)*words]
		if allowed[words-1]&beyond != 0 {
			return fmt.Errorf("the constraint allowed an id above %d, expected ids from 0 to %d", size-1, size-1)
		}
		copy(unsafe.Slice((*uint32)(unsafe.Pointer(p.allowed)), words), allowed)
	}
	return nil
}

// AttentionKind is one of the three uses of attention (paper s. 3.2.3).
//
// Experimental: may change in any minor version.
type AttentionKind int32

const (
	// AttentionEncoder is encoder self-attention: queries and keys are the source tokens.
	AttentionEncoder AttentionKind = C.XF_ATTENTION_ENCODER
	// AttentionDecoder is decoder self-attention: queries and keys are the target positions; a query attends only to
	// earlier positions.
	AttentionDecoder AttentionKind = C.XF_ATTENTION_DECODER
	// AttentionCross is encoder-decoder attention: queries are the target positions, keys the source tokens.
	AttentionCross AttentionKind = C.XF_ATTENTION_CROSS
)

// Attention contains the attention weights of one layer for one pair.
//
// Experimental: may change in any minor version.
type Attention struct {
	// Heads, Queries, and Keys are the shape of Weights.
	Heads, Queries, Keys int
	// Weights are row-major; each row sums to 1.
	Weights []float32
}

// Row returns the weights of one head and query, one for each key.
func (a Attention) Row(head, query int) []float32 {
	at := (head*a.Queries + query) * a.Keys
	return a.Weights[at : at+a.Keys]
}

// AttentionWeights computes the attention weights of a layer, from 0, the lowest, for a batch of one source and target,
// as in Figures 3 to 5 of the paper. Decoder position i holds the token before target token i (the start symbol at 0)
// and predicts target token i.
//
// Experimental: may change in any minor version.
func (d *Decoder) AttentionWeights(pair Batch, kind AttentionKind, layer int) (Attention, error) {
	a := Attention{Queries: len(pair.TgtIDs), Keys: len(pair.SrcIDs)}
	switch kind {
	case AttentionEncoder:
		a.Queries = len(pair.SrcIDs)
	case AttentionDecoder:
		a.Keys = len(pair.TgtIDs)
	}
	err := do(func(c *call) (found status) {
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

// ReadGradient copies a pending gradient, that of the mean loss per target token so far, row-major. Accumulate was
// called before.
//
// Experimental: may change in any minor version.
func (t *Trainer) ReadGradient(name string) ([]float32, error) {
	model, err := t.Model()
	if err != nil {
		return nil, err
	}
	index, values, err := model.tensor(name)
	if err != nil {
		return nil, err
	}
	return values, do(func(c *call) status {
		return C.xf_trainer_read_gradient(t.in(c), index, as[C.float](values), C.size_t(len(values)), &c.err)
	})
}
