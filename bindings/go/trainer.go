// Training: loss, gradients, Adam, checkpoints.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

/*
#include "shim.h"
*/
import "C"

import (
	"context"
	"sync/atomic"
	"unsafe"
)

// StepStats tells what a training step did. Losses are nats per target token, under dropout.
type StepStats struct {
	// Step is the number of the update just made, from 1.
	Step int64
	// Sentences, SrcTokens and TgtTokens were used; tokens count end symbols.
	Sentences, SrcTokens, TgtTokens int64
	// Loss is label-smoothed cross-entropy, NLL un-smoothed.
	Loss, NLL float64
	// LearningRate is that of the update, GradientNorm the L2 norm of the gradient of the mean loss.
	LearningRate, GradientNorm float64
}

func newStepStats(s *C.xf_step_stats) StepStats {
	return StepStats{int64(s.step), int64(s.sentences), int64(s.src_tokens), int64(s.tgt_tokens), float64(s.loss),
		float64(s.nll), float64(s.learning_rate), float64(s.gradient_norm)}
}

// Trainer is the state of an optimization: gradients, Adam's moments, step. After any error, also ErrCancelled,
// parameters, moments and step are as before the call.
type Trainer struct {
	h       *handle
	context *Context
	model   *guard
	steps   *atomic.Int64
}

func (t *Trainer) ptr() *C.xf_trainer {
	return (*C.xf_trainer)(t.h.pointer())
}

func freeTrainer(p unsafe.Pointer) {
	C.xf_trainer_free((*C.xf_trainer)(p))
}

// makeTrainer makes a trainer of a model, whose guard is given, by a function of the library.
func (c *Context) makeTrainer(model *guard, f func(p **C.xf_trainer, e *C.xf_error) C.enum_xf_status,
	trainer **Trainer) native {
	return func(e *C.xf_error) C.enum_xf_status {
		var p *C.xf_trainer
		status := f(&p, e)
		if status == C.XF_OK {
			t := &Trainer{context: c, model: model, steps: new(atomic.Int64)}
			t.steps.Store(int64(C.xf_trainer_step_count(p)))
			t.h = c.child(&guard{kind: "trainer"}, freeTrainer)
			// "A trainer has exclusive use of its model while one of its calls runs."
			t.h.writes = append(t.h.writes, claim{model, true})
			t.h.open(unsafe.Pointer(p), c.h.guard)
			*trainer = t
		}
		return status
	}
}

// NewTrainer makes a trainer at step 0. It reads the options of the group "train.".
func (m *Model) NewTrainer(settings Settings) (*Trainer, error) {
	var trainer *Trainer
	err := using(settings, func(config *handle) error {
		return call(m.context.makeTrainer(m.h.guard, func(p **C.xf_trainer, e *C.xf_error) C.enum_xf_status {
			return C.xf_trainer_create(m.ptr(), config.config(), p, e)
		}, &trainer), writing(m.h), reading(config))
	})
	return trainer, err
}

// ResumeTrainer continues from a checkpoint: trainer and model are as they were when Trainer.Save was called.
func (c *Context) ResumeTrainer(path string) (*Trainer, error) {
	name, err := cString("file name", path)
	if err != nil {
		return nil, err
	}
	var trainer *Trainer
	err = call(c.makeTrainer(&guard{kind: "model"}, func(p **C.xf_trainer, e *C.xf_error) C.enum_xf_status {
		return C.xf_trainer_resume(c.ptr(), chars(name), p, e)
	}, &trainer), reading(c.h))
	return trainer, err
}

// Close frees the trainer. It may be called again, and always returns nil.
func (t *Trainer) Close() error {
	t.h.close()
	return nil
}

// Model is the model that is trained, usable until the trainer is closed; decoders made from it go on.
func (t *Trainer) Model() (*Model, error) {
	var model *Model
	err := call(func(e *C.xf_error) C.enum_xf_status {
		h := &handle{guard: t.model, family: t.h.family, owner: t.h}
		model = t.context.wrapModel(h, C.xf_trainer_model(t.ptr()))
		return C.XF_OK
	}, reading(t.h))
	return model, err
}

// Config is a copy of the "train." options the trainer works with, also after a resume.
func (t *Trainer) Config() (*Config, error) {
	var config *Config
	err := call(func(e *C.xf_error) C.enum_xf_status {
		return copyConfig(C.xf_trainer_config(t.ptr()), &config, e)
	}, reading(t.h))
	return config, err
}

// Steps is the number of updates made.
func (t *Trainer) Steps() int64 {
	return t.steps.Load()
}

// did notes what an update made.
func (t *Trainer) did(status C.enum_xf_status) C.enum_xf_status {
	if status == C.XF_OK {
		t.steps.Store(int64(C.xf_trainer_step_count(t.ptr())))
	}
	return status
}

// Step makes one update from a batch, or from several whose gradients are added.
func (t *Trainer) Step(ctx context.Context, batches ...Batch) (StepStats, error) {
	flat, err := flatten(batches...)
	if err != nil {
		return StepStats{}, err
	}
	numbers, shape := flat.c()
	s := C.xf_step_stats{struct_size: C.sizeof_xf_step_stats}
	err = longRunning(ctx, true, func(e *C.xf_error) C.enum_xf_status {
		return t.did(C.xfgo_train_step(t.ptr(), numbers, shape, C.size_t(len(batches)), &s, e))
	}, writing(t.h))
	return newStepStats(&s), err
}

// Train makes steps updates, over as many epochs of the batcher as that takes. After each it calls progress, which may
// be nil; an error of that ends the training and is returned as it is. The trainer stays usable whatever ends it.
func (t *Trainer) Train(ctx context.Context, batcher *Batcher, steps int64, progress func(StepStats) error) error {
	if batcher == nil {
		return invalid("the batcher is nil")
	}
	for made := int64(0); made < steps; {
		if !batcher.Next() {
			if err := batcher.Err(); err != nil {
				return err
			}
			continue
		}
		stats, err := t.Step(ctx, batcher.Batch())
		if err == nil && progress != nil {
			err = progress(stats)
		}
		if err != nil {
			return err
		}
		made++
	}
	return nil
}

// Accumulate is the first half of a step: it adds a batch's gradients to those that wait for Update. The stats are of
// this batch. After an error, also ErrCancelled, no gradients wait.
func (t *Trainer) Accumulate(ctx context.Context, batch Batch) (StepStats, error) {
	flat, err := flatten(batch)
	if err != nil {
		return StepStats{}, err
	}
	numbers, shape := flat.c()
	s := C.xf_step_stats{struct_size: C.sizeof_xf_step_stats}
	err = longRunning(ctx, false, func(e *C.xf_error) C.enum_xf_status {
		return C.xfgo_train_accumulate(t.ptr(), numbers, shape, &s, e)
	}, writing(t.h))
	return newStepStats(&s), err
}

// Update is the second half of a step: it updates the parameters from the gradients that wait.
func (t *Trainer) Update() (StepStats, error) {
	s := C.xf_step_stats{struct_size: C.sizeof_xf_step_stats}
	err := call(func(e *C.xf_error) C.enum_xf_status {
		return t.did(C.xf_train_update(t.ptr(), &s, e))
	}, writing(t.h))
	return newStepStats(&s), err
}

// ReadGradient is a copy of a waiting gradient, as Model.ReadParam is of a parameter.
func (t *Trainer) ReadGradient(name string) ([]float32, error) {
	model, err := t.Model()
	if err != nil {
		return nil, err
	}
	index, size, err := model.param(name)
	if err != nil {
		return nil, err
	}
	values := make([]float32, size)
	err = call(func(e *C.xf_error) C.enum_xf_status {
		return C.xf_trainer_read_gradient(t.ptr(), index, (*C.float)(unsafe.Pointer(first(values))), C.size_t(size), e)
	}, writing(t.h))
	if err != nil {
		return nil, err
	}
	return values, nil
}

// Save writes a checkpoint: model, tokenizer, options, moments, step, and the position of a batcher unless it is nil.
// The old file is replaced at once or not at all and stays as "<path>.prev"; LoadModel reads it too.
func (t *Trainer) Save(path string, batcher *Batcher) error {
	name, err := cString("file name", path)
	if err != nil {
		return err
	}
	var position *handle
	if batcher != nil {
		position = batcher.h
	}
	return call(func(e *C.xf_error) C.enum_xf_status {
		return C.xf_trainer_save(t.ptr(), (*C.xf_batcher)(position.pointer()), chars(name), e)
	}, writing(t.h), reading(position))
}

// Position is that of the batcher saved with the checkpoint; 0, 0 when none was.
func (t *Trainer) Position() (epoch, batch int64, err error) {
	var at, in C.int64_t
	err = call(func(e *C.xf_error) C.enum_xf_status {
		return C.xf_trainer_get_position(t.ptr(), &in, &at, e)
	}, reading(t.h))
	return int64(in), int64(at), err
}

// Seek moves a batcher, made from the same corpus, tokenizer and options, to the saved position.
func (t *Trainer) Seek(batcher *Batcher) error {
	if batcher == nil {
		return invalid("the batcher is nil")
	}
	return call(func(e *C.xf_error) C.enum_xf_status {
		return C.xf_trainer_seek(t.ptr(), batcher.ptr(), e)
	}, reading(t.h), writing(batcher.h))
}
