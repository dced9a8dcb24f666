// Packed sentences.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

// #include "shim.h"
import "C"

// Batch contains packed sentences: the concatenated ids of all sentences, and the offset at which each begins.
//
// Source sentence b is SrcIDs[SrcOffsets[b]:SrcOffsets[b+1]]. It ends with the end symbol, optionally followed by a
// language token. Targets have the same form, but the end symbol may be missing. Targets have no start symbol; the
// library adds it. Model.Encode and Model.Batch return ids in this form. Each call copies the slices.
type Batch struct {
	// SrcIDs are the ids of all sources. SrcOffsets are their offsets, one more than the number of sentences.
	SrcIDs     []int32
	SrcOffsets []int64
	// TgtIDs and TgtOffsets are those of the targets; nil for decoding.
	TgtIDs     []int32
	TgtOffsets []int64
	// PairIndex is the index of each pair in its corpus, or nil. Batcher.Next sets it.
	PairIndex []int64
}

// NewBatch packs sentences of ids that end with the end symbol. targets is nil for decoding.
func NewBatch(sources, targets [][]int32) (batch Batch, err error) {
	if targets != nil && len(targets) != len(sources) {
		return batch, invalid("found %d sources and %d targets, expected the same number", len(sources), len(targets))
	}
	batch.SrcIDs, batch.SrcOffsets = packSide(sources)
	if targets != nil {
		batch.TgtIDs, batch.TgtOffsets = packSide(targets)
	}
	return batch, nil
}

func packSide(sentences [][]int32) (ids []int32, offsets []int64) {
	size := 0
	for _, sentence := range sentences {
		size += len(sentence)
	}
	ids, offsets = make([]int32, 0, size), make([]int64, 1, len(sentences)+1)
	for _, sentence := range sentences {
		ids = append(ids, sentence...)
		offsets = append(offsets, int64(len(ids)))
	}
	return ids, offsets
}

// Len returns the number of sentences.
func (b Batch) Len() int {
	if len(b.SrcOffsets) == 0 {
		return 0
	}
	return len(b.SrcOffsets) - 1
}

// Src returns the ids of one source.
func (b Batch) Src(sentence int) []int32 {
	return b.SrcIDs[b.SrcOffsets[sentence]:b.SrcOffsets[sentence+1]]
}

// Tgt returns the ids of one target.
func (b Batch) Tgt(sentence int) []int32 {
	return b.TgtIDs[b.TgtOffsets[sentence]:b.TgtOffsets[sentence+1]]
}

// batches converts batches for C.
func (c *call) batches(all ...Batch) *C.xf_batch {
	given := newArray[C.xf_batch](c, len(all))
	for i, b := range all {
		if err := b.check(i); err != nil {
			c.abort(err)
		}
		given[i] = C.xf_batch{struct_size: C.sizeof_xf_batch, sentences: C.int64_t(b.Len()),
			src_ids: array[C.int32_t](c, b.SrcIDs), src_offsets: array[C.int64_t](c, offsets(b.SrcOffsets))}
		if b.TgtOffsets != nil {
			given[i].tgt_ids, given[i].tgt_offsets = array[C.int32_t](c, b.TgtIDs), array[C.int64_t](c, b.TgtOffsets)
		}
	}
	return first(given)
}

// offsets returns the offsets of a side; the zero Batch lacks the first one.
func offsets(given []int64) []int64 {
	if len(given) == 0 {
		return []int64{0}
	}
	return given
}

// check validates the lengths of the slices, which the library does not know. The library checks that offsets do not
// decrease.
func (b Batch) check(index int) error {
	side := func(name string, ids []int32, offsets []int64) error {
		if len(offsets) != b.Len()+1 {
			return invalid("batch %d has %d %s offsets, expected %d, one more than sentences", index, len(offsets), name,
				b.Len()+1)
		}
		if last := offsets[len(offsets)-1]; offsets[0] != 0 || last != int64(len(ids)) {
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
