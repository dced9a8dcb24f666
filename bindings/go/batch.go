// Packed sentences.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

// #include "shim.h"
import "C"

import "math"

// Batch is packed sentences: all ids one after the other, and where each sentence begins.
//
// Sentence b of the source is SrcIDs[SrcOffsets[b]:SrcOffsets[b+1]], its last id TokenEnd; the target likewise. Targets
// have no start symbol: the library puts it in. The slices are the caller's own and are copied in each call.
type Batch struct {
	// SrcIDs are the ids of all sources, and SrcOffsets where each begins and the last ends: one more than sentences.
	SrcIDs, SrcOffsets []int32
	// TgtIDs and TgtOffsets are those of the targets; both nil for decoding.
	TgtIDs, TgtOffsets []int32
	// PairIndex is the index of each pair in its corpus, when a Batcher made this.
	PairIndex []int64
}

// NewBatch packs sentences given as ids, each with its end symbol. targets is nil for decoding.
func NewBatch(sources, targets [][]int32) (Batch, error) {
	var batch Batch
	if targets != nil && len(targets) != len(sources) {
		return batch, invalid("%d sources and %d targets, expected as many", len(sources), len(targets))
	}
	var err error
	if batch.SrcIDs, batch.SrcOffsets, err = packSide(sources); err != nil || targets == nil {
		return batch, err
	}
	batch.TgtIDs, batch.TgtOffsets, err = packSide(targets)
	return batch, err
}

func packSide(sentences [][]int32) (ids, offsets []int32, err error) {
	size := 0
	for _, sentence := range sentences {
		size += len(sentence)
	}
	if size > math.MaxInt32 {
		return nil, nil, newError(ErrLimit, 0, "a side of the batch has more than 2^31 - 1 ids")
	}
	ids, offsets = make([]int32, 0, size), make([]int32, 1, len(sentences)+1)
	for _, sentence := range sentences {
		ids = append(ids, sentence...)
		offsets = append(offsets, int32(len(ids)))
	}
	return ids, offsets, nil
}

// Len is the number of sentences.
func (b Batch) Len() int {
	if len(b.SrcOffsets) == 0 {
		return 0
	}
	return len(b.SrcOffsets) - 1
}

// Src is the ids of one source.
func (b Batch) Src(sentence int) []int32 {
	return b.SrcIDs[b.SrcOffsets[sentence]:b.SrcOffsets[sentence+1]]
}

// Tgt is the ids of one target.
func (b Batch) Tgt(sentence int) []int32 {
	return b.TgtIDs[b.TgtOffsets[sentence]:b.TgtOffsets[sentence+1]]
}

// batches gives C an array of batches.
func (c *call) batches(all ...Batch) *C.xf_batch {
	given := newArray[C.xf_batch](c, len(all))
	for i, b := range all {
		if err := b.check(i); err != nil {
			c.abort(err)
		}
		given[i] = C.xf_batch{struct_size: C.sizeof_xf_batch, sentences: C.int64_t(b.Len()),
			src_ids: c.ids(b.SrcIDs), src_offsets: c.ids(offsets(b.SrcOffsets))}
		if b.TgtOffsets != nil {
			given[i].tgt_ids, given[i].tgt_offsets = c.ids(b.TgtIDs), c.ids(b.TgtOffsets)
		}
	}
	return first(given)
}

// offsets gives the one entry that an empty batch lacks when it is the zero Batch.
func offsets(given []int32) []int32 {
	if len(given) == 0 {
		return []int32{0}
	}
	return given
}

// check does what the library can't, which does not know how long the arrays are; that offsets do not fall it checks.
func (b Batch) check(index int) error {
	side := func(name string, ids, offsets []int32) error {
		if len(offsets) != b.Len()+1 {
			return invalid("batch %d has %d %s offsets, expected %d, one more than sentences", index, len(offsets), name,
				b.Len()+1)
		}
		if last := offsets[len(offsets)-1]; offsets[0] != 0 || int(last) != len(ids) {
			return invalid("the %s offsets of batch %d go from %d to %d, expected 0 to %d, the number of ids", name, index,
				offsets[0], last, len(ids))
		}
		return nil
	}
	if err := side("source", b.SrcIDs, offsets(b.SrcOffsets)); err != nil {
		return err
	}
	if b.TgtOffsets == nil && b.TgtIDs == nil {
		return nil
	}
	return side("target", b.TgtIDs, offsets(b.TgtOffsets))
}
