//! Batches from a corpus.
//
// SPDX-License-Identifier: Apache-2.0

use std::iter;
use std::ptr::null_mut;

use xformer_sys as sys;

use crate::handle::Handle;
#[cfg(doc)]
use crate::Status;
use crate::{config, Batch, Config, Corpus, Result, Tokenizer};

mirror! {
    /// Where a batcher stands (the next batch) and what it holds; tokens count end symbols.
    pub struct BatcherStats = xf_batcher_stats XF_BATCHER_STATS_INIT {
        /// Epoch of the next batch, from 0.
        epoch: i64,
        /// Number of the next batch in its epoch, from 0.
        batch: i64,
        /// Batches in this epoch.
        batches: i64,
        /// Pairs in an epoch.
        pairs: i64,
        /// Pairs left out because a side has more than "data.max_tokens" tokens.
        too_long: i64,
        /// Pairs left out because a side has no token.
        empty: i64,
        /// Source tokens in an epoch.
        src_tokens: i64,
        /// Target tokens in an epoch.
        tgt_tokens: i64,
    }
}

/// Turns a corpus into batches: shuffled, pairs of similar length together, epoch after epoch.
///
/// Reads the options of the group "data.". Corpus and tokenizer are not needed afterwards.
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
    /// Encodes the corpus and plans the first epoch. A corpus of ids needs no tokenizer. [`Status::Data`]: no pair.
    pub fn new<'a, 'b>(
        corpus: &Corpus,
        tokenizer: impl Into<Option<&'b Tokenizer>>,
        config: impl Into<Option<&'a Config>>,
    ) -> Result<Self> {
        let tokenizer = tokenizer.into().map_or(Ok(null_mut()), Tokenizer::enter)?;
        let (pairs, config) = (corpus.enter()?, config::pointer(config));
        make!(corpus.context(), xf_batcher_create(pairs, tokenizer, config)).map(|handle| Batcher { handle })
    }

    pub(crate) fn enter(&self) -> Result<*mut sys::xf_batcher> {
        self.handle.enter()
    }

    /// The next batch, in arrays of the batcher; `None` at the end of an epoch, after which the next epoch begins.
    pub fn next_batch(&mut self) -> Result<Option<Batch<'_>>> {
        let mut raw = sys::XF_BATCH_INIT;
        if call!(xf_batcher_next(self.enter()?, &mut raw))? == sys::XF_DONE {
            return Ok(None);
        }
        // SAFETY: the arrays live until the next call on the batcher, for which the borrow has to end.
        unsafe { Batch::borrow(&raw) }.map(Some)
    }

    /// What is left of this epoch, as batches with arrays of their own. After an error there is nothing more.
    pub fn epoch(&mut self) -> impl Iterator<Item = Result<Batch<'static>>> + '_ {
        let mut left = true; // the next call would begin the next epoch
        iter::from_fn(move || {
            let next =
                if left { self.next_batch().map(|batch| batch.map(Batch::into_owned)).transpose() } else { None };
            left = matches!(next, Some(Ok(_)));
            next
        })
    }

    /// Where it stands and what it holds.
    pub fn stats(&self) -> Result<BatcherStats> {
        read!(BatcherStats, xf_batcher_get_stats(self.enter()?))
    }

    /// Moves to a position, so that the next batch is the one that stood there. [`Status::OutOfRange`].
    pub fn seek(&mut self, epoch: i64, batch: i64) -> Result<()> {
        call!(xf_batcher_seek(self.enter()?, epoch, batch)).map(drop)
    }
}
