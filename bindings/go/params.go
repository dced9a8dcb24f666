// What holds for one call of Translate or Decode: options, prefixes, and a function that says which tokens may follow.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

// #include "shim.h"
import "C"

import (
	"fmt"
	"runtime/cgo"
	"unsafe"
)

// Params are what holds for one call of Translate or Decode. All may be left out.
type Params struct {
	// Settings of the group "decode." that were set hold in place of the decoder's own.
	Settings Settings
	// Prefixes are what the answers to texts begin with, one for each text; "" is nothing.
	Prefixes []string
	// PrefixIDs are what the answers to a batch begin with, one for each sentence, without start and end symbol.
	PrefixIDs [][]int32
	// Constraint says which tokens may follow.
	Constraint Constraint
}

// params gives C the params of a call for some sentences.
func (c *call) params(p *Params, sentences int) *C.xf_decode_params {
	if p == nil {
		return nil
	}
	given := first(newArray[C.xf_decode_params](c, 1))
	*given = C.xf_decode_params{struct_size: C.sizeof_xf_decode_params, config: c.config(p.Settings)}
	for _, count := range []int{len(p.Prefixes), len(p.PrefixIDs)} {
		if count != 0 && count != sentences {
			c.abort(invalid("%d prefixes for %d sentences, expected as many", count, sentences))
		}
	}
	if p.Prefixes != nil {
		given.prefixes, given.prefix_lengths = c.texts(p.Prefixes)
	}
	if p.PrefixIDs != nil {
		ids, offsets, err := packSide(p.PrefixIDs)
		if err != nil {
			c.abort(err)
		}
		given.prefix_ids, given.prefix_offsets = c.ids(ids), c.ids(offsets)
	}
	if p.Constraint != nil {
		C.xfgo_set_constraint(given, c.handle(&question{ask: p.Constraint}))
	}
	return given
}

// Prefix is a hypothesis whose next token is to be chosen: what a Constraint is asked about.
type Prefix struct {
	// Sentence is which of the texts, or of the sentences of the batch, it answers.
	Sentence int
	// IDs are its tokens so far, without the start symbol. They are valid during the call.
	IDs []int32
	// Remaining is how many tokens may follow, the end symbol counted; 1: what is not ended now is cut off.
	Remaining int64
	// VocabSize is V: ids are 0 to V - 1.
	VocabSize int
}

// Allowed is a set of ids: id is in it when bit id % 32 of word id / 32 is set. It is valid during the call.
type Allowed []uint32

// Only leaves no other than these ids.
func (a Allowed) Only(ids ...int32) {
	for i := range a {
		a[i] = 0
	}
	a.Allow(ids...)
}

// Allow puts ids into the set.
func (a Allowed) Allow(ids ...int32) {
	for _, id := range ids {
		a[uint32(id)/32] |= 1 << (uint32(id) % 32)
	}
}

// Forbid takes ids out of the set.
func (a Allowed) Forbid(ids ...int32) {
	for _, id := range ids {
		a[uint32(id)/32] &^= 1 << (uint32(id) % 32)
	}
}

// Has tells whether an id is in the set.
func (a Allowed) Has(id int32) bool {
	return a[uint32(id)/32]>>(uint32(id)%32)&1 != 0
}

// Constraint says which tokens may follow a hypothesis. All are allowed when it is called; it forbids those that may
// not follow, TokenEnd when the hypothesis may not end here. It is called on the goroutine that decodes, once for
// each live hypothesis and step, in an order that is not promised, and what it allows is to depend on the prefix
// alone.
//
// It is hard, and works inside beam search: what is allowed competes as ever. Scores stay the model's own. A sentence
// without an allowed answer has one that is not Finished, with a LogProbability of minus infinity.
//
// An error ends the call, which returns one that is both ErrCallback and this one. A panic goes on when that call has
// ended. It must not use its decoder (ErrBusy), nor call runtime.Goexit, which t.FailNow does.
type Constraint func(prefix Prefix, allowed Allowed) error

// A question is what C knows the constraint of a call by.
type question struct {
	ask     Constraint
	prefix  []int32
	allowed Allowed // not C's memory, which a function might keep
}

//export xfgoAsk
func xfgoAsk(user C.uintptr_t, asked *C.xf_prefix, mask *C.uint32_t) C.int32_t {
	return keep(func() error {
		words := (int(asked.vocab_size) + 31) / 32
		return cgo.Handle(user).Value().(*question).answer(asked, unsafe.Slice((*uint32)(unsafe.Pointer(mask)), words))
	})
}

func (q *question) answer(asked *C.xf_prefix, mask []uint32) error {
	q.prefix = q.prefix[:0]
	if asked.length > 0 {
		q.prefix = append(q.prefix, unsafe.Slice((*int32)(unsafe.Pointer(asked.ids)), int(asked.length))...)
	}
	q.allowed = append(q.allowed[:0], mask...)
	size := int(asked.vocab_size)
	beyond := ^uint32(0) << ((uint32(size)-1)%32 + 1) // bits of the last word that are no ids
	last := &q.allowed[len(q.allowed)-1]
	*last &^= beyond
	prefix := Prefix{int(asked.sentence), q.prefix, int64(asked.remaining), size}
	if err := q.ask(prefix, q.allowed); err != nil {
		return err
	}
	if *last&beyond != 0 {
		return fmt.Errorf("an id above %d is allowed, ids go from 0 to %d", size-1, size-1)
	}
	copy(mask, q.allowed)
	return nil
}
