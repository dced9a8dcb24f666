// Batches from a corpus.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

/*
#include "shim.h"
*/
import "C"

import (
	"context"
	"sync"
	"unsafe"
)

// Batcher turns a corpus into shuffled batches of pairs of similar length. A loop gives one epoch, and the next loop
// the next epoch:
//
//	for batcher.Next() {
//		stats, err := trainer.Step(ctx, batcher.Batch())
//		...
//	}
//	if err := batcher.Err(); err != nil { ... }
type Batcher struct {
	h *handle

	mu    sync.Mutex // over the two
	batch Batch
	err   error
}

func (b *Batcher) ptr() *C.xf_batcher {
	return (*C.xf_batcher)(b.h.pointer())
}

func freeBatcher(p unsafe.Pointer) {
	C.xf_batcher_free((*C.xf_batcher)(p))
}

// NewBatcher encodes the corpus and plans the first epoch. It reads "data.batch_tokens", "data.max_tokens",
// "data.shuffle" and "data.seed". Corpus and tokenizer are not needed afterwards.
func (c *Corpus) NewBatcher(ctx context.Context, tokenizer *Tokenizer, settings Settings) (*Batcher, error) {
	if tokenizer == nil {
		return nil, invalid("the tokenizer is nil")
	}
	var batcher *Batcher
	err := using(settings, func(config *handle) error {
		return longRunning(ctx, false, func(e *C.xf_error) C.enum_xf_status {
			var p *C.xf_batcher
			status := C.xf_batcher_create(c.ptr(), tokenizer.ptr(), config.config(), &p, e)
			if status == C.XF_OK {
				h := c.context.child(&guard{kind: "batcher"}, freeBatcher)
				batcher = &Batcher{h: h.open(unsafe.Pointer(p), c.context.h.guard)}
			}
			return status
		}, reading(c.h), reading(tokenizer.h), reading(config))
	})
	return batcher, err
}

// Close frees the batcher. Batches it gave stay. It may be called again, and always returns nil.
func (b *Batcher) Close() error {
	b.h.close()
	return nil
}

// Next goes to the next batch. It is false at the end of an epoch, after which the next epoch begins, and on an error.
func (b *Batcher) Next() bool {
	var batch Batch
	more := false
	err := call(func(e *C.xf_error) C.enum_xf_status {
		given := C.xf_batch{struct_size: C.sizeof_xf_batch}
		status := C.xf_batcher_next(b.ptr(), &given, e)
		if status == C.XF_OK {
			// Copied: the arrays are the batcher's, and its next call fills them anew.
			more = true
			batch.SrcOffsets = copied[int32](given.src_offsets, given.sentences+1)
			batch.TgtOffsets = copied[int32](given.tgt_offsets, given.sentences+1)
			batch.SrcIDs = copied[int32](given.src_ids, C.int64_t(batch.SrcOffsets[given.sentences]))
			batch.TgtIDs = copied[int32](given.tgt_ids, C.int64_t(batch.TgtOffsets[given.sentences]))
			batch.PairIndex = copied[int64](given.pair_index, given.sentences)
		}
		return status
	}, writing(b.h))
	b.mu.Lock()
	defer b.mu.Unlock()
	b.batch, b.err = batch, err
	return more
}

// Batch is what Next went to: the caller's own, whatever comes next.
func (b *Batcher) Batch() Batch {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.batch
}

// Err is the error that made Next false; nil when it was the end of an epoch.
func (b *Batcher) Err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
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
	err := call(func(e *C.xf_error) C.enum_xf_status {
		return C.xf_batcher_get_stats(b.ptr(), &s, e)
	}, reading(b.h))
	return BatcherStats{int64(s.epoch), int64(s.batch), int64(s.batches), int64(s.pairs), int64(s.too_long),
		int64(s.empty), int64(s.src_tokens), int64(s.tgt_tokens)}, err
}

// SeekTo moves to a position, so that the next batch is the one that stood there.
func (b *Batcher) SeekTo(epoch, batch int64) error {
	return call(func(e *C.xf_error) C.enum_xf_status {
		return C.xf_batcher_seek(b.ptr(), C.int64_t(epoch), C.int64_t(batch), e)
	}, writing(b.h))
}
