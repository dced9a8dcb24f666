// Where the bytes of a model come from, and what they hold.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

// #include "shim.h"
import "C"

import (
	"bytes"
	"io"
	"runtime/cgo"
	"unsafe"
)

// Source is where the bytes of a model come from.
type Source struct {
	path   string
	reader io.ReaderAt
	size   int64
}

// FromFile is a model in a file.
func FromFile(path string) Source {
	return Source{path: path}
}

// FromBytes is a model in memory, as Model.Bytes gives it. It is read during the call, and not kept.
func FromBytes(data []byte) Source {
	return FromReader(bytes.NewReader(data), int64(len(data)))
}

// FromReader is a model of size bytes that reader gives, on the goroutine of the call. An error of it ends the call,
// which returns one that is both ErrIO and this one.
func FromReader(reader io.ReaderAt, size int64) Source {
	return Source{reader: reader, size: size}
}

// source gives C a source.
func (c *call) source(s Source) *C.xf_source {
	given := first(newArray[C.xf_source](c, 1))
	*given = C.xf_source{struct_size: C.sizeof_xf_source, fd: -1}
	if s.reader == nil {
		// C's own copy: a struct may not point into Go memory.
		paths := c.names("file name", []string{s.path})
		given.path = *paths
		return given
	}
	if s.size < 0 {
		c.abort(invalid("the size is %d, expected 0 or more", s.size))
	}
	given.size = C.uint64_t(s.size)
	C.xfgo_set_reader(given, c.handle(s.reader))
	return given
}

//export xfgoRead
func xfgoRead(user C.uintptr_t, offset C.uint64_t, to unsafe.Pointer, count C.size_t) C.int32_t {
	return keep(func() error {
		reader := cgo.Handle(user).Value().(io.ReaderAt)
		read, err := reader.ReadAt(unsafe.Slice((*byte)(to), int(count)), int64(offset))
		if read == int(count) {
			return nil // io.EOF at the end is no error
		}
		if err == nil || err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return err
	})
}

// ModelSummary is what a model file holds and needs.
type ModelSummary struct {
	// Parameters is how many numbers it has, VocabSize is V, FileBytes its size.
	Parameters, VocabSize, FileBytes int64
	// DecodeBytes and TrainBytes are upper estimates of the memory to translate with it and to train it.
	DecodeBytes, TrainBytes int64
	// Step is the updates made, of a checkpoint; -1 of a model.
	Step int64
	// HasTokenizer tells that one is inside.
	HasTokenizer bool
	// Precision of the matrices in the file is "fp32", "fp16", "bf16" or "int8".
	Precision string
}

// InspectModel reads what a model file holds and what it would need, from its header alone. The estimates are for the
// options of "decode." and "data.".
func (c *Context) InspectModel(source Source, settings Settings) (ModelSummary, error) {
	s := C.xf_model_summary{struct_size: C.sizeof_xf_model_summary}
	err := do(func(call *call) status {
		return C.xf_model_inspect(c.in(call), call.config(settings), call.source(source), &s, &call.err)
	})
	return ModelSummary{int64(s.parameters), int64(s.vocab_size), int64(s.file_bytes), int64(s.decode_bytes),
		int64(s.train_bytes), int64(s.step), s.has_tokenizer != 0, C.GoString(&s.precision[0])}, err
}
