//! Training: loss, gradients, Adam, checkpoints.
//
// SPDX-License-Identifier: Apache-2.0

use std::ops::ControlFlow;
use std::path::Path;
use std::ptr::null;
use std::sync::Arc;

use xformer_sys as sys;

use crate::handle::{call, create, Handle};
use crate::strings::c_path;
use crate::usage::Writing;
use crate::{config, Batch, Batcher, Config, Context, Model, Result};
#[cfg(doc)]
use crate::{Error, Status};

/// What a training step did. Losses are nats per target token, under dropout; tokens count end symbols.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct StepStats {
    /// Number of the update just made, from 1.
    pub step: i64,
    /// Sentence pairs used.
    pub sentences: i64,
    /// Source tokens.
    pub src_tokens: i64,
    /// Target tokens.
    pub tgt_tokens: i64,
    /// Label-smoothed cross-entropy.
    pub loss: f64,
    /// Un-smoothed cross-entropy.
    pub nll: f64,
    /// Learning rate of the update, eq. (3).
    pub learning_rate: f64,
    /// L2 norm of the gradient of the mean loss.
    pub gradient_norm: f64,
}

/// The state of an optimization: gradients, Adam's moments, the step number.
///
/// Reads the options of the group "train.". After any error, also a cancelled call, parameters, moments and step are as
/// before the call.
///
/// While one of its calls runs, a trainer has its model for itself: calls of other threads on the model or its decoders
/// are errors for which [`Error::is_busy`] is true, and the trainer's own are while others run. Between two steps all
/// may be used. Threads that train and decode the same model take turns by a lock of theirs.
///
/// ```
/// use std::ops::ControlFlow;
/// use xformer::{Batcher, Config, Context, Corpus, Model, Tokenizer, Trainer};
///
/// let mut config = Config::new()?;
/// config.preset("tiny")?.set("tokenizer.vocab_size", 300)?.set("train.warmup_steps", 10)?;
/// let context = Context::new(None)?;
/// let corpus = Corpus::from_pairs(&context, [("one two", "eins zwei"), ("two one", "zwei eins")], None)?;
/// let tokenizer = Tokenizer::train(&context, &corpus, &config)?;
/// let mut batcher = Batcher::new(&corpus, &tokenizer, &config)?;
/// let model = Model::new(&context, &config, &tokenizer)?;
///
/// let mut trainer = Trainer::new(&model, &config)?;
/// let last = trainer.train(&mut batcher, 100, |stats| {
///     println!("step {}  loss {:.3}", stats.step, stats.loss);
///     if stats.step < 5 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
/// })?;
/// assert_eq!(last.unwrap().step, 5);
/// # Ok::<(), xformer::Error>(())
/// ```
///
/// A step needs the trainer for itself:
///
/// ```compile_fail,E0596
/// fn shared(trainer: &xformer::Trainer, batch: &xformer::Batch) {
///     trainer.step(batch).unwrap();
/// }
/// ```
#[derive(Debug)]
pub struct Trainer {
    handle: Arc<Handle<sys::xf_trainer>>,
    model: Model,
}

impl Trainer {
    /// A trainer of a model, at step 0.
    ///
    /// # Errors
    ///
    /// [`Status::InvalidArgument`], [`Status::NoMemory`], [`Status::Backend`]; [`Status::State`] while another thread
    /// uses the model.
    pub fn new<'a>(model: &Model, config: impl Into<Option<&'a Config>>) -> Result<Self> {
        let (config, (pointer, _writing)) = (config::pointer(config.into()), model.writing()?);
        // SAFETY: the model is alive and in no other call, the config is read.
        create(Some(model.context()), |out, error| unsafe { sys::xf_trainer_create(pointer, config, out, error) })
            .map(|handle| Trainer { handle: Arc::new(handle), model: model.clone() })
    }

    /// Continues from a checkpoint: trainer and model are as they were when [`save`](Trainer::save) was called.
    ///
    /// # Errors
    ///
    /// As [`Model::load`]; [`Status::Corrupt`] also of a model without the optimizer's state.
    pub fn resume(context: &Context, path: impl AsRef<Path>) -> Result<Self> {
        let (path, c) = (c_path(path.as_ref())?, context.shared().enter()?);
        // SAFETY: the context is alive and is read, the path is a C string.
        let handle = create(Some(context.shared()), |out, error| unsafe {
            sys::xf_trainer_resume(c, path.as_ptr(), out, error)
        });
        let handle = Arc::new(handle?);
        let model = Model::of_trainer(Arc::clone(&handle))?;
        Ok(Trainer { handle, model })
    }

    /// The model that is trained. A clone of a resumed trainer's model keeps what the trainer holds in memory.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// A copy of the "train." options the trainer works with, also after a resume.
    ///
    /// # Errors
    ///
    /// [`Status::NoMemory`].
    pub fn config(&self) -> Result<Config> {
        // SAFETY: the trainer is alive and is read; its config lives as long and never changes.
        unsafe { Config::copy_of(sys::xf_trainer_config(self.handle.get())) }
    }

    /// Number of updates made.
    pub fn step_count(&self) -> i64 {
        // SAFETY: the trainer is alive and is read.
        unsafe { sys::xf_trainer_step_count(self.handle.get()) }
    }

    /// For a call that changes the trainer, and so needs its model too.
    fn writing(&mut self) -> Result<(*mut sys::xf_trainer, Writing<'_>)> {
        let (_, writing) = self.model.writing()?;
        Ok((self.handle.as_ptr(), writing))
    }

    /// Makes one update from a batch with targets.
    ///
    /// # Errors
    ///
    /// Nothing was changed: [`Status::InvalidArgument`], [`Status::OutOfRange`] (an id, a sentence that is too long),
    /// [`Status::Nonfinite`], [`Status::Cancelled`], [`Status::State`] (gradients wait, or another thread uses the
    /// model), [`Status::NoMemory`], [`Status::Backend`].
    pub fn step(&mut self, batch: &Batch<'_>) -> Result<StepStats> {
        self.step_rows(&[batch.raw()])
    }

    /// Makes one update from several batches, whose gradients are added.
    ///
    /// # Errors
    ///
    /// As [`step`](Trainer::step); [`Status::InvalidArgument`] of no batch.
    pub fn step_all(&mut self, batches: &[Batch<'_>]) -> Result<StepStats> {
        let rows: Vec<sys::xf_batch> = batches.iter().map(Batch::raw).collect();
        self.step_rows(&rows)
    }

    fn step_rows(&mut self, rows: &[sys::xf_batch]) -> Result<StepStats> {
        let (trainer, _writing) = self.writing()?;
        // SAFETY: trainer and model are in no other call; the batches live in the caller's hands.
        stats(|out, error| unsafe { sys::xf_train_step(trainer, rows.as_ptr(), rows.len(), out, error) })
    }

    /// First half of a step: adds a batch's gradients to those that wait for [`update`](Trainer::update). The stats are
    /// of this batch; their step, learning rate and gradient norm are 0.
    ///
    /// # Errors
    ///
    /// As [`step`](Trainer::step); the waiting gradients are dropped.
    pub fn accumulate(&mut self, batch: &Batch<'_>) -> Result<StepStats> {
        let (trainer, _writing) = self.writing()?;
        // SAFETY: trainer and model are in no other call; the batch lives during the call.
        stats(|out, error| unsafe { sys::xf_train_accumulate(trainer, &batch.raw(), out, error) })
    }

    /// Second half of a step: updates the parameters from the gradients that wait.
    ///
    /// # Errors
    ///
    /// [`Status::State`] (nothing waits, or another thread uses the model), [`Status::Nonfinite`] (the waiting
    /// gradients are dropped), [`Status::Backend`].
    pub fn update(&mut self) -> Result<StepStats> {
        let (trainer, _writing) = self.writing()?;
        // SAFETY: trainer and model are in no other call.
        stats(|out, error| unsafe { sys::xf_train_update(trainer, out, error) })
    }

    /// A copy of a waiting gradient, that of the mean loss per target token so far, as in [`Model::read`].
    ///
    /// # Errors
    ///
    /// [`Status::State`] (nothing waits, or another thread uses the model), [`Status::OutOfRange`],
    /// [`Status::Backend`].
    pub fn gradient(&mut self, index: usize) -> Result<Vec<f32>> {
        let mut values = self.model.room(index);
        let (trainer, _writing) = self.writing()?;
        let (data, count) = (values.as_mut_ptr(), values.len());
        // SAFETY: trainer and model are in no other call; the values have that count.
        call(|error| unsafe { sys::xf_trainer_read_gradient(trainer, index, data, count, error) })?;
        Ok(values)
    }

    /// Makes up to `steps` updates, over as many epochs as that takes, and tells the closure of each. Gives the stats
    /// of the last.
    ///
    /// When the closure breaks, training ends: with what is there it may go on later. In the closure trainer and
    /// batcher are borrowed; [`steps`](Trainer::steps) is for what needs them between two steps.
    ///
    /// # Errors
    ///
    /// As [`step`](Trainer::step) and [`Batcher::next_batch`]: of the step that failed, nothing stays.
    pub fn train<F>(&mut self, batcher: &mut Batcher, steps: usize, mut progress: F) -> Result<Option<StepStats>>
    where
        F: FnMut(&StepStats) -> ControlFlow<()>,
    {
        let mut last = None;
        for stats in self.steps(batcher).take(steps) {
            let stats = stats?;
            last = Some(stats);
            if progress(&stats).is_break() {
                break;
            }
        }
        Ok(last)
    }

    /// Steps without an end, over epoch after epoch: each is made when it is asked for.
    ///
    /// ```
    /// # fn best(trainer: &mut xformer::Trainer, batcher: &mut xformer::Batcher) -> xformer::Result<f64> {
    /// let mut best = f64::INFINITY;
    /// for stats in trainer.steps(batcher).take(1000) {
    ///     best = best.min(stats?.nll);
    /// }
    /// # Ok(best)
    /// # }
    /// ```
    pub fn steps<'a>(&'a mut self, batcher: &'a mut Batcher) -> Steps<'a> {
        Steps { trainer: self, batcher }
    }

    /// Saves a checkpoint: model, tokenizer, options, moments, step, and a batcher's position. The old file is replaced
    /// at once or not at all and stays as `<path>.prev`; [`Model::load`] reads it too.
    ///
    /// # Errors
    ///
    /// [`Status::State`] (gradients wait, or another thread uses the model), [`Status::Io`], [`Status::NotFound`],
    /// [`Status::NoMemory`], [`Status::Backend`].
    pub fn save<'a>(&mut self, path: impl AsRef<Path>, batcher: impl Into<Option<&'a Batcher>>) -> Result<()> {
        let path = c_path(path.as_ref())?;
        let batcher = batcher.into().map_or(Ok(null()), Batcher::enter)?;
        let (trainer, _writing) = self.writing()?;
        // SAFETY: trainer and model are in no other call, the batcher is NULL or is read, the path is a C string.
        call(|error| unsafe { sys::xf_trainer_save(trainer, batcher, path.as_ptr(), error) }).map(drop)
    }

    /// (epoch, batch) of the batcher that was saved with the checkpoint; (0, 0) when none was.
    ///
    /// # Errors
    ///
    /// [`Status::Forked`].
    pub fn position(&self) -> Result<(i64, i64)> {
        self.handle.context().enter()?;
        let (mut epoch, mut batch) = (0, 0);
        // SAFETY: the trainer is alive and is read; both outputs are valid.
        call(|error| unsafe { sys::xf_trainer_get_position(self.handle.get(), &mut epoch, &mut batch, error) })?;
        Ok((epoch, batch))
    }

    /// Moves a batcher, made from the same corpus, tokenizer and options as in the saved run, to the saved position.
    ///
    /// # Errors
    ///
    /// [`Status::State`] (no position was saved); [`Status::Data`] (other pairs or options), [`Status::NoMemory`].
    pub fn seek(&self, batcher: &mut Batcher) -> Result<()> {
        self.handle.context().enter()?;
        let batcher = batcher.enter_mut()?;
        // SAFETY: the trainer is alive and is read, the batcher is used by this call alone.
        call(|error| unsafe { sys::xf_trainer_seek(self.handle.get(), batcher, error) }).map(drop)
    }
}

fn stats(function: impl FnOnce(*mut sys::xf_step_stats, *mut sys::xf_error) -> sys::xf_status) -> Result<StepStats> {
    let mut stats = sys::XF_STEP_STATS_INIT;
    call(|error| function(&mut stats, error))?;
    Ok(StepStats {
        step: stats.step,
        sentences: stats.sentences,
        src_tokens: stats.src_tokens,
        tgt_tokens: stats.tgt_tokens,
        loss: stats.loss,
        nll: stats.nll,
        learning_rate: stats.learning_rate,
        gradient_norm: stats.gradient_norm,
    })
}

/// Training step after step, from [`Trainer::steps`]. After an error it may go on, with the next batch.
#[derive(Debug)]
pub struct Steps<'a> {
    trainer: &'a mut Trainer,
    batcher: &'a mut Batcher,
}

impl Steps<'_> {
    /// The trainer, between two steps.
    pub fn trainer(&mut self) -> &mut Trainer {
        self.trainer
    }

    /// The batcher, between two steps.
    pub fn batcher(&mut self) -> &mut Batcher {
        self.batcher
    }
}

impl Iterator for Steps<'_> {
    type Item = Result<StepStats>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.batcher.next_batch() {
                Ok(Some(batch)) => return Some(self.trainer.step(&batch)),
                Ok(None) => continue, // an epoch has at least one batch
                Err(error) => return Some(Err(error)),
            }
        }
    }
}
