// Sentence pairs.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

/*
#include "shim.h"
*/
import "C"

import (
	"context"
	"strings"
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

// Corpus is sentence pairs as text. It does not change. Bad lines are skipped, counted and told to the log; with the
// option "data.strict" the first one is ErrData.
type Corpus struct {
	h       *handle
	context *Context
	size    int64
	stats   CorpusStats
}

func (c *Corpus) ptr() *C.xf_corpus {
	return (*C.xf_corpus)(c.h.pointer())
}

func freeCorpus(p unsafe.Pointer) {
	C.xf_corpus_free((*C.xf_corpus)(p))
}

// open makes a corpus by a function of the library. It does not begin anew by itself: what it reads may be a pipe.
func (c *Context) openCorpus(ctx context.Context, settings Settings,
	f func(config *C.xf_config, p **C.xf_corpus, e *C.xf_error) C.enum_xf_status) (*Corpus, error) {
	var corpus *Corpus
	err := using(settings, func(config *handle) error {
		return longRunning(ctx, false, func(e *C.xf_error) C.enum_xf_status {
			var p *C.xf_corpus
			status := f(config.config(), &p, e)
			if status != C.XF_OK {
				return status
			}
			corpus = &Corpus{context: c, size: int64(C.xf_corpus_pair_count(p))}
			corpus.h = c.child(&guard{kind: "corpus"}, freeCorpus).open(unsafe.Pointer(p), c.h.guard)
			s := C.xf_corpus_stats{struct_size: C.sizeof_xf_corpus_stats}
			status = C.xf_corpus_get_stats(p, &s, e)
			corpus.stats = CorpusStats{int64(s.lines), int64(s.kept), int64(s.bad_columns), int64(s.empty_side),
				int64(s.too_long), int64(s.invalid_utf8), int64(s.nul_byte)}
			return status
		}, reading(c.h), reading(config))
	})
	if err != nil {
		return nil, err
	}
	return corpus, nil
}

// OpenCorpus opens a file of pairs, one a line: source TAB target, UTF-8.
func (c *Context) OpenCorpus(ctx context.Context, path string, settings Settings) (*Corpus, error) {
	name, err := cString("file name", path)
	if err != nil {
		return nil, err
	}
	return c.openCorpus(ctx, settings, func(config *C.xf_config, p **C.xf_corpus, e *C.xf_error) C.enum_xf_status {
		return C.xf_corpus_open(c.ptr(), config, chars(name), p, e)
	})
}

// OpenParallelCorpus opens two files with as many lines, a sentence each.
func (c *Context) OpenParallelCorpus(ctx context.Context, source, target string, settings Settings) (*Corpus, error) {
	sources, err := cString("file name", source)
	if err != nil {
		return nil, err
	}
	targets, err := cString("file name", target)
	if err != nil {
		return nil, err
	}
	return c.openCorpus(ctx, settings, func(config *C.xf_config, p **C.xf_corpus, e *C.xf_error) C.enum_xf_status {
		return C.xf_corpus_open_parallel(c.ptr(), config, chars(sources), chars(targets), p, e)
	})
}

// NewCorpus makes a corpus from lines "source TAB target" in memory; messages call it name.
func (c *Context) NewCorpus(ctx context.Context, name string, lines []byte, settings Settings) (*Corpus, error) {
	title, err := cString("name", name)
	if err != nil {
		return nil, err
	}
	return c.openCorpus(ctx, settings, func(config *C.xf_config, p **C.xf_corpus, e *C.xf_error) C.enum_xf_status {
		return C.xf_corpus_from_memory(c.ptr(), config, chars(title), chars(lines), C.size_t(len(lines)), p, e)
	})
}

// NewCorpusFromPairs makes a corpus from pairs, which may not hold tabs or line ends.
func (c *Context) NewCorpusFromPairs(ctx context.Context, pairs []Pair, settings Settings) (*Corpus, error) {
	var lines []byte
	for i, pair := range pairs {
		if strings.ContainsAny(pair.Source, "\t\n\r") || strings.ContainsAny(pair.Target, "\t\n\r") {
			return nil, invalid("pair %d is %q, %q, expected no tab and no line end", i, pair.Source, pair.Target)
		}
		lines = append(append(lines, pair.Source...), '\t')
		lines = append(append(lines, pair.Target...), '\n')
	}
	return c.NewCorpus(ctx, "pairs", lines, settings)
}

// Close frees the corpus. Batchers keep what they need. It may be called again, and always returns nil.
func (c *Corpus) Close() error {
	c.h.close()
	return nil
}

// Len is the number of pairs.
func (c *Corpus) Len() int {
	return int(c.size)
}

// Stats tells how many lines were read, kept and skipped, and why.
func (c *Corpus) Stats() CorpusStats {
	return c.stats
}

// Pair is the pair of an index from 0 to Len() - 1.
func (c *Corpus) Pair(index int) (Pair, error) {
	var pair Pair
	err := call(func(e *C.xf_error) C.enum_xf_status {
		var source, target *C.char
		var sourceLength, targetLength C.size_t
		status := C.xf_corpus_get_pair(c.ptr(), C.int64_t(index), &source, &sourceLength, &target, &targetLength, e)
		if status == C.XF_OK {
			pair = Pair{text(source, sourceLength), text(target, targetLength)}
		}
		return status
	}, reading(c.h))
	return pair, err
}
