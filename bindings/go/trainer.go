// Training: loss, gradients, Adam, checkpoints.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

// #include "shim.h"
import "C"

import (
	"context"
	"io"
	"unsafe"
)

// StepOutcome is what became of a training step.
type StepOutcome int32

const (
	// StepUpdated updated the parameters.
	StepUpdated StepOutcome = C.XF_STEP_UPDATED
	// StepSkipped left its batches out: loss or gradient was not finite and "train.on_nonfinite" is skip.
	StepSkipped StepOutcome = C.XF_STEP_SKIPPED
	// StepRolledBack went back to the last checkpoint: the same with rollback.
	StepRolledBack StepOutcome = C.XF_STEP_ROLLED_BACK
)

// StepStats tells what a training step did. Losses are nats per target token, under dropout.
type StepStats struct {
	// Step is the number of updates made so far, this one counted.
	Step int64
	// Sentences, SrcTokens and TgtTokens were used; tokens count end symbols.
	Sentences, SrcTokens, TgtTokens int64
	// Loss is label-smoothed cross-entropy, NLL un-smoothed.
	Loss, NLL float64
	// LearningRate is that of the update, GradientNorm the L2 norm of the gradient of the mean loss before
	// "train.clip_norm".
	LearningRate, GradientNorm float64
	// Outcome is what became of the step.
	Outcome StepOutcome
}

// Trainer is the state of an optimization: gradients, Adam's moments, step. After any error, also ErrCancelled,
// parameters, moments and step are as before the call.
type Trainer struct {
	object
}

func (t *Trainer) in(c *call) *C.xf_trainer {
	return (*C.xf_trainer)(c.hold(t.h))
}

func newTrainer(h *handle) *Trainer {
	return &Trainer{object{h}}
}

// NewTrainer makes a trainer at step 0. It reads the options of the group "train.".
func (m *Model) NewTrainer(settings Settings) (*Trainer, error) {
	return create(context.Background(), m.h, kindTrainer, newTrainer, func(c *call, p **C.xf_trainer) status {
		return C.xf_trainer_create(m.in(c), c.config(settings), p, &c.err)
	})
}

// ResumeTrainer continues from a checkpoint: trainer and model are as they were when Trainer.Save was called. Options
// of the group "train." that are set take the place of the saved ones, but for those on which the saved state depends.
func (c *Context) ResumeTrainer(ctx context.Context, path string, settings Settings) (*Trainer, error) {
	return create(ctx, c.h, kindTrainer, newTrainer, func(call *call, p **C.xf_trainer) status {
		return C.xf_trainer_resume(c.in(call), call.text("file name", path), call.config(settings), p, &call.err)
	})
}

// Model is the model that is trained, usable until the trainer is closed; decoders made from it go on.
func (t *Trainer) Model() (model *Model, err error) {
	err = do(func(c *call) status {
		model = newModel(t.h.part(kindModel, unsafe.Pointer(C.xf_trainer_model(t.in(c)))))
		return C.XF_OK
	})
	return model, err
}

// EMA is a model of its own with the moving average of the parameters that "train.ema" keeps.
func (t *Trainer) EMA() (*Model, error) {
	return create(context.Background(), t.h, kindModel, newModel, func(c *call, p **C.xf_model) status {
		return C.xf_trainer_ema(t.in(c), p, &c.err)
	})
}

// Config is a copy of the "train." options the trainer works with, also after a resume.
func (t *Trainer) Config() (*Config, error) {
	return makeConfig(func(c *call, p **C.xf_config) status {
		return C.xf_config_copy(C.xf_trainer_config(t.in(c)), p, &c.err)
	})
}

// Steps is the number of updates made; -1 when the trainer is closed.
func (t *Trainer) Steps() int64 {
	steps := C.int64_t(-1)
	do(func(c *call) status {
		steps = C.xf_trainer_step_count(t.in(c))
		return C.XF_OK
	})
	return int64(steps)
}

// step makes a call that gives StepStats, or io.EOF.
func (t *Trainer) step(ctx context.Context, f func(c *call, s *C.xf_step_stats) status) (StepStats, error) {
	s := C.xf_step_stats{struct_size: C.sizeof_xf_step_stats}
	var done bool
	err := doLong(ctx, t.h, func(c *call) status {
		found := f(c, &s)
		done = found == C.XF_DONE
		return found
	})
	if err == nil && done {
		err = io.EOF
	}
	return StepStats{int64(s.step), int64(s.sentences), int64(s.src_tokens), int64(s.tgt_tokens), float64(s.loss),
		float64(s.nll), float64(s.learning_rate), float64(s.gradient_norm), StepOutcome(s.outcome)}, err
}

// Step makes one update from a batch, or from several whose gradients are added.
func (t *Trainer) Step(ctx context.Context, batches ...Batch) (StepStats, error) {
	return t.step(ctx, func(c *call, s *C.xf_step_stats) status {
		return C.xf_train_step(t.in(c), c.batches(batches...), C.size_t(len(batches)), s, &c.err)
	})
}

// Next makes one update from the next batches of a batcher, "train.accumulate" of them. At the end of an epoch it is
// io.EOF, and nothing was done. After another error, also ErrCancelled, the batcher stands where it stood.
func (t *Trainer) Next(ctx context.Context, batcher *Batcher) (StepStats, error) {
	return t.step(ctx, func(c *call, s *C.xf_step_stats) status {
		return C.xf_train_next(t.in(c), batcher.in(c), s, &c.err)
	})
}

// Train makes steps updates, over as many epochs of the batcher as that takes. After each it calls progress, which may
// be nil; an error of that ends the training and is returned as it is. The trainer stays usable whatever ends it.
func (t *Trainer) Train(ctx context.Context, batcher *Batcher, steps int64, progress func(StepStats) error) error {
	for end := t.Steps() + steps; t.Steps() < end; {
		stats, err := t.Next(ctx, batcher)
		if err == io.EOF {
			continue
		}
		if err == nil && progress != nil {
			err = progress(stats)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Accumulate is the first half of a step: it adds a batch's gradients to those that wait for Update. The stats are of
// this batch. After an error, also ErrCancelled, no gradients wait.
func (t *Trainer) Accumulate(ctx context.Context, batch Batch) (StepStats, error) {
	return t.step(ctx, func(c *call, s *C.xf_step_stats) status {
		return C.xf_train_accumulate(t.in(c), c.batches(batch), s, &c.err)
	})
}

// Update is the second half of a step: it updates the parameters from the gradients that wait.
func (t *Trainer) Update() (StepStats, error) {
	return t.step(context.Background(), func(c *call, s *C.xf_step_stats) status {
		return C.xf_train_update(t.in(c), s, &c.err)
	})
}

// ReadGradient is a copy of a waiting gradient, as Model.ReadParam is of a parameter.
func (t *Trainer) ReadGradient(name string) ([]float32, error) {
	model, err := t.Model()
	if err != nil {
		return nil, err
	}
	index, values, err := model.param(name)
	if err != nil {
		return nil, err
	}
	return values, do(func(c *call) status {
		return C.xf_trainer_read_gradient(t.in(c), index, as[C.float](values), C.size_t(len(values)), &c.err)
	})
}

// Save writes a checkpoint: model, tokenizer, options, moments, step, and the position of a batcher unless it is nil.
// The old file is replaced at once or not at all and stays as "<path>.prev"; LoadModel reads it too.
func (t *Trainer) Save(path string, batcher *Batcher) error {
	return do(func(c *call) status {
		return C.xf_trainer_save(t.in(c), batcher.in(c), c.text("file name", path), &c.err)
	})
}

// Position is that of the batcher saved with the checkpoint; 0, 0 when none was.
func (t *Trainer) Position() (epoch, batch int64, err error) {
	var at, in C.int64_t
	err = do(func(c *call) status { return C.xf_trainer_get_position(t.in(c), &in, &at, &c.err) })
	return int64(in), int64(at), err
}

// Seek moves a batcher, made from the same corpus, tokenizer and options, to the saved position. With another
// "data.batch_tokens" it goes to the same share of the epoch.
func (t *Trainer) Seek(batcher *Batcher) error {
	return do(func(c *call) status { return C.xf_trainer_seek(t.in(c), batcher.in(c), &c.err) })
}
