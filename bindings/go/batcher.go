// Batches from a corpus.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

// #include "shim.h"
import "C"

import (
	"context"
	"io"
)

// Batcher turns a corpus into shuffled batches of pairs of similar length, epoch after epoch.
type Batcher struct {
	object
}

// in gives C's pointer for a call, NULL for nil.
func (b *Batcher) in(c *call) *C.xf_batcher {
	if b == nil {
		return nil
	}
	return (*C.xf_batcher)(c.hold(b.h))
}

// NewBatcher encodes the corpus and plans the first epoch, by the options of the group "data.". The tokenizer is nil
// for a corpus of ids. Corpus and tokenizer are not needed afterwards.
func (c *Corpus) NewBatcher(ctx context.Context, tokenizer *Tokenizer, settings Settings) (*Batcher, error) {
	wrap := func(h *handle) *Batcher { return &Batcher{object{h}} }
	return create(ctx, c.h, kindBatcher, wrap, func(call *call, p **C.xf_batcher) status {
		return C.xf_batcher_create(c.in(call), tokenizer.in(call), call.config(settings), p, &call.err)
	})
}

// Next gives the next batch, a copy; or io.EOF at the end of an epoch, after which the next epoch begins.
func (b *Batcher) Next() (Batch, error) {
	var batch Batch
	var done bool
	err := do(func(c *call) status {
		given := C.xf_batch{struct_size: C.sizeof_xf_batch}
		found := C.xf_batcher_next(b.in(c), &given, &c.err)
		if done = found == C.XF_DONE; found == C.XF_OK {
			batch.SrcOffsets = copied[int32](given.src_offsets, given.sentences+1)
			batch.TgtOffsets = copied[int32](given.tgt_offsets, given.sentences+1)
			batch.SrcIDs = copied[int32](given.src_ids, C.int64_t(batch.SrcOffsets[given.sentences]))
			batch.TgtIDs = copied[int32](given.tgt_ids, C.int64_t(batch.TgtOffsets[given.sentences]))
			batch.PairIndex = copied[int64](given.pair_index, given.sentences)
		}
		return found
	})
	if err == nil && done {
		err = io.EOF
	}
	return batch, err
}

// BatcherStats tells where a batcher stands and what it holds; tokens count end symbols.
type BatcherStats struct {
	// Epoch and Batch are those of the next batch, from 0; Batches is their number in this epoch.
	Epoch, Batch, Batches int64
	// Pairs in an epoch; TooLong were left out for "data.max_tokens", Empty for a side without tokens.
	Pairs, TooLong, Empty int64
	// SrcTokens and TgtTokens in an epoch.
	SrcTokens, TgtTokens int64
}

// Stats tells where the batcher stands and what it holds.
func (b *Batcher) Stats() (BatcherStats, error) {
	s := C.xf_batcher_stats{struct_size: C.sizeof_xf_batcher_stats}
	err := do(func(c *call) status { return C.xf_batcher_get_stats(b.in(c), &s, &c.err) })
	return BatcherStats{int64(s.epoch), int64(s.batch), int64(s.batches), int64(s.pairs), int64(s.too_long),
		int64(s.empty), int64(s.src_tokens), int64(s.tgt_tokens)}, err
}

// SeekTo moves to a position, so that the next batch is the one that stood there.
func (b *Batcher) SeekTo(epoch, batch int64) error {
	return do(func(c *call) status { return C.xf_batcher_seek(b.in(c), C.int64_t(epoch), C.int64_t(batch), &c.err) })
}
