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

// CorpusStats contains line counts of a corpus. Lines is the sum of the others.
type CorpusStats struct {
	// Lines is the number of lines read, Kept the number of pairs kept.
	Lines, Kept int64
	// BadColumns lines do not have exactly one tab, EmptySide lines have an empty side, TooLong lines have a side longer
	// than "data.max_bytes", InvalidUTF8 lines are not UTF-8, and NULByte lines contain a NUL byte.
	BadColumns, EmptySide, TooLong, InvalidUTF8, NULByte int64
}

// Pair is a sentence and its translation.
type Pair struct {
	Source, Target string
}

// Corpus contains sentence pairs, as text or as ids. It is immutable. Bad lines and pairs are skipped, counted, and
// logged; with the option "data.strict" the first one is an error (ErrData).
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

// OpenCorpus opens a file or a folder of pairs, one per line: source TAB target, in UTF-8.
func (c *Context) OpenCorpus(ctx context.Context, path string, settings Settings) (*Corpus, error) {
	return create(ctx, c.h, kindCorpus, newCorpus, func(call *call, p **C.xf_corpus) status {
		return C.xf_corpus_open(c.in(call), call.text("file name", path), nil, call.config(settings), call.xf, p, &call.err)
	})
}

// OpenParallelCorpus opens two parallel files or folders, with one sentence per line.
func (c *Context) OpenParallelCorpus(ctx context.Context, source, target string, settings Settings) (*Corpus, error) {
	return create(ctx, c.h, kindCorpus, newCorpus, func(call *call, p **C.xf_corpus) status {
		return C.xf_corpus_open(c.in(call), call.text("file name", source), call.text("file name", target),
			call.config(settings), call.xf, p, &call.err)
	})
}

// EncodeCorpus encodes pairs and writes an encoded corpus, which may be larger than memory. It continues what an earlier
// call has begun. OpenCorpus opens the folder.
func (c *Context) EncodeCorpus(ctx context.Context, path string, tokenizer *Tokenizer, folder string,
	settings Settings) error {
	return doLong(ctx, func(call *call) status {
		return C.xf_corpus_encode(c.in(call), call.text("file name", path), nil, tokenizer.in(call),
			call.config(settings), call.xf, call.text("file name", folder), &call.err)
	})
}

// EncodeParallelCorpus encodes two parallel files or folders as EncodeCorpus does.
func (c *Context) EncodeParallelCorpus(ctx context.Context, source, target string, tokenizer *Tokenizer,
	folder string, settings Settings) error {
	return doLong(ctx, func(call *call) status {
		return C.xf_corpus_encode(c.in(call), call.text("file name", source), call.text("file name", target),
			tokenizer.in(call), call.config(settings), call.xf, call.text("file name", folder), &call.err)
	})
}

// NewCorpus creates a corpus from pairs in memory. The texts are copied and may contain tabs and line ends.
func (c *Context) NewCorpus(ctx context.Context, pairs []Pair, settings Settings) (*Corpus, error) {
	return create(ctx, c.h, kindCorpus, newCorpus, func(call *call, p **C.xf_corpus) status {
		sources, sourceLengths, targets, targetLengths := call.pairs(pairs)
		return C.xf_corpus_from_pairs(c.in(call), sources, sourceLengths, targets, targetLengths, C.size_t(len(pairs)),
			call.config(settings), call.xf, p, &call.err)
	})
}

// pairs returns the texts of pairs and their lengths.
func (c *call) pairs(pairs []Pair) (sources **C.char, sourceLengths *C.size_t, targets **C.char,
	targetLengths *C.size_t) {
	from, to := make([]string, len(pairs)), make([]string, len(pairs))
	for i, pair := range pairs {
		from[i], to[i] = pair.Source, pair.Target
	}
	sources, sourceLengths = c.texts(from)
	targets, targetLengths = c.texts(to)
	return sources, sourceLengths, targets, targetLengths
}

// NewCorpusFromIDs creates a corpus of ids, for programs with their own tokenizer. All sentences end with the same end
// symbol, optionally followed by a language token. The corpus contains no text.
func (c *Context) NewCorpusFromIDs(ctx context.Context, pairs Batch) (*Corpus, error) {
	return create(ctx, c.h, kindCorpus, newCorpus, func(call *call, p **C.xf_corpus) status {
		return C.xf_corpus_from_ids(c.in(call), call.batches(pairs), call.xf, p, &call.err)
	})
}

// Subset creates a corpus from some pairs of this one, in the order of indices, which may repeat. The text is shared.
func (c *Corpus) Subset(indices []int64) (*Corpus, error) {
	return create(context.Background(), c.h, kindCorpus, newCorpus, func(call *call, p **C.xf_corpus) status {
		return C.xf_corpus_subset(c.in(call), as[C.int64_t](indices), C.size_t(len(indices)), p, &call.err)
	})
}

// Split selects heldOutCount pairs at random, from 1 to Len() - 1; the same seed selects the same pairs. Both corpora
// keep the order of this one.
func (c *Corpus) Split(heldOutCount int, seed int64) (rest, heldOut *Corpus, err error) {
	rest, err = create(context.Background(), c.h, kindCorpus, newCorpus, func(call *call, p **C.xf_corpus) status {
		var second *C.xf_corpus
		found := C.xf_corpus_split(c.in(call), C.int64_t(heldOutCount), C.int64_t(seed), p, &second, &call.err)
		if found == C.XF_OK {
			heldOut = newCorpus(newHandle(kindCorpus, unsafe.Pointer(second), c.h.context()))
		}
		return found
	})
	return rest, heldOut, err
}

// Len returns the number of pairs.
func (c *Corpus) Len() int {
	return c.size
}

// Stats returns the numbers of lines that were read, kept, and skipped.
func (c *Corpus) Stats() CorpusStats {
	return c.stats
}

// Pair returns the text of a pair; index is 0 to Len() - 1. It returns ErrState for a corpus of ids.
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
