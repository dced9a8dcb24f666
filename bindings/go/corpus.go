// Sentence pairs.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

// #include "shim.h"
import "C"

import (
	"context"
	"unsafe"
)

// CorpusStats tells what became of the lines of a corpus: Lines is the sum of the others.
type CorpusStats struct {
	// Lines were read, Kept are pairs now.
	Lines, Kept int64
	// BadColumns are lines without exactly one tab, EmptySide with an empty side, TooLong with a side longer than
	// "data.max_bytes", InvalidUTF8 that are not UTF-8, NULByte with a NUL byte.
	BadColumns, EmptySide, TooLong, InvalidUTF8, NULByte int64
}

// Pair is a sentence and its translation.
type Pair struct {
	Source, Target string
}

// Corpus is sentence pairs, as text or as ids. It does not change. Bad lines and pairs are skipped, counted and told to
// the log; with the option "data.strict" the first one is ErrData.
type Corpus struct {
	object
	stats CorpusStats
	size  int
}

func (c *Corpus) in(call *call) *C.xf_corpus {
	if c == nil {
		return nil
	}
	return (*C.xf_corpus)(call.hold(c.h))
}

func newCorpus(h *handle) *Corpus {
	p := (*C.xf_corpus)(h.ptr)
	corpus := &Corpus{object: object{h}, size: int(C.xf_corpus_pair_count(p))}
	s := C.xf_corpus_stats{struct_size: C.sizeof_xf_corpus_stats}
	if C.xf_corpus_get_stats(p, &s, nil) == C.XF_OK {
		corpus.stats = CorpusStats{int64(s.lines), int64(s.kept), int64(s.bad_columns), int64(s.empty_side),
			int64(s.too_long), int64(s.invalid_utf8), int64(s.nul_byte)}
	}
	return corpus
}

// OpenCorpus opens a file of pairs, one a line: source TAB target, UTF-8.
func (c *Context) OpenCorpus(ctx context.Context, path string, settings Settings) (*Corpus, error) {
	return create(ctx, c.h, kindCorpus, newCorpus, func(call *call, p **C.xf_corpus) status {
		return C.xf_corpus_open(c.in(call), call.config(settings), call.text("file name", path), p, &call.err)
	})
}

// OpenParallelCorpus opens two files with as many lines, a sentence each.
func (c *Context) OpenParallelCorpus(ctx context.Context, source, target string, settings Settings) (*Corpus, error) {
	return create(ctx, c.h, kindCorpus, newCorpus, func(call *call, p **C.xf_corpus) status {
		return C.xf_corpus_open_parallel(c.in(call), call.config(settings), call.text("file name", source),
			call.text("file name", target), p, &call.err)
	})
}

// NewCorpus makes a corpus from lines "source TAB target" in memory; messages call it name.
func (c *Context) NewCorpus(ctx context.Context, name string, lines []byte, settings Settings) (*Corpus, error) {
	return create(ctx, c.h, kindCorpus, newCorpus, func(call *call, p **C.xf_corpus) status {
		return C.xf_corpus_from_memory(c.in(call), call.config(settings), call.text("name", name), as[C.char](lines),
			C.size_t(len(lines)), p, &call.err)
	})
}

// NewCorpusFromPairs makes a corpus from pairs. Tabs and line ends in them are text.
func (c *Context) NewCorpusFromPairs(ctx context.Context, pairs []Pair, settings Settings) (*Corpus, error) {
	sources, targets := make([]string, len(pairs)), make([]string, len(pairs))
	for i, pair := range pairs {
		sources[i], targets[i] = pair.Source, pair.Target
	}
	return create(ctx, c.h, kindCorpus, newCorpus, func(call *call, p **C.xf_corpus) status {
		from, fromLengths := call.texts(sources)
		to, toLengths := call.texts(targets)
		return C.xf_corpus_from_pairs(c.in(call), call.config(settings), from, fromLengths, to, toLengths,
			C.size_t(len(pairs)), p, &call.err)
	})
}

// NewCorpusFromIDs makes a corpus, which has no text, from sources and targets of a tokenizer that is not this
// library's. Each sentence ends with TokenEnd.
func (c *Context) NewCorpusFromIDs(pairs Batch) (*Corpus, error) {
	return create(context.Background(), c.h, kindCorpus, newCorpus, func(call *call, p **C.xf_corpus) status {
		return C.xf_corpus_from_ids(c.in(call), call.batches(pairs), p, &call.err)
	})
}

// Subset makes a corpus of some pairs of this one, in the order wanted, again perhaps. Text is shared, not copied.
func (c *Corpus) Subset(indices []int64) (*Corpus, error) {
	return create(context.Background(), c.h, kindCorpus, newCorpus, func(call *call, p **C.xf_corpus) status {
		return C.xf_corpus_subset(c.in(call), as[C.int64_t](indices), C.size_t(len(indices)),
			p, &call.err)
	})
}

// Split holds out 1 to Len() - 1 pairs at random: for the same seed the same ones. Both corpora keep the order.
func (c *Corpus) Split(heldOutCount int, seed int64) (rest, heldOut *Corpus, err error) {
	rest, err = create(context.Background(), c.h, kindCorpus, newCorpus, func(call *call, p **C.xf_corpus) status {
		var second *C.xf_corpus
		found := C.xf_corpus_split(c.in(call), C.int64_t(heldOutCount), C.int64_t(seed), p, &second,
			&call.err)
		if found == C.XF_OK {
			heldOut = newCorpus(newHandle(kindCorpus, unsafe.Pointer(second), c.h.context()))
		}
		return found
	})
	return rest, heldOut, err
}

// Len is the number of pairs.
func (c *Corpus) Len() int {
	return c.size
}

// Stats tells how many lines were read, kept and skipped, and why.
func (c *Corpus) Stats() CorpusStats {
	return c.stats
}

// Pair is the text of the pair of an index from 0 to Len() - 1. It is ErrState in a corpus of ids.
func (c *Corpus) Pair(index int) (pair Pair, err error) {
	err = do(func(call *call) status {
		var source, target *C.char
		var sourceLength, targetLength C.size_t
		found := C.xf_corpus_get_pair(c.in(call), C.int64_t(index), &source, &sourceLength, &target, &targetLength,
			&call.err)
		if found == C.XF_OK {
			pair = Pair{text(source, sourceLength), text(target, targetLength)}
		}
		return found
	})
	return pair, err
}
