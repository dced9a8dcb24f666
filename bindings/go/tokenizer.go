// The tokenizer: text to ids and back.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

// #include "shim.h"
import "C"

import (
	"context"
	"strconv"
)

const (
	// TokenStart is the id of the start symbol, which the decoder is fed first.
	TokenStart = C.XF_TOKEN_START
	// TokenEnd is the id of the end symbol, which ends every source and every target.
	TokenEnd = C.XF_TOKEN_END
)

// Tokenizer is byte pair encoding, WordPiece or unigram, shared by source and target. Many goroutines may use one at once.
type Tokenizer struct {
	object
	size       int
	start, end int32
}

func (t *Tokenizer) in(c *call) *C.xf_tokenizer {
	if t == nil {
		return nil
	}
	return (*C.xf_tokenizer)(c.hold(t.h))
}

func newTokenizer(h *handle) *Tokenizer {
	p := (*C.xf_tokenizer)(h.ptr)
	return &Tokenizer{object{h}, int(C.xf_tokenizer_vocab_size(p)), int32(C.xf_tokenizer_start_token(p)),
		int32(C.xf_tokenizer_end_token(p))}
}

// TrainTokenizer learns a vocabulary from both sides of a corpus. It reads the options of the group "tokenizer.".
func (c *Context) TrainTokenizer(ctx context.Context, corpus *Corpus, settings Settings) (*Tokenizer, error) {
	return create(ctx, c.h, kindTokenizer, newTokenizer, func(call *call, p **C.xf_tokenizer) status {
		return C.xf_tokenizer_train(c.in(call), call.config(settings), corpus.in(call), p, &call.err)
	})
}

// LoadTokenizer loads what Save wrote. The file is checked before it is used.
func (c *Context) LoadTokenizer(path string) (*Tokenizer, error) {
	return create(context.Background(), c.h, kindTokenizer, newTokenizer, func(call *call, p **C.xf_tokenizer) status {
		return C.xf_tokenizer_load(c.in(call), call.text("file name", path), p, &call.err)
	})
}

// Save writes one JSON file, replacing an old file at once or not at all.
func (t *Tokenizer) Save(path string) error {
	return do(func(c *call) status { return C.xf_tokenizer_save(t.in(c), c.text("file name", path), &c.err) })
}

// StartToken is the id of the start symbol, TokenStart of a tokenizer learnt here; -1 when it has none.
func (t *Tokenizer) StartToken() int32 {
	return t.start
}

// EndToken is the id of the end symbol, TokenEnd of a tokenizer learnt here; -1 when it has none.
func (t *Tokenizer) EndToken() int32 {
	return t.end
}

// Size is V, the number of ids.
func (t *Tokenizer) Size() int {
	return t.size
}

// Encode is the ids of a text, without start and end symbols. It is ErrData when the text is not UTF-8, unless the
// tokenizer was made with "tokenizer.invalid_utf8" replace.
func (t *Tokenizer) Encode(text string) (tokens []int32, err error) {
	data := []byte(text)
	err = do(func(c *call) (found status) {
		tokens, found = filled(make([]int32, len(text)+8), func(room []int32, count *C.size_t) status {
			return C.xf_tokenizer_encode(t.in(c), as[C.char](data), C.size_t(len(data)), as[C.int32_t](room),
				C.size_t(len(room)), count, &c.err)
		})
		return found
	})
	return tokens, err
}

// Decode is the text of ids, without start and end symbols. With "tokenizer.normalization" none it need not be UTF-8.
func (t *Tokenizer) Decode(tokens []int32) (string, error) {
	return textOf(8*len(tokens)+16, func(c *call, room []byte, length *C.size_t) status {
		return C.xf_tokenizer_decode(t.in(c), as[C.int32_t](tokens), C.size_t(len(tokens)), as[C.char](room),
			C.size_t(len(room)), length, &c.err)
	})
}

// Piece names an id for people: "</s>", "<0xC3>", or the piece with U+2581 for its leading space.
func (t *Tokenizer) Piece(id int32) (string, error) {
	return textOf(64, func(c *call, room []byte, length *C.size_t) status {
		return C.xf_tokenizer_get_piece(t.in(c), C.int32_t(id), as[C.char](room), C.size_t(len(room)), length, &c.err)
	})
}

func textOf(size int, f func(c *call, room []byte, length *C.size_t) status) (string, error) {
	var text []byte
	err := do(func(c *call) (found status) {
		text, found = filled(make([]byte, size), func(room []byte, length *C.size_t) status { return f(c, room, length) })
		return found
	})
	return string(text), err
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
		all = append(all, append(tokens, t.end))
	}
	return all, nil
}
