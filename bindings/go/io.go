// Sources and sinks: where models, tokenizers, and checkpoints are loaded from and saved to.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

// #include "shim.h"
import "C"

import (
	"bytes"
	"io"
	"os"
	"runtime"
	"runtime/cgo"
	"unsafe"
)

// Source contains the bytes of a file to load: a Path, or the result of FromBytes, FromFile, or FromReader. The content
// is not trusted.
type Source interface {
	source(c *call, s *C.xf_source)
}

// Sink is the destination of a file to save: a Path, or the result of ToBytes, ToFile, or ToWriter. A Path is replaced
// atomically: after an error or a crash the old file is intact, and after a success it remains as "<path>.prev". Other
// sinks are written in place, so their content is undefined after an error.
type Sink interface {
	sink(c *call, s *C.xf_sink)
}

// Path is a file name, as a Source or a Sink.
type Path string

func (p Path) source(c *call, s *C.xf_source) {
	s.kind, s.path = C.XF_IO_PATH, c.text("file name", string(p))
}

func (p Path) sink(c *call, s *C.xf_sink) {
	s.kind, s.path = C.XF_IO_PATH, c.text("file name", string(p))
}

type reader struct {
	io.ReaderAt
	size int64
}

// FromBytes returns a Source of bytes in memory, which must not change during the call.
func FromBytes(data []byte) Source {
	return FromReader(bytes.NewReader(data), int64(len(data)))
}

// FromReader returns a Source of size bytes, which the library reads on the goroutine of the call. An error of r stops
// the call, which returns an error that matches both ErrIO and the error of r.
func FromReader(r io.ReaderAt, size int64) Source {
	return &reader{r, size}
}

func (r *reader) source(c *call, s *C.xf_source) {
	if r.size < 0 {
		c.abort(invalid("the size of the source is %d, expected 0 or more", r.size))
	}
	s.size = C.uint64_t(r.size)
	C.xfgo_set_reader(s, c.handle(r.ReaderAt))
}

type writer struct {
	io.WriterAt
}

// ToWriter returns a Sink that is written on the goroutine of the call. The first bytes are written again at the end,
// when the checksum is known. An error of w stops the call, which returns an error that matches both ErrIO and the
// error of w.
func ToWriter(w io.WriterAt) Sink {
	return &writer{w}
}

func (w *writer) sink(c *call, s *C.xf_sink) {
	C.xfgo_set_writer(s, c.handle(w.WriterAt))
}

type buffer struct {
	data *[]byte
}

// ToBytes returns a Sink that replaces the content of *data.
func ToBytes(data *[]byte) Sink {
	return &buffer{data}
}

func (b *buffer) sink(c *call, s *C.xf_sink) {
	*b.data = (*b.data)[:0]
	ToWriter(b).sink(c, s)
}

func (b *buffer) WriteAt(p []byte, offset int64) (int, error) {
	if missing := offset + int64(len(p)) - int64(len(*b.data)); missing > 0 {
		*b.data = append(*b.data, make([]byte, missing)...)
	}
	return copy((*b.data)[offset:], p), nil
}

type file struct {
	*os.File
}

// FromFile returns a Source that reads an open regular file from its beginning. The position of the file is neither
// used nor changed, and the file is not closed.
func FromFile(f *os.File) Source {
	return file{f}
}

// ToFile returns a Sink that truncates an open regular file, writes it from its beginning, and synchronizes it. The
// position of the file is neither used nor changed, and the file is not closed.
func ToFile(f *os.File) Sink {
	return file{f}
}

// descriptor returns the descriptor of the file, which is not closed by the collector before the call ends.
func (f file) descriptor(c *call) C.int32_t {
	c.atEnd = append(c.atEnd, func() { runtime.KeepAlive(f.File) })
	return C.int32_t(f.Fd())
}

func (f file) source(c *call, s *C.xf_source) {
	s.kind, s.fd = C.XF_IO_DESCRIPTOR, f.descriptor(c)
}

func (f file) sink(c *call, s *C.xf_sink) {
	s.kind, s.fd = C.XF_IO_DESCRIPTOR, f.descriptor(c)
}

// sources converts sources for C.
func (c *call) sources(all ...Source) *C.xf_source {
	given := newArray[C.xf_source](c, len(all))
	for i, s := range all {
		if s == nil {
			c.abort(invalid("source %d is nil", i))
		}
		given[i] = C.xf_source{struct_size: C.sizeof_xf_source}
		s.source(c, &given[i])
	}
	return first(given)
}

// sink converts a sink for C.
func (c *call) sink(s Sink) *C.xf_sink {
	if s == nil {
		c.abort(invalid("the sink is nil"))
	}
	given := first(newArray[C.xf_sink](c, 1))
	*given = C.xf_sink{struct_size: C.sizeof_xf_sink}
	s.sink(c, given)
	return given
}

//export xfgoRead
func xfgoRead(user C.uintptr_t, offset C.uint64_t, to unsafe.Pointer, count C.size_t) C.int32_t {
	return keep(func() error {
		source := cgo.Handle(user).Value().(io.ReaderAt)
		read, err := source.ReadAt(unsafe.Slice((*byte)(to), int(count)), int64(offset))
		if read == int(count) {
			return nil // io.EOF at the end is not an error
		}
		if err == nil || err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return err
	})
}

//export xfgoWrite
func xfgoWrite(user C.uintptr_t, offset C.uint64_t, from unsafe.Pointer, count C.size_t) C.int32_t {
	return keep(func() error {
		sink := cgo.Handle(user).Value().(io.WriterAt)
		written, err := sink.WriteAt(unsafe.Slice((*byte)(from), int(count)), int64(offset))
		if err == nil && written < int(count) {
			err = io.ErrShortWrite
		}
		return err
	})
}
