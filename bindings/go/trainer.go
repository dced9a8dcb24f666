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

// StepOutcome is the outcome of a training step.
type StepOutcome int32

const (
	// StepUpdated: the parameters were updated.
	StepUpdated StepOutcome = C.XF_STEP_UPDATED
	// StepSkipped: the loss or the gradient was not finite and "train.on_nonfinite" is skip; the batches were skipped.
	StepSkipped StepOutcome = C.XF_STEP_SKIPPED
	// StepRolledBack: the same with rollback; parameters, moments, and step were restored from the last checkpoint.
	StepRolledBack StepOutcome = C.XF_STEP_ROLLED_BACK
)

// String returns the outcome as words, for example "rolled back".
func (o StepOutcome) String() string {
	return word(o, "StepOutcome", "updated", "skipped", "rolled back")
}

// StepStats contains the statistics of a training step. Losses are in nats per target token, with dropout.
type StepStats struct {
	// Step is the number of updates so far, including this one.
	Step int64
	// Sentences is the number of pairs used. SrcTokens and TgtTokens include end symbols.
	Sentences, SrcTokens, TgtTokens int64
	// Loss is the label-smoothed cross-entropy, NLL the cross-entropy without label smoothing.
	Loss, NLL float64
	// LearningRate is that of the update. GradientNorm is the L2 norm of the gradient of the mean loss, before
	// "train.clip_norm".
	LearningRate, GradientNorm float64
	// Outcome is the outcome of the step.
	Outcome StepOutcome
}

// Trainer contains the state of a training run: gradients, moments, and step number. After any error, parameters,
// moments, and step number are as before the call.
type Trainer struct {
	object
}

func (t *Trainer) in(c *call) *C.xf_trainer {
	if t == nil {
		return nil
	}
	return (*C.xf_trainer)(c.hold(t.h))
}

func newTrainer(h *handle) *Trainer {
	return &Trainer{object{h}}
}

// NewTrainer creates a trainer at step 0 for a model with fp32 matrices. It reads the options of the group "train.".
func (m *Model) NewTrainer(settings Settings) (*Trainer, error) {
	return create(context.Background(), m.h, kindTrainer, newTrainer, func(c *call, p **C.xf_trainer) status {
		return C.xf_trainer_create(m.in(c), c.config(settings), p, &c.err)
	})
}

// ResumeTrainer creates a trainer and its model from a checkpoint, in the state in which Trainer.Save saved them.
// Options of the group "train." that are set replace the saved ones, except those on which the saved state depends.
func (c *Context) ResumeTrainer(ctx context.Context, source Source, settings Settings) (*Trainer, error) {
	return create(ctx, c.h, kindTrainer, newTrainer, func(call *call, p **C.xf_trainer) status {
		return C.xf_trainer_resume(c.in(call), call.sources(source), call.config(settings), call.xf, p, &call.err)
	})
}

// Model returns the trained model, which is valid until the trainer is closed. Decoders of the model remain valid.
func (t *Trainer) Model() (model *Model, err error) {
	err = do(func(c *call) status {
		model = newModel(t.h.part(kindModel, unsafe.Pointer(C.xf_trainer_model(t.in(c)))))
		return C.XF_OK
	})
	return model, err
}

// CopyAverage copies the exponential moving average of the parameters, which the option "train.ema" keeps, to a new
// model.
func (t *Trainer) CopyAverage(ctx context.Context) (*Model, error) {
	return create(ctx, t.h, kindModel, newModel, func(c *call, p **C.xf_model) status {
		return C.xf_trainer_copy_average(t.in(c), c.xf, p, &c.err)
	})
}

// Config returns a copy of the options of the group "train." that are in effect, also after a resume.
func (t *Trainer) Config() (*Config, error) {
	return makeConfig(func(c *call, p **C.xf_config) status {
		return C.xf_config_copy(C.xf_trainer_config(t.in(c)), p, &c.err)
	})
}

// Steps returns the number of updates so far; -1 if the trainer is closed.
func (t *Trainer) Steps() int64 {
	steps := C.int64_t(-1)
	do(func(c *call) status {
		steps = C.xf_trainer_step_count(t.in(c))
		return C.XF_OK
	})
	return int64(steps)
}

// step makes a call that returns statistics, or io.EOF.
func (t *Trainer) step(ctx context.Context, f func(c *call, s *C.xf_step_stats) status) (StepStats, error) {
	s := C.xf_step_stats{struct_size: C.sizeof_xf_step_stats}
	var done bool
	err := doLong(ctx, func(c *call) status {
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

// Step updates the model once, from one batch or from the sum of the gradients of several batches.
func (t *Trainer) Step(ctx context.Context, batches ...Batch) (StepStats, error) {
	return t.step(ctx, func(c *call, s *C.xf_step_stats) status {
		return C.xf_train_step(t.in(c), c.batches(batches...), C.size_t(len(batches)), c.xf, s, &c.err)
	})
}

// Next updates the model once from the next "train.accumulate" batches of a batcher. At the end of an epoch it returns
// io.EOF without a step; the next call begins the next epoch. After another error the batcher keeps its position.
func (t *Trainer) Next(ctx context.Context, batcher *Batcher) (StepStats, error) {
	return t.step(ctx, func(c *call, s *C.xf_step_stats) status {
		return C.xf_train_next(t.in(c), batcher.in(c), c.xf, s, &c.err)
	})
}

// Train makes the given number of updates, in as many epochs of the batcher as necessary. It calls report, which may be
// nil, after each step; an error of report stops the training and is returned unchanged.
func (t *Trainer) Train(ctx context.Context, batcher *Batcher, steps int64, report func(StepStats) error) error {
	for end := t.Steps() + steps; t.Steps() < end; {
		stats, err := t.Next(ctx, batcher)
		if err == io.EOF {
			continue
		}
		if err == nil && report != nil {
			err = report(stats)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Accumulate is the first half of a step: it adds the gradients of a batch to the pending gradients. The statistics are
// those of this batch. After an error the pending gradients are discarded.
func (t *Trainer) Accumulate(ctx context.Context, batch Batch) (StepStats, error) {
	return t.step(ctx, func(c *call, s *C.xf_step_stats) status {
		return C.xf_train_accumulate(t.in(c), c.batches(batch), c.xf, s, &c.err)
	})
}

// Update is the second half of a step: it updates the parameters from the pending gradients.
func (t *Trainer) Update() (StepStats, error) {
	return t.step(context.Background(), func(c *call, s *C.xf_step_stats) status {
		return C.xf_train_update(t.in(c), s, &c.err)
	})
}

// Save saves a checkpoint: model, tokenizer, metadata, options, moments, step, and the position of a batcher unless it
// is nil. LoadModel can also read it.
func (t *Trainer) Save(ctx context.Context, sink Sink, batcher *Batcher) error {
	return doLong(ctx, func(c *call) status {
		return C.xf_trainer_save(t.in(c), batcher.in(c), c.xf, c.sink(sink), &c.err)
	})
}
