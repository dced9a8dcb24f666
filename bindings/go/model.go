// The Transformer's parameters, in memory and in a file.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

/*
#include "shim.h"
*/
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
	h       *handle
	context *Context
	params  []ParamInfo
	index   map[string]C.size_t
}

func (m *Model) ptr() *C.xf_model {
	return (*C.xf_model)(m.h.pointer())
}

func freeModel(p unsafe.Pointer) {
	C.xf_model_free((*C.xf_model)(p))
}

// wrapModel makes a model of a pointer. A model that is part of a trainer has that as its owner, and its guard.
func (c *Context) wrapModel(h *handle, p *C.xf_model) *Model {
	m := &Model{h: h.open(unsafe.Pointer(p), c.h.guard), context: c, index: make(map[string]C.size_t)}
	for i := C.size_t(0); i < C.xf_model_tensor_count(p); i++ {
		info := C.xf_tensor_info{struct_size: C.sizeof_xf_param_info}
		if C.xf_model_get_tensor(p, i, &info, nil) != C.XF_OK {
			break // fewer than it counts: those are not known here
		}
		param := ParamInfo{C.GoString(info.name), int64(info.rows), int64(info.columns)}
		m.params = append(m.params, param)
		m.index[param.Name] = i
	}
	return m
}

// makeModel makes a model by a function of the library.
func (c *Context) makeModel(f func(p **C.xf_model, e *C.xf_error) C.enum_xf_status, model **Model) native {
	return func(e *C.xf_error) C.enum_xf_status {
		var p *C.xf_model
		status := f(&p, e)
		if status == C.XF_OK {
			*model = c.wrapModel(c.child(&guard{kind: "model"}, freeModel), p)
		}
		return status
	}
}

// NewModel makes fresh parameters. It reads the options of the group "model."; without a tokenizer (nil)
// "model.vocab_size" must be set.
func (c *Context) NewModel(tokenizer *Tokenizer, settings Settings) (*Model, error) {
	var words *handle
	if tokenizer != nil {
		words = tokenizer.h
	}
	var model *Model
	err := using(settings, func(config *handle) error {
		return call(c.makeModel(func(p **C.xf_model, e *C.xf_error) C.enum_xf_status {
			return C.xf_model_create(c.ptr(), config.config(), (*C.xf_tokenizer)(words.pointer()), p, e)
		}, &model), reading(c.h), reading(config), reading(words))
	})
	return model, err
}

// LoadModel loads what Model.Save or Trainer.Save wrote. The file is checked before it is used.
func (c *Context) LoadModel(path string) (*Model, error) {
	name, err := cString("file name", path)
	if err != nil {
		return nil, err
	}
	var model *Model
	err = call(c.makeModel(func(p **C.xf_model, e *C.xf_error) C.enum_xf_status {
		return C.xf_model_load(c.ptr(), chars(name), p, e)
	}, &model), reading(c.h))
	return model, err
}

// AverageModels loads several files of one model and averages their parameters.
func (c *Context) AverageModels(ctx context.Context, paths []string) (*Model, error) {
	names, err := newCStringArray("file name", paths)
	if err != nil {
		return nil, err
	}
	var model *Model
	err = longRunning(ctx, false, c.makeModel(func(p **C.xf_model, e *C.xf_error) C.enum_xf_status {
		return C.xfgo_model_average(c.ptr(), chars(names.text), first(names.lengths), C.size_t(len(paths)), p, e)
	}, &model), reading(c.h))
	return model, err
}

// Close gives up the model. Trainers and decoders keep it. It may be called again, and always returns nil.
func (m *Model) Close() error {
	m.h.close()
	return nil
}

// Save writes the model, replacing an old file at once or not at all; the old one stays as "<path>.prev".
func (m *Model) Save(path string) error {
	name, err := cString("file name", path)
	if err != nil {
		return err
	}
	return call(func(e *C.xf_error) C.enum_xf_status {
		return C.xf_model_save(m.ptr(), chars(name), e)
	}, reading(m.h))
}

// Export writes the model as the options of the group "file." say: "file.precision" fp16 or bf16 halves the file.
// Numbers are rounded; LoadModel widens them.
func (m *Model) Export(path string, settings Settings) error {
	name, err := cString("file name", path)
	if err != nil {
		return err
	}
	return using(settings, func(config *handle) error {
		return call(func(e *C.xf_error) C.enum_xf_status {
			return C.xf_model_export(m.ptr(), config.config(), chars(name), e)
		}, reading(m.h), reading(config))
	})
}

// Config is a copy of the configuration the model was made with, "model.vocab_size" filled in.
func (m *Model) Config() (*Config, error) {
	var config *Config
	err := call(func(e *C.xf_error) C.enum_xf_status {
		return copyConfig(C.xf_model_config(m.ptr()), &config, e)
	}, reading(m.h))
	return config, err
}

// Tokenizer is the model's tokenizer, usable until the model is closed. It is ErrState when there is none.
func (m *Model) Tokenizer() (*Tokenizer, error) {
	var tokenizer *Tokenizer
	err := call(func(e *C.xf_error) C.enum_xf_status {
		if p := C.xf_model_tokenizer(m.ptr()); p != nil {
			h := &handle{guard: &guard{kind: "tokenizer"}, family: m.h.family, owner: m.h}
			tokenizer = wrapTokenizer(h, p, m.context.h.guard)
		}
		return C.XF_OK
	}, reading(m.h))
	if err == nil && tokenizer == nil {
		err = stateError(nil, "the model has no tokenizer")
	}
	return tokenizer, err
}

// Params describes the parameter tensors, in the order of the file.
func (m *Model) Params() []ParamInfo {
	return append([]ParamInfo(nil), m.params...)
}

// param is the index and the size of a parameter.
func (m *Model) param(name string) (index C.size_t, size int64, err error) {
	index, ok := m.index[name]
	if !ok {
		return 0, 0, newError(ErrNotFound, 0, "the model has no parameter '"+name+"'")
	}
	return index, m.params[index].Rows * m.params[index].Columns, nil
}

// ReadParam is a copy of a parameter tensor, row-major.
func (m *Model) ReadParam(name string) ([]float32, error) {
	index, size, err := m.param(name)
	if err != nil {
		return nil, err
	}
	values := make([]float32, size)
	err = call(func(e *C.xf_error) C.enum_xf_status {
		return C.xf_model_read_tensor(m.ptr(), index, (*C.float)(unsafe.Pointer(first(values))), C.size_t(size), e)
	}, reading(m.h))
	if err != nil {
		return nil, err
	}
	return values, nil
}

// WriteParam replaces a parameter tensor by rows * columns finite numbers, row-major.
func (m *Model) WriteParam(name string, values []float32) error {
	index, _, err := m.param(name)
	if err != nil {
		return err
	}
	return call(func(e *C.xf_error) C.enum_xf_status {
		return C.xf_model_write_tensor(m.ptr(), index, (*C.float)(unsafe.Pointer(first(values))), C.size_t(len(values)), e)
	}, writing(m.h))
}
