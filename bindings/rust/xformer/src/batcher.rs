//! Batches from a corpus.
//
// SPDX-License-Identifier: Apache-2.0

use std::iter;
use std::ptr::null_mut;

use xformer_sys as sys;

use crate::handle::Handle;
#[cfg(doc)]
use crate::Status;
use crate::{call, config, Batch, Config, Corpus, Result, Tokenizer, Trainer};

mirror! {
    /// Position and contents of a batcher.
    pub struct BatcherStats = xf_batcher_stats XF_BATCHER_STATS_INIT {
        /// Epoch of the next batch, from 0.
        epoch: i64,
        /// Index of the next batch in its epoch, from 0.
        batch: i64,
        /// Batches in this epoch.
        batches: i64,
        /// Pairs in this epoch.
        pairs: i64,
        /// Pairs that this epoch skips because a side has more tokens than "data.max_tokens" or "data.batch_tokens".
        too_long: i64,
        /// Pairs that this epoch skips because a side has no token.
        empty: i64,
        /// Source tokens in this epoch, including end symbols.
        src_tokens: i64,
        /// Target tokens in this epoch, including end symbols.
        tgt_tokens: i64,
    }
}

/// Produces batches from a corpus: shuffled, with pairs of similar length in a batch, epoch after epoch.
///
/// ```
/// # fn one_epoch(corpus: &xformer::Corpus, tokenizer: &xformer::Tokenizer) -> xformer::Result<()> {
/// let mut batcher = xformer::Batcher::new(corpus, tokenizer, None)?;
/// while let Some(batch) = batcher.next_batch()? {
///     println!("{} pairs, {} target tokens", batch.len(), batch.tgt_ids().unwrap_or_default().len());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Batcher {
    handle: Handle<sys::xf_batcher>,
}

impl Batcher {
    /// Encodes the corpus and plans the first epoch. Reads the options of the group "data.". A corpus of ids has no
    /// tokenizer. The tokenizer of a model ([`Model::tokenizer`](crate::Model::tokenizer)) frames texts for that model.
    /// [`Status::Data`]: no pair is left.
    pub fn new<'a, 'b>(
        corpus: &Corpus,
        tokenizer: impl Into<Option<&'b Tokenizer>>,
        config: impl Into<Option<&'a Config>>,
    ) -> Result<Self> {
        let tokenizer = tokenizer.into().map_or(Ok(null_mut()), Tokenizer::enter)?;
        let (pairs, config) = (corpus.enter()?, config::pointer(config));
        make!(corpus.context(), xf_batcher_create(pairs, tokenizer, config, call::current()))
            .map(|handle| Batcher { handle })
    }

    pub(crate) fn enter(&self) -> Result<*mut sys::xf_batcher> {
        self.handle.enter()
    }

    /// Returns the next batch, in arrays of the batcher; `None` at the end of an epoch. The next call then begins the
    /// next epoch.
    pub fn next_batch(&mut self) -> Result<Option<Batch<'_>>> {
        let mut raw = sys::XF_BATCH_INIT;
        if call!(xf_batcher_next(self.enter()?, call::current(), &mut raw))? == sys::XF_DONE {
            return Ok(None);
        }
        // SAFETY: the arrays are valid until the next call on the batcher, which the borrow prevents.
        unsafe { Batch::borrow(&raw) }.map(Some)
    }

    /// Returns the remaining batches of this epoch, with their own arrays. The iterator ends after an error.
    pub fn epoch(&mut self) -> impl Iterator<Item = Result<Batch<'static>>> + '_ {
        let mut left = true; // after the end, another call would begin the next epoch
        iter::from_fn(move || {
            let next =
                if left { self.next_batch().map(|batch| batch.map(Batch::into_owned)).transpose() } else { None };
            left = matches!(next, Some(Ok(_)));
            next
        })
    }

    /// Reports the position and the contents.
    pub fn stats(&self) -> Result<BatcherStats> {
        read!(BatcherStats, xf_batcher_get_stats(self.enter()?))
    }

    /// Moves to a position. [`Status::OutOfRange`]: the epoch has fewer batches.
    pub fn seek(&mut self, epoch: i64, batch: i64) -> Result<()> {
        call!(xf_batcher_seek(self.enter()?, epoch, batch, call::current())).map(drop)
    }

    /// Moves to the position that was saved in the checkpoint of a resumed trainer. The batcher must have been created
    /// from the same corpus, tokenizer, and options as in the saved run; with another "data.batch_tokens", it moves to the
    /// same fraction of the epoch. [`Status::State`]: the checkpoint contains no position. [`Status::Data`]: the pairs or
    /// the options differ.
    pub fn resume(&mut self, trainer: &Trainer) -> Result<()> {
        call!(xf_batcher_resume(self.enter()?, trainer.enter()?, call::current())).map(drop)
    }
}
