// The tokenizer: text to ids and back.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

/*
#include "shim.h"
*/
import "C"

import (
	"context"
	"strconv"
	"unsafe"
)

const (
	// TokenStart is the id of the start symbol, which the decoder is fed first.
	TokenStart = C.XF_TOKEN_START
	// TokenEnd is the id of the end symbol, which ends every source and every target.
	TokenEnd = C.XF_TOKEN_END
)

// Tokenizer is a byte pair encoding, shared by source and target. Many goroutines may use one at once.
type Tokenizer struct {
	h    *handle
	size int
}

func (t *Tokenizer) ptr() *C.xf_tokenizer {
	return (*C.xf_tokenizer)(t.h.pointer())
}

func freeTokenizer(p unsafe.Pointer) {
	C.xf_tokenizer_free((*C.xf_tokenizer)(p))
}

func wrapTokenizer(h *handle, p *C.xf_tokenizer, context *guard) *Tokenizer {
	return &Tokenizer{h.open(unsafe.Pointer(p), context), int(C.xf_tokenizer_vocab_size(p))}
}

func (c *Context) newTokenizer(p *C.xf_tokenizer) *Tokenizer {
	return wrapTokenizer(c.child(&guard{kind: "tokenizer"}, freeTokenizer), p, c.h.guard)
}

// TrainTokenizer learns a vocabulary from both sides of a corpus. It reads the options of the group "tokenizer.".
func (c *Context) TrainTokenizer(ctx context.Context, corpus *Corpus, settings Settings) (*Tokenizer, error) {
	if corpus == nil {
		return nil, invalid("the corpus is nil")
	}
	var tokenizer *Tokenizer
	err := using(settings, func(config *handle) error {
		return longRunning(ctx, false, func(e *C.xf_error) C.enum_xf_status {
			var p *C.xf_tokenizer
			status := C.xf_tokenizer_train(c.ptr(), config.config(), corpus.ptr(), &p, e)
			if status == C.XF_OK {
				tokenizer = c.newTokenizer(p)
			}
			return status
		}, reading(c.h), reading(config), reading(corpus.h))
	})
	return tokenizer, err
}

// LoadTokenizer loads what Save wrote. The file is checked before it is used.
func (c *Context) LoadTokenizer(path string) (*Tokenizer, error) {
	name, err := cString("file name", path)
	if err != nil {
		return nil, err
	}
	var tokenizer *Tokenizer
	err = call(func(e *C.xf_error) C.enum_xf_status {
		var p *C.xf_tokenizer
		status := C.xf_tokenizer_load(c.ptr(), chars(name), &p, e)
		if status == C.XF_OK {
			tokenizer = c.newTokenizer(p)
		}
		return status
	}, reading(c.h))
	return tokenizer, err
}

// Close frees the tokenizer. Models that use it keep it. It may be called again, and always returns nil.
func (t *Tokenizer) Close() error {
	t.h.close()
	return nil
}

// Save writes one JSON file, replacing an old file at once or not at all.
func (t *Tokenizer) Save(path string) error {
	name, err := cString("file name", path)
	if err != nil {
		return err
	}
	return call(func(e *C.xf_error) C.enum_xf_status {
		return C.xf_tokenizer_save(t.ptr(), chars(name), e)
	}, reading(t.h))
}

// Size is V, the number of ids.
func (t *Tokenizer) Size() int {
	return t.size
}

// Encode is the ids of a text, without start and end symbols. It is ErrData when the text is not UTF-8.
func (t *Tokenizer) Encode(text string) ([]int32, error) {
	found := make([]int32, len(text)+8)
	data := []byte(text)
	var count C.size_t
	err := t.grow(func() { found = make([]int32, count) }, func(e *C.xf_error) C.enum_xf_status {
		return C.xf_tokenizer_encode(t.ptr(), chars(data), C.size_t(len(data)), ids(found), C.size_t(len(found)), &count, e)
	})
	if err != nil {
		return nil, err
	}
	return found[:count], nil
}

// Decode is the text of ids; start and end symbols give nothing. With "tokenizer.normalization" none it need not be
// UTF-8.
func (t *Tokenizer) Decode(tokens []int32) (string, error) {
	return t.fill(8*len(tokens)+16, func(room []byte, length *C.size_t, e *C.xf_error) C.enum_xf_status {
		return C.xf_tokenizer_decode(t.ptr(), ids(tokens), C.size_t(len(tokens)), chars(room), C.size_t(len(room)), length,
			e)
	})
}

// Piece names an id for people: "</s>", "<0xC3>", or the piece with U+2581 for its leading space.
func (t *Tokenizer) Piece(id int32) (string, error) {
	return t.fill(64, func(room []byte, length *C.size_t, e *C.xf_error) C.enum_xf_status {
		return C.xf_tokenizer_get_piece(t.ptr(), C.int32_t(id), chars(room), C.size_t(len(room)), length, e)
	})
}

func (t *Tokenizer) fill(size int, f func([]byte, *C.size_t, *C.xf_error) C.enum_xf_status) (string, error) {
	room := make([]byte, size)
	var length C.size_t
	err := t.grow(func() { room = make([]byte, length+1) }, func(e *C.xf_error) C.enum_xf_status {
		return f(room, &length, e)
	})
	if err != nil {
		return "", err
	}
	return string(room[:length]), nil
}

// grow calls f, and once more with a larger buffer when the first was too small.
func (t *Tokenizer) grow(larger func(), f native) error {
	return call(func(e *C.xf_error) C.enum_xf_status {
		status := f(e)
		if status == C.XF_ERROR_BUFFER_TOO_SMALL {
			larger()
			status = f(e)
		}
		return status
	}, reading(t.h))
}

// Batch encodes and packs texts, each with its end symbol. targets is nil for decoding.
func (t *Tokenizer) Batch(sources, targets []string) (Batch, error) {
	from, err := t.sentences(sources)
	if err != nil || targets == nil {
		batch, _ := NewBatch(from, nil)
		return batch, err
	}
	to, err := t.sentences(targets)
	if err != nil {
		return Batch{}, err
	}
	return NewBatch(from, to)
}

func (t *Tokenizer) sentences(texts []string) ([][]int32, error) {
	all := make([][]int32, 0, len(texts))
	for i, text := range texts {
		tokens, err := t.Encode(text)
		if err != nil {
			if failed, ok := err.(*Error); ok && failed.Status == ErrData {
				failed.Message = "text " + strconv.Itoa(i) + ": " + failed.Message
			}
			return nil, err
		}
		all = append(all, append(tokens, TokenEnd))
	}
	return all, nil
}
