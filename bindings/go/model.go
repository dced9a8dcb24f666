// The parameters of a Transformer, in memory and in files.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

// #include "shim.h"
import "C"

import (
	"context"
	"strconv"
	"unsafe"
)

// TensorInfo describes one parameter tensor.
type TensorInfo struct {
	// Name is a module path, for example "encoder.0.self_attention.q.weight".
	Name string
	// Type is the type in memory.
	Type Type
	// Shape contains 1 to 4 sizes, slowest first: outputs and inputs of a linear map, ids and d_model of an embedding.
	Shape []int64
}

// Size returns the number of elements, the product of the shape.
func (t TensorInfo) Size() int64 {
	size := int64(1)
	for _, dim := range t.Shape {
		size *= dim
	}
	return size
}

// Model contains the parameters of a Transformer, its configuration, and optionally a tokenizer. Any number of decoders
// may share one model.
//
// The option "model.weights" of LoadModel, Copy, and Save selects the type of the matrices: same, fp32, fp16, bf16, or
// int8. A model with fp32 matrices can be trained. Models with the other types are quantized: they need half or a
// quarter of the memory, and can only decode, score, and evaluate.
type Model struct {
	object
	tensors []TensorInfo
	index   map[string]int
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
			break // cannot happen with these arguments
		}
		m.tensors = append(m.tensors, TensorInfo{C.GoString(info.name), Type(info._type),
			copied[int64](&info.shape[0], int(info.dims))})
		m.index[m.tensors[i].Name] = int(i)
	}
	return m
}

// NewModel creates a model with random parameters. It reads the options of the group "model.". If the tokenizer is nil,
// the model works on ids, and "model.vocab_size" must be set.
func (c *Context) NewModel(tokenizer *Tokenizer, settings Settings) (*Model, error) {
	return create(context.Background(), c.h, kindModel, newModel, func(call *call, p **C.xf_model) status {
		return C.xf_model_create(c.in(call), tokenizer.in(call), call.config(settings), p, &call.err)
	})
}

// LoadModel loads a model that Model.Save or Trainer.Save wrote. Everything is validated before it is used. It reads
// the option "model.weights".
func (c *Context) LoadModel(ctx context.Context, source Source, settings Settings) (*Model, error) {
	return create(ctx, c.h, kindModel, newModel, func(call *call, p **C.xf_model) status {
		return C.xf_model_load(c.in(call), call.sources(source), call.config(settings), call.xf, p, &call.err)
	})
}

// AverageModels averages the parameters of files of the same configuration, such as the last checkpoints of a run
// (paper s. 6.1). The result is fp32, with tokenizer and metadata of the first file.
func (c *Context) AverageModels(ctx context.Context, sources ...Source) (*Model, error) {
	return create(ctx, c.h, kindModel, newModel, func(call *call, p **C.xf_model) status {
		return C.xf_model_average(c.in(call), call.sources(sources...), C.size_t(len(sources)), call.xf, p, &call.err)
	})
}

// ModelSummary contains the contents and the memory requirements of a model file.
type ModelSummary struct {
	// Parameters is the number of parameters, VocabSize the size of the target vocabulary, and FileBytes the size of the
	// file.
	Parameters, VocabSize, FileBytes int64
	// DecodeBytes and TrainBytes are upper estimates of the memory to translate with the model and to train it.
	DecodeBytes, TrainBytes int64
	// Step is the number of updates of a checkpoint; -1 for a model.
	Step int64
	// HasTokenizer reports whether the file contains a tokenizer.
	HasTokenizer bool
	// Weights is the type of the matrices.
	Weights Type
}

// InspectModel reads the header of a model file and reports its contents and memory requirements. It reads the options
// "model.weights" and, for the estimates, those of "decode." and "data.".
func (c *Context) InspectModel(source Source, settings Settings) (ModelSummary, error) {
	s := C.xf_model_summary{struct_size: C.sizeof_xf_model_summary}
	err := do(func(call *call) status {
		return C.xf_model_inspect(c.in(call), call.sources(source), call.config(settings), &s, &call.err)
	})
	return ModelSummary{int64(s.parameters), int64(s.vocab_size), int64(s.file_bytes), int64(s.decode_bytes),
		int64(s.train_bytes), int64(s.step), s.has_tokenizer != 0, Type(s.weights)}, err
}

// Copy copies the model with its tokenizer and metadata to a context; nil: that of the model. It reads the option
// "model.weights", so it can also convert between quantized and fp32 models.
func (m *Model) Copy(ctx context.Context, to *Context, settings Settings) (*Model, error) {
	home := m.h
	if to != nil {
		home = to.h
	}
	return create(ctx, home, kindModel, newModel, func(c *call, p **C.xf_model) status {
		return C.xf_model_copy(m.in(c), to.in(c), c.config(settings), c.xf, p, &c.err)
	})
}

// Save saves the model. It reads the option "model.weights": the type of the matrices in the file.
func (m *Model) Save(ctx context.Context, sink Sink, settings Settings) error {
	return doLong(ctx, func(c *call) status {
		return C.xf_model_save(m.in(c), c.config(settings), c.xf, c.sink(sink), &c.err)
	})
}

// Config returns a copy of the options of the group "model." that are in effect, including "model.vocab_size".
func (m *Model) Config() (*Config, error) {
	return makeConfig(func(c *call, p **C.xf_config) status {
		return C.xf_config_copy(C.xf_model_config(m.in(c)), p, &c.err)
	})
}

// Tokenizer returns the tokenizer of the model, which is valid until the model is closed. It returns ErrState if the
// model has none. A batcher that was created with it frames texts for this model.
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

// Encode encodes text as the ids that the model expects in a Batch: with the end symbol and language tokens. White
// space around the text is ignored. It reads the options "text.source_language" and "text.target_language".
func (m *Model) Encode(side Side, text string, settings Settings) (ids []int32, err error) {
	data := []byte(text)
	err = do(func(c *call) (found status) {
		p, config := m.in(c), c.config(settings)
		ids, found = filled(make([]int32, len(text)+8), func(room []int32, count *C.size_t) status {
			return C.xf_model_encode(p, C.int32_t(side), as[C.char](data), C.size_t(len(data)), config, as[C.int32_t](room),
				C.size_t(len(room)), count, &c.err)
		})
		return found
	})
	return ids, err
}

// Batch encodes texts with Encode and packs them. targets is nil for decoding.
func (m *Model) Batch(sources, targets []string, settings Settings) (Batch, error) {
	from, err := m.encodeAll(SideSource, sources, settings)
	if err != nil || targets == nil {
		batch, _ := NewBatch(from, nil)
		return batch, err
	}
	to, err := m.encodeAll(SideTarget, targets, settings)
	if err != nil {
		return Batch{}, err
	}
	return NewBatch(from, to)
}

func (m *Model) encodeAll(side Side, texts []string, settings Settings) (all [][]int32, err error) {
	for i, text := range texts {
		ids, err := m.Encode(side, text, settings)
		if err != nil {
			if failed, ok := err.(*Error); ok && failed.Status == ErrData {
				failed.Message = "text " + strconv.Itoa(i) + ": " + failed.Message
			}
			return nil, err
		}
		all = append(all, ids)
	}
	return all, nil
}

// SetMetadata stores a text with the model, for example its origin, languages, or license. It is saved in files and
// checkpoints.
func (m *Model) SetMetadata(key, value string) error {
	return do(func(c *call) status {
		return C.xf_model_set_metadata(m.in(c), c.text("key", key), c.text("value", value), &c.err)
	})
}

// DeleteMetadata removes a text that is stored with the model, if the key exists.
func (m *Model) DeleteMetadata(key string) error {
	return do(func(c *call) status { return C.xf_model_set_metadata(m.in(c), c.text("key", key), nil, &c.err) })
}

// Metadata returns a copy of all texts that are stored with the model.
func (m *Model) Metadata() (map[string]string, error) {
	all := make(map[string]string)
	err := do(func(c *call) status {
		p := m.in(c)
		for i := C.size_t(0); ; i++ {
			key, found := filled(make([]byte, 257), func(room []byte, length *C.size_t) status {
				return C.xf_model_get_metadata_key(p, i, as[C.char](room), C.size_t(len(room)), length, &c.err)
			})
			if found != C.XF_OK {
				return found // XF_DONE at the end
			}
			name := c.text("key", string(key))
			value, found := filled(make([]byte, 256), func(room []byte, length *C.size_t) status {
				return C.xf_model_get_metadata(p, name, as[C.char](room), C.size_t(len(room)), length, &c.err)
			})
			if found != C.XF_OK {
				return found
			}
			all[string(key)] = string(value)
		}
	})
	return all, err
}

// Tensors describes the parameter tensors, in the order of the file.
func (m *Model) Tensors() []TensorInfo {
	return append([]TensorInfo(nil), m.tensors...)
}

// tensor returns the index of a tensor and a slice of its size.
func (m *Model) tensor(name string) (index C.size_t, room []float32, err error) {
	i, ok := m.index[name]
	if !ok {
		return 0, nil, newError(ErrNotFound, 0, "the model has no tensor '"+name+"'")
	}
	return C.size_t(i), make([]float32, m.tensors[i].Size()), nil
}

// ReadTensor copies a parameter tensor, row-major and converted to fp32.
func (m *Model) ReadTensor(name string) ([]float32, error) {
	index, values, err := m.tensor(name)
	if err != nil {
		return nil, err
	}
	return values, do(func(c *call) status {
		return C.xf_model_read_tensor(m.in(c), index, as[C.float](values), C.size_t(len(values)), &c.err)
	})
}

// WriteTensor replaces a parameter tensor of an fp32 model by as many finite numbers, row-major.
func (m *Model) WriteTensor(name string, values []float32) error {
	index, _, err := m.tensor(name)
	if err != nil {
		return err
	}
	return do(func(c *call) status {
		return C.xf_model_write_tensor(m.in(c), index, as[C.float](values), C.size_t(len(values)), &c.err)
	})
}
