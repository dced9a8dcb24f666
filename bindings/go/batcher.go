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

// Batcher produces shuffled batches of pairs of similar length from a corpus, epoch after epoch.
type Batcher struct {
	object
}

func (b *Batcher) in(c *call) *C.xf_batcher {
	if b == nil {
		return nil
	}
	return (*C.xf_batcher)(c.hold(b.h))
}

// NewBatcher creates a batcher: it encodes the corpus and plans the first epoch. It reads the options of the group
// "data.". The tokenizer of a model frames texts for that model; see the options of the group "text.". The tokenizer is
// nil for a corpus of ids. Corpus and tokenizer may be closed afterwards.
func (c *Corpus) NewBatcher(ctx context.Context, tokenizer *Tokenizer, settings Settings) (*Batcher, error) {
	wrap := func(h *handle) *Batcher { return &Batcher{object{h}} }
	return create(ctx, c.h, kindBatcher, wrap, func(call *call, p **C.xf_batcher) status {
		return C.xf_batcher_create(c.in(call), tokenizer.in(call), call.config(settings), call.xf, p, &call.err)
	})
}

// Next returns a copy of the next batch. At the end of an epoch it returns io.EOF; the next call begins the next epoch.
func (b *Batcher) Next(ctx context.Context) (batch Batch, err error) {
	var done bool
	err = doLong(ctx, func(c *call) status {
		given := C.xf_batch{struct_size: C.sizeof_xf_batch}
		found := C.xf_batcher_next(b.in(c), c.xf, &given, &c.err)
		if done = found == C.XF_DONE; found == C.XF_OK {
			count := int(given.sentences)
			batch.SrcOffsets = copied[int64](given.src_offsets, count+1)
			batch.TgtOffsets = copied[int64](given.tgt_offsets, count+1)
			batch.SrcIDs = copied[int32](given.src_ids, int(batch.SrcOffsets[count]))
			batch.TgtIDs = copied[int32](given.tgt_ids, int(batch.TgtOffsets[count]))
			batch.PairIndex = copied[int64](given.pair_index, count)
		}
		return found
	})
	if err == nil && done {
		err = io.EOF
	}
	return batch, err
}

// BatcherStats contains the position and the contents of a batcher. Numbers of tokens include end symbols.
type BatcherStats struct {
	// Epoch and Batch are the position of the next batch, from 0. Batches is the number of batches in this epoch.
	Epoch, Batch, Batches int64
	// Pairs is the number of pairs in this epoch. TooLong pairs are skipped because a side has more tokens than
	// "data.max_tokens" or "data.batch_tokens", Empty pairs because a side has no token.
	Pairs, TooLong, Empty int64
	// SrcTokens and TgtTokens are the numbers of tokens in this epoch.
	SrcTokens, TgtTokens int64
}

// Stats returns the position and the contents of the batcher.
func (b *Batcher) Stats() (BatcherStats, error) {
	s := C.xf_batcher_stats{struct_size: C.sizeof_xf_batcher_stats}
	err := do(func(c *call) status { return C.xf_batcher_get_stats(b.in(c), &s, &c.err) })
	return BatcherStats{int64(s.epoch), int64(s.batch), int64(s.batches), int64(s.pairs), int64(s.too_long),
		int64(s.empty), int64(s.src_tokens), int64(s.tgt_tokens)}, err
}

// SeekTo moves the batcher to a position.
func (b *Batcher) SeekTo(ctx context.Context, epoch, batch int64) error {
	return doLong(ctx, func(c *call) status {
		return C.xf_batcher_seek(b.in(c), C.int64_t(epoch), C.int64_t(batch), c.xf, &c.err)
	})
}

// Resume moves the batcher to the position that was saved in the checkpoint of a trainer from Context.ResumeTrainer.
// The batcher must have the same corpus, tokenizer, and options as in the saved run. If "data.batch_tokens" differs,
// the batcher moves to the same fraction of the epoch.
func (b *Batcher) Resume(ctx context.Context, trainer *Trainer) error {
	return doLong(ctx, func(c *call) status {
		return C.xf_batcher_resume(b.in(c), trainer.in(c), c.xf, &c.err)
	})
}
