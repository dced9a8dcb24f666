//! Training: loss, gradients, Adam, checkpoints.
//
// SPDX-License-Identifier: Apache-2.0

use std::iter;
use std::ptr::null_mut;
use std::sync::Arc;

use xformer_sys as sys;

use crate::handle::Handle;
use crate::{call, config, Batch, Batcher, Config, Context, Error, Model, Result, Sink, Source, Status};

given! {
    /// Outcome of a training step.
    pub enum StepOutcome {
        /// The parameters were updated.
        Updated = XF_STEP_UPDATED,
        /// The loss or the gradient was not finite and "train.on_nonfinite" is skip: the batches were skipped.
        Skipped = XF_STEP_SKIPPED,
        /// The same with rollback: parameters, moments, and step were restored from the last checkpoint.
        RolledBack = XF_STEP_ROLLED_BACK,
    }
}

mirror! {
    /// Statistics of a training step.
    pub struct StepStats = xf_step_stats XF_STEP_STATS_INIT {
        /// Number of updates so far, including this one.
        step: i64,
        /// Sentence pairs used.
        sentences: i64,
        /// Source tokens, including end symbols.
        src_tokens: i64,
        /// Target tokens, including end symbols.
        tgt_tokens: i64,
        /// Label-smoothed cross-entropy with dropout, in nats per target token.
        loss: f64,
        /// Cross-entropy without label smoothing, with dropout, in nats per target token.
        nll: f64,
        /// Learning rate of the update; see "train.schedule".
        learning_rate: f64,
        /// L2 norm of the gradient of the mean loss, before "train.clip_norm".
        gradient_norm: f64,
        /// Outcome of the step.
        outcome: StepOutcome,
    }
}

/// Trains a model: gradients, Adam's moments, and the step number.
///
/// After any error, including a cancelled call, parameters, moments, and step number are as before the call. During its
/// calls, a trainer uses its model exclusively: conflicting calls of other threads return [`Status::Busy`].
///
/// ```
/// use xformer::{Batcher, Config, Context, Corpus, Model, Tokenizer, Trainer};
///
/// let mut config = Config::new()?;
/// config.preset("tiny")?.set("tokenizer.vocab_size", 300)?.set("train.warmup_steps", 10)?;
/// let context = Context::new(None)?;
/// let corpus = Corpus::from_pairs(&context, [("one two", "eins zwei"), ("two one", "zwei eins")], None)?;
/// let tokenizer = Tokenizer::train(&context, &corpus, &config)?;
/// let model = Model::new(&context, &tokenizer, &config)?;
/// let mut batcher = Batcher::new(&corpus, model.tokenizer(), &config)?;
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
    /// Creates a trainer at step 0. Reads the options of the group "train.". [`Status::InvalidArgument`]: options
    /// contradict each other. [`Status::State`]: the model is quantized.
    pub fn new<'a>(model: &Model, config: impl Into<Option<&'a Config>>) -> Result<Self> {
        let handle = make!(model.context(), xf_trainer_create(model.enter()?, config::pointer(config)))?;
        Ok(Trainer { handle: Arc::new(handle), model: model.clone() })
    }

    /// Creates a trainer and its model from a checkpoint, in the state in which they were saved. Options of the group
    /// "train." that are set in the config replace the saved ones, except "train.seed", "train.ema", and those of Adam
    /// ([`Status::State`]). [`Status::InvalidArgument`]: the file is a model without optimizer state.
    pub fn resume<'a, 's>(
        context: &Context,
        source: impl Into<Source<'s>>,
        config: impl Into<Option<&'a Config>>,
    ) -> Result<Self> {
        let (c, config) = (context.enter()?, config::pointer(config));
        let resume = |source| make!(context.shared(), xf_trainer_resume(c, source, config, call::current()));
        let handle = Arc::new(source.into().pass(resume)?);
        // SAFETY: the trainer is valid, and it owns the result.
        let model = Handle::borrowed(unsafe { sys::xf_trainer_model(handle.get()) }, &handle);
        let model = model.ok_or_else(|| Error::new(Status::Internal, "the trainer has no model"))?;
        Ok(Trainer { handle, model: Model::own(model)? })
    }

    pub(crate) fn enter(&self) -> Result<*mut sys::xf_trainer> {
        self.handle.enter()
    }

    /// Returns the model. A clone of a resumed trainer's model keeps the trainer's memory allocated.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Returns a copy of the options of the group "train." that are in effect, also after a resume.
    pub fn config(&self) -> Result<Config> {
        // SAFETY: the trainer is valid, and its config does not change.
        unsafe { Config::copy_of(sys::xf_trainer_config(self.handle.get())) }
    }

    /// Returns the number of updates so far.
    pub fn step_count(&self) -> i64 {
        // SAFETY: the trainer is valid.
        unsafe { sys::xf_trainer_step_count(self.handle.get()) }
    }

    /// Updates the model once from the next "train.accumulate" batches of a batcher. Returns `None` at the end of an
    /// epoch; the next call then begins the next epoch. If the call fails (see [`step`](Trainer::step)), the batcher keeps
    /// its position, so no batch is lost.
    pub fn next_step(&mut self, batcher: &mut Batcher) -> Result<Option<StepStats>> {
        let mut raw = StepStats::RAW;
        let status = call!(xf_train_next(self.enter()?, batcher.enter()?, call::current(), &mut raw))?;
        Ok((status != sys::XF_DONE).then(|| StepStats::from_raw(raw)))
    }

    /// Returns an endless iterator over steps, epoch after epoch. Each step is made when it is requested. The iterator
    /// may be used after an error.
    pub fn steps<'a>(&'a mut self, batcher: &'a mut Batcher) -> impl Iterator<Item = Result<StepStats>> + 'a {
        iter::from_fn(move || loop {
            let next = self.next_step(batcher).transpose();
            if next.is_some() {
                return next; // an epoch has at least one batch
            }
        })
    }

    /// Updates the model once from a batch with targets. [`Status::OutOfRange`]: an id, or a sentence longer than
    /// "model.max_length". [`Status::Nonfinite`]: the loss or the gradient. [`Status::State`]: gradients are pending.
    pub fn step(&mut self, batch: &Batch<'_>) -> Result<StepStats> {
        self.step_all(std::slice::from_ref(batch))
    }

    /// Updates the model once from the sum of the gradients of several batches. [`Status::InvalidArgument`]: no batch.
    pub fn step_all(&mut self, batches: &[Batch<'_>]) -> Result<StepStats> {
        let rows: Vec<sys::xf_batch> = batches.iter().map(Batch::raw).collect();
        read!(StepStats, xf_train_step(self.enter()?, rows.as_ptr(), rows.len(), call::current()))
    }

    /// First half of a step: adds the gradients of a batch to the pending gradients; an error discards them. Returns the
    /// statistics of this batch only: step, learning rate, and gradient norm are 0.
    pub fn accumulate(&mut self, batch: &Batch<'_>) -> Result<StepStats> {
        read!(StepStats, xf_train_accumulate(self.enter()?, &batch.raw(), call::current()))
    }

    /// Second half of a step: updates the parameters from the pending gradients. [`Status::State`]: no gradients are
    /// pending. [`Status::Nonfinite`]: the pending gradients are discarded.
    pub fn update(&mut self) -> Result<StepStats> {
        read!(StepStats, xf_train_update(self.enter()?))
    }

    /// Copies the exponential moving average of the parameters to a new model. [`Status::State`]: "train.ema" is 0.
    pub fn copy_average(&self) -> Result<Model> {
        make!(self.handle.context(), xf_trainer_copy_average(self.enter()?, call::current())).and_then(Model::own)
    }

    /// Saves a checkpoint: model, tokenizer, metadata, options, moments, average, step, and the position of a batcher.
    /// [`Model::load`] can also read it. [`Status::State`]: gradients are pending. [`Status::Nonfinite`]: the last step was
    /// not finite; the old file is kept.
    pub fn save<'a, 's>(&mut self, sink: impl Into<Sink<'s>>, batcher: impl Into<Option<&'a Batcher>>) -> Result<()> {
        let batcher = batcher.into().map_or(Ok(null_mut()), Batcher::enter)?;
        let trainer = self.enter()?;
        sink.into().pass(|sink| call!(xf_trainer_save(trainer, batcher, call::current(), sink))).map(drop)
    }
}
