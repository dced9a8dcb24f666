// Tokenizers: text to ids and back.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

// #include "shim.h"
import "C"

import (
	"context"
	"unsafe"
)

// Side is one of the two sides of a sentence pair.
type Side int32

const (
	// SideSource is the source: what the encoder reads.
	SideSource Side = C.XF_SIDE_SOURCE
	// SideTarget is the target: what the decoder writes.
	SideTarget Side = C.XF_SIDE_TARGET
)

// TokenizerInfo contains the properties of a tokenizer.
type TokenizerInfo struct {
	// Kind is "bpe", "wordpiece", "unigram", "sentencepiece", or "pair".
	Kind string
	// VocabSize is V: ids are 0 to V - 1. 0 for a pair.
	VocabSize int
	// StartToken is the id of the start symbol, the decoder's first input, and EndToken that of the end symbol of every
	// source and target; -1: none, or a pair.
	StartToken, EndToken int32
}

// Tokenizer encodes text as ids and decodes ids. Any number of goroutines may use one concurrently. A pair, as MarianMT
// models have, contains a tokenizer for each side; see Side.
type Tokenizer struct {
	object
	info TokenizerInfo
}

func (t *Tokenizer) in(c *call) *C.xf_tokenizer {
	if t == nil {
		return nil
	}
	return (*C.xf_tokenizer)(c.hold(t.h))
}

func newTokenizer(h *handle) *Tokenizer {
	info := C.xf_tokenizer_info{struct_size: C.sizeof_xf_tokenizer_info}
	C.xf_tokenizer_get_info((*C.xf_tokenizer)(h.ptr), &info, nil) // cannot fail with these arguments
	return &Tokenizer{object{h}, TokenizerInfo{C.GoString(info.kind), int(info.vocab_size), int32(info.start_token),
		int32(info.end_token)}}
}

// TrainTokenizer trains a tokenizer on both sides of a corpus. It reads the options of the group "tokenizer.".
func (c *Context) TrainTokenizer(ctx context.Context, corpus *Corpus, settings Settings) (*Tokenizer, error) {
	return create(ctx, c.h, kindTokenizer, newTokenizer, func(call *call, p **C.xf_tokenizer) status {
		return C.xf_tokenizer_train(c.in(call), corpus.in(call), call.config(settings), call.xf, p, &call.err)
	})
}

// LoadTokenizer loads a tokenizer that Save or the converter wrote.
func (c *Context) LoadTokenizer(ctx context.Context, source Source) (*Tokenizer, error) {
	return create(ctx, c.h, kindTokenizer, newTokenizer, func(call *call, p **C.xf_tokenizer) status {
		return C.xf_tokenizer_load(c.in(call), call.sources(source), call.xf, p, &call.err)
	})
}

// Save saves the tokenizer as a JSON file; of a pair, it saves both sides.
func (t *Tokenizer) Save(ctx context.Context, sink Sink) error {
	return doLong(ctx, func(c *call) status { return C.xf_tokenizer_save(t.in(c), c.xf, c.sink(sink), &c.err) })
}

// Info returns the properties of the tokenizer.
func (t *Tokenizer) Info() TokenizerInfo {
	return t.info
}

// Side returns the tokenizer of one side, which is valid until this one is closed. If this tokenizer is not a pair,
// both sides are the tokenizer itself.
func (t *Tokenizer) Side(side Side) (tokenizer *Tokenizer, err error) {
	err = do(func(c *call) status {
		p := C.xf_tokenizer_side(t.in(c), C.int32_t(side))
		if p == nil {
			c.abort(invalid("the side is %d, expected SideSource or SideTarget", int32(side)))
		}
		tokenizer = newTokenizer(t.h.part(kindTokenizer, unsafe.Pointer(p)))
		return C.XF_OK
	})
	return tokenizer, err
}

// Encode encodes text as ids, without start, end, and language tokens; see Model.Encode for these. It returns ErrData
// for invalid UTF-8, unless the tokenizer was trained with "tokenizer.invalid_utf8" replace, and ErrState for a pair.
func (t *Tokenizer) Encode(text string) (ids []int32, err error) {
	data := []byte(text)
	err = do(func(c *call) (found status) {
		p := t.in(c)
		ids, found = filled(make([]int32, len(text)+8), func(room []int32, count *C.size_t) status {
			return C.xf_tokenizer_encode(p, as[C.char](data), C.size_t(len(data)), as[C.int32_t](room), C.size_t(len(room)),
				count, &c.err)
		})
		return found
	})
	return ids, err
}

// Decode decodes ids as text. Control symbols produce no text. With "tokenizer.normalization" none, the text may be
// invalid UTF-8.
func (t *Tokenizer) Decode(ids []int32) (string, error) {
	return filledText(8*len(ids)+16, func(c *call, room *C.char, capacity C.size_t, length *C.size_t) status {
		return C.xf_tokenizer_decode(t.in(c), as[C.int32_t](ids), C.size_t(len(ids)), room, capacity, length, &c.err)
	})
}

// Piece returns a readable name of an id: "</s>", "<0xC3>", or the piece with U+2581 for a leading space.
func (t *Tokenizer) Piece(id int32) (string, error) {
	return filledText(64, func(c *call, room *C.char, capacity C.size_t, length *C.size_t) status {
		return C.xf_tokenizer_get_piece(t.in(c), C.int32_t(id), room, capacity, length, &c.err)
	})
}
