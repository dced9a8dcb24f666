//! Training: loss, gradients, Adam, checkpoints.
//
// SPDX-License-Identifier: Apache-2.0

use std::iter;
use std::path::Path;
use std::ptr::null_mut;
use std::sync::Arc;

use xformer_sys as sys;

use crate::handle::{c_path, Handle};
use crate::{config, Batch, Batcher, CancelHandle, Config, Context, Error, Model, Result, Status};

given! {
    /// What became of a training step.
    pub enum StepOutcome {
        /// The parameters were updated.
        Updated = XF_STEP_UPDATED,
        /// Loss or gradient was not finite and "train.on_nonfinite" is skip: the batches were left out.
        Skipped = XF_STEP_SKIPPED,
        /// The same with rollback: parameters, moments and step are those of the last checkpoint again.
        RolledBack = XF_STEP_ROLLED_BACK,
    }
}

mirror! {
    /// What a training step did. Losses are nats per target token, under dropout; tokens count end symbols.
    pub struct StepStats = xf_step_stats XF_STEP_STATS_INIT {
        /// Updates made so far, this one counted.
        step: i64,
        /// Sentence pairs used.
        sentences: i64,
        /// Source tokens.
        src_tokens: i64,
        /// Target tokens.
        tgt_tokens: i64,
        /// Label-smoothed cross-entropy.
        loss: f64,
        /// Un-smoothed cross-entropy.
        nll: f64,
        /// Learning rate of the update: eq. (3), or as "train.schedule" says.
        learning_rate: f64,
        /// L2 norm of the gradient of the mean loss, before "train.clip_norm".
        gradient_norm: f64,
        /// What became of it.
        outcome: StepOutcome,
    }
}

/// The state of an optimization: gradients, Adam's moments, the step number.
///
/// Reads the options of the group "train.". After any error, also a cancelled call, parameters, moments and step are as
/// before the call. While one of its calls runs, a trainer has its model for itself: what another thread does with the
/// model or its decoders then is [`Status::Busy`], and so are the trainer's own calls while others run.
///
/// ```
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
/// for stats in trainer.steps(&mut batcher).take(5) {
///     println!("loss {:.3}", stats?.loss);
/// }
/// # Ok::<(), xformer::Error>(())
/// ```
#[derive(Debug)]
pub struct Trainer {
    handle: Arc<Handle<sys::xf_trainer>>,
    model: Model,
}

impl Trainer {
    /// A trainer of a model, at step 0. [`Status::InvalidArgument`] of options that do not go together.
    pub fn new<'a>(model: &Model, config: impl Into<Option<&'a Config>>) -> Result<Self> {
        let handle = make!(model.context(), xf_trainer_create(model.enter()?, config::pointer(config)))?;
        Ok(Trainer { handle: Arc::new(handle), model: model.clone() })
    }

    /// Continues from a checkpoint: trainer and model are as they were when [`save`](Trainer::save) was called. Options
    /// of the group "train." that were set in a config take the place of the saved ones, but for "train.seed", Adam's
    /// and "train.ema": another value of these is [`Status::State`]. [`Status::Corrupt`] also of a model without the
    /// optimizer's state.
    pub fn resume<'a>(
        context: &Context,
        path: impl AsRef<Path>,
        config: impl Into<Option<&'a Config>>,
    ) -> Result<Self> {
        let (c, path, config) = (context.enter()?, c_path(path)?, config::pointer(config));
        let handle = Arc::new(make!(context.shared(), xf_trainer_resume(c, path.as_ptr(), config))?);
        // SAFETY: the trainer is alive.
        let model = Handle::part(unsafe { sys::xf_trainer_model(handle.get()) }, &handle);
        let model = model.ok_or_else(|| Error::new(Status::Internal, "a trainer has no model"))?;
        Ok(Trainer { handle, model: Model::own(model)? })
    }

    /// The model that is trained. A clone of a resumed trainer's model keeps what the trainer holds in memory.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Something to cancel this trainer's calls with, for other threads.
    pub fn cancel_handle(&self) -> CancelHandle {
        let handle = Arc::clone(&self.handle);
        // SAFETY: the trainer is alive; the call is for any thread, at any time.
        CancelHandle::new(move || unsafe { sys::xf_trainer_cancel(handle.get()) })
    }

    /// A copy of the "train." options the trainer works with, also after a resume.
    pub fn config(&self) -> Result<Config> {
        // SAFETY: the trainer is alive; its config lives as long and never changes.
        unsafe { Config::copy_of(sys::xf_trainer_config(self.handle.get())) }
    }

    /// Number of updates made.
    pub fn step_count(&self) -> i64 {
        // SAFETY: the trainer is alive.
        unsafe { sys::xf_trainer_step_count(self.handle.get()) }
    }

    /// Makes one update from the next "train.accumulate" batches of a batcher; `None` at the end of an epoch, after
    /// which the next epoch begins. When it fails, as [`step`](Trainer::step) may, the batcher stands where it stood,
    /// so that nothing is left out.
    pub fn next_step(&mut self, batcher: &mut Batcher) -> Result<Option<StepStats>> {
        let mut raw = StepStats::RAW;
        let status = call!(xf_train_next(self.handle.enter()?, batcher.enter()?, &mut raw))?;
        Ok((status != sys::XF_DONE).then(|| StepStats::from_raw(raw)))
    }

    /// Steps without an end, over epoch after epoch: each is made when it is asked for. After an error it may go on.
    pub fn steps<'a>(&'a mut self, batcher: &'a mut Batcher) -> impl Iterator<Item = Result<StepStats>> + 'a {
        iter::from_fn(move || loop {
            let next = self.next_step(batcher).transpose();
            if next.is_some() {
                return next; // an epoch has at least one batch
            }
        })
    }

    /// Makes one update from a batch with targets. [`Status::OutOfRange`] (an id, a sentence that is too long),
    /// [`Status::Nonfinite`], [`Status::State`] (gradients wait).
    pub fn step(&mut self, batch: &Batch<'_>) -> Result<StepStats> {
        self.step_all(std::slice::from_ref(batch))
    }

    /// Makes one update from several batches, whose gradients are added. [`Status::InvalidArgument`] of no batch.
    pub fn step_all(&mut self, batches: &[Batch<'_>]) -> Result<StepStats> {
        let rows: Vec<sys::xf_batch> = batches.iter().map(Batch::raw).collect();
        read!(StepStats, xf_train_step(self.handle.enter()?, rows.as_ptr(), rows.len()))
    }

    /// First half of a step: adds a batch's gradients to those that wait for [`update`](Trainer::update), or drops all
    /// when it fails. The stats are of this batch; their step, learning rate and gradient norm are 0.
    pub fn accumulate(&mut self, batch: &Batch<'_>) -> Result<StepStats> {
        read!(StepStats, xf_train_accumulate(self.handle.enter()?, &batch.raw()))
    }

    /// Second half of a step: updates the parameters from the gradients that wait. [`Status::State`] when none do,
    /// [`Status::Nonfinite`] (they are dropped).
    pub fn update(&mut self) -> Result<StepStats> {
        read!(StepStats, xf_train_update(self.handle.enter()?))
    }

    /// A copy of a waiting gradient, that of the mean loss per target token so far, as in [`Model::read_tensor`].
    /// [`Status::State`] when none waits.
    pub fn gradient(&mut self, index: usize) -> Result<Vec<f32>> {
        let mut values = self.model.room(index);
        call!(xf_trainer_read_gradient(self.handle.enter()?, index, values.as_mut_ptr(), values.len()))?;
        Ok(values)
    }

    /// A model of its own with the moving average of the parameters. [`Status::State`] unless "train.ema" is above 0.
    pub fn ema(&self) -> Result<Model> {
        make!(self.handle.context(), xf_trainer_ema(self.handle.enter()?)).and_then(Model::own)
    }

    /// Saves a checkpoint: model, tokenizer, metadata, options, moments, average, step, and a batcher's position. The
    /// old file is replaced at once or not at all and stays as `<path>.prev`; [`Model::load`] reads it too.
    /// [`Status::State`] (gradients wait), [`Status::Nonfinite`] (so was the last step: a good checkpoint stays).
    pub fn save<'a>(&mut self, path: impl AsRef<Path>, batcher: impl Into<Option<&'a Batcher>>) -> Result<()> {
        let batcher = batcher.into().map_or(Ok(null_mut()), Batcher::enter)?;
        call!(xf_trainer_save(self.handle.enter()?, batcher, c_path(path)?.as_ptr())).map(drop)
    }

    /// (epoch, batch) of the batcher that was saved with the checkpoint; (0, 0) when none was.
    pub fn position(&self) -> Result<(i64, i64)> {
        let (mut epoch, mut batch) = (0, 0);
        call!(xf_trainer_get_position(self.handle.enter()?, &mut epoch, &mut batch))?;
        Ok((epoch, batch))
    }

    /// Moves a batcher, made from the same pairs as in the saved run, to the saved position; with another
    /// "data.batch_tokens" to the same share of the epoch. [`Status::State`] when no position was saved,
    /// [`Status::Data`] of other pairs, or another "data.shuffle", "data.seed", "data.bpe_dropout" or
    /// "data.unigram_alpha".
    pub fn seek(&self, batcher: &mut Batcher) -> Result<()> {
        call!(xf_trainer_seek(self.handle.enter()?, batcher.enter()?)).map(drop)
    }
}
