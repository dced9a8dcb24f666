// The Transformer's parameters, in memory and in a file.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

// #include "shim.h"
import "C"

import (
	"context"
	"unsafe"
)

// ParamInfo is one parameter tensor.
type ParamInfo struct {
	// Name is a module path, such as "encoder.0.self_attention.q.weight".
	Name string
	// Rows and Columns are its shape; a vector has 1 row.
	Rows, Columns int64
}

// Model is a Transformer's parameters with their configuration and, perhaps, a tokenizer. Many decoders may share one.
type Model struct {
	object
	params []ParamInfo
	index  map[string]int
}

func (m *Model) in(c *call) *C.xf_model {
	if m == nil {
		return nil
	}
	return (*C.xf_model)(c.hold(m.h))
}

func newModel(h *handle) *Model {
	p := (*C.xf_model)(h.ptr)
	m := &Model{object: object{h}, index: make(map[string]int)}
	for i := C.size_t(0); i < C.xf_model_tensor_count(p); i++ {
		info := C.xf_tensor_info{struct_size: C.sizeof_xf_tensor_info}
		if C.xf_model_get_tensor(p, i, &info, nil) != C.XF_OK {
			break // fewer than it counts: those are not known here
		}
		m.params = append(m.params, ParamInfo{C.GoString(info.name), int64(info.rows), int64(info.columns)})
		m.index[m.params[i].Name] = int(i)
	}
	return m
}

// NewModel makes fresh parameters. It reads the options of the group "model."; without a tokenizer (nil)
// "model.vocab_size" must be set.
func (c *Context) NewModel(tokenizer *Tokenizer, settings Settings) (*Model, error) {
	return create(context.Background(), c.h, kindModel, newModel, func(call *call, p **C.xf_model) status {
		return C.xf_model_create(c.in(call), call.config(settings), tokenizer.in(call), p, &call.err)
	})
}

// LoadModel loads what Model.Save or Trainer.Save wrote. The file is checked before it is used.
func (c *Context) LoadModel(ctx context.Context, path string) (*Model, error) {
	return create(ctx, c.h, kindModel, newModel, func(call *call, p **C.xf_model) status {
		return C.xf_model_load(c.in(call), call.text("file name", path), p, &call.err)
	})
}

// LoadModelFrom loads a model from a file, from memory or by a reader.
func (c *Context) LoadModelFrom(ctx context.Context, source Source) (*Model, error) {
	return create(ctx, c.h, kindModel, newModel, func(call *call, p **C.xf_model) status {
		return C.xf_model_load_from(c.in(call), call.source(source), p, &call.err)
	})
}

// AverageFiles averages the parameters of several files of one model: the paper's last checkpoints.
func (c *Context) AverageFiles(ctx context.Context, paths []string) (*Model, error) {
	return create(ctx, c.h, kindModel, newModel, func(call *call, p **C.xf_model) status {
		return C.xf_model_average_files(c.in(call), call.names("file name", paths), C.size_t(len(paths)), p, &call.err)
	})
}

// Average averages the parameters of this model and others of the same configuration. The new one has its tokenizer,
// metadata and context.
func (m *Model) Average(ctx context.Context, others ...*Model) (*Model, error) {
	return create(ctx, m.h, kindModel, newModel, func(c *call, p **C.xf_model) status {
		all := newArray[*C.xf_model](c, 1+len(others))
		all[0] = m.in(c)
		for i, other := range others {
			all[i+1] = other.in(c)
		}
		return C.xf_model_average(first(all), C.size_t(len(all)), p, &c.err)
	})
}

// Copy makes a model of its own with tokenizer and metadata: in another context, or when that is nil in the model's.
func (m *Model) Copy(to *Context) (*Model, error) {
	home := m.h
	if to != nil {
		home = to.h
	}
	return create(context.Background(), home, kindModel, newModel, func(c *call, p **C.xf_model) status {
		return C.xf_model_copy(m.in(c), to.in(c), p, &c.err)
	})
}

// Save writes the model, replacing an old file at once or not at all; the old one stays as "<path>.prev". It reads the
// options of the group "file.": "file.precision" fp16 or bf16 halves the file and int8 quarters it; numbers are
// rounded.
func (m *Model) Save(ctx context.Context, path string, settings Settings) error {
	return doLong(ctx, m.h, func(c *call) status {
		return C.xf_model_save(m.in(c), c.config(settings), c.text("file name", path), &c.err)
	})
}

// Bytes is what Save writes.
func (m *Model) Bytes(ctx context.Context, settings Settings) (data []byte, err error) {
	err = doLong(ctx, m.h, func(c *call) (found status) {
		config := c.config(settings)
		data, found = filled(nil, func(room []byte, size *C.size_t) status {
			return C.xf_model_save_memory(m.in(c), config, unsafe.Pointer(first(room)), C.size_t(len(room)), size, &c.err)
		})
		return found
	})
	return data, err
}

// Config is a copy of the configuration the model was made with, "model.vocab_size" filled in.
func (m *Model) Config() (*Config, error) {
	return makeConfig(func(c *call, p **C.xf_config) status {
		return C.xf_config_copy(C.xf_model_config(m.in(c)), p, &c.err)
	})
}

// Tokenizer is the model's tokenizer, usable until the model is closed. It is ErrState when there is none.
func (m *Model) Tokenizer() (tokenizer *Tokenizer, err error) {
	err = do(func(c *call) status {
		p := C.xf_model_tokenizer(m.in(c))
		if p == nil {
			c.abort(newError(ErrState, 0, "the model has no tokenizer"))
		}
		tokenizer = newTokenizer(m.h.part(kindTokenizer, unsafe.Pointer(p)))
		return C.XF_OK
	})
	return tokenizer, err
}

// SetMetadata keeps a text with the model, in its files and checkpoints: where it came from, its languages, a licence.
func (m *Model) SetMetadata(key, value string) error {
	return m.setMetadata(key, func(c *call) *C.char { return c.text("value", value) })
}

// DeleteMetadata removes a text that is kept with the model, if there is one of that key.
func (m *Model) DeleteMetadata(key string) error {
	return m.setMetadata(key, func(*call) *C.char { return nil })
}

func (m *Model) setMetadata(key string, value func(*call) *C.char) error {
	lent.Lock()
	defer lent.Unlock()
	return do(func(c *call) status {
		return C.xf_model_set_metadata(m.in(c), c.text("key", key), value(c), &c.err)
	})
}

// Metadata is the texts that are kept with the model.
func (m *Model) Metadata() (map[string]string, error) {
	lent.Lock()
	defer lent.Unlock()
	all := make(map[string]string)
	err := do(func(c *call) status {
		p := m.in(c)
		for i := C.size_t(0); ; i++ {
			key := C.xf_model_metadata_key(p, i)
			if key == nil {
				return C.XF_OK
			}
			all[C.GoString(key)] = C.GoString(C.xf_model_metadata(p, key))
		}
	})
	return all, err
}

// Params describes the parameter tensors, in the order of the file.
func (m *Model) Params() []ParamInfo {
	return append([]ParamInfo(nil), m.params...)
}

// param is the index of a parameter, and room for it.
func (m *Model) param(name string) (index C.size_t, room []float32, err error) {
	i, ok := m.index[name]
	if !ok {
		return 0, nil, newError(ErrNotFound, 0, "the model has no parameter '"+name+"'")
	}
	return C.size_t(i), make([]float32, m.params[i].Rows*m.params[i].Columns), nil
}

// ReadParam is a copy of a parameter tensor, row-major.
func (m *Model) ReadParam(name string) ([]float32, error) {
	index, values, err := m.param(name)
	if err != nil {
		return nil, err
	}
	return values, do(func(c *call) status {
		return C.xf_model_read_tensor(m.in(c), index, as[C.float](values), C.size_t(len(values)), &c.err)
	})
}

// WriteParam replaces a parameter tensor by rows * columns finite numbers, row-major.
func (m *Model) WriteParam(name string, values []float32) error {
	index, _, err := m.param(name)
	if err != nil {
		return err
	}
	return do(func(c *call) status {
		return C.xf_model_write_tensor(m.in(c), index, as[C.float](values), C.size_t(len(values)), &c.err)
	})
}
