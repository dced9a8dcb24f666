//! Batches from a corpus.
//
// SPDX-License-Identifier: Apache-2.0

use xformer_sys as sys;

use crate::handle::{call, create, Handle};
#[cfg(doc)]
use crate::Status;
use crate::{config, Batch, Config, Corpus, Result, Tokenizer};

/// Where a batcher stands (the next batch) and what it holds; tokens count end symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BatcherStats {
    /// Epoch of the next batch, from 0.
    pub epoch: i64,
    /// Number of the next batch in its epoch, from 0.
    pub batch: i64,
    /// Batches in this epoch.
    pub batches: i64,
    /// Pairs in an epoch.
    pub pairs: i64,
    /// Pairs left out because a side has more than "data.max_tokens" tokens.
    pub too_long: i64,
    /// Pairs left out because a side has no token.
    pub empty: i64,
    /// Source tokens in an epoch.
    pub src_tokens: i64,
    /// Target tokens in an epoch.
    pub tgt_tokens: i64,
}

/// Turns a corpus into batches: shuffled, pairs of similar length together, epoch after epoch.
///
/// Reads "data.batch_tokens", "data.max_tokens", "data.shuffle" and "data.seed". Corpus and tokenizer are not needed
/// afterwards.
///
/// ```
/// use xformer::{Batcher, Config, Context, Corpus, Tokenizer};
///
/// let mut config = Config::new()?;
/// config.set("tokenizer.vocab_size", 300)?.set("data.batch_tokens", 8)?;
/// let context = Context::new(None)?;
/// let corpus = Corpus::from_pairs(&context, [("one", "eins"), ("two", "zwei"), ("three", "drei")], None)?;
/// let tokenizer = Tokenizer::train(&context, &corpus, &config)?;
/// let mut batcher = Batcher::new(&corpus, &tokenizer, &config)?;
/// while let Some(batch) = batcher.next_batch()? {
///     assert_eq!(batch.tgt_ids().unwrap().last(), Some(&xformer::TOKEN_END));
/// }
/// let pairs: usize = batcher.epoch().map(|batch| batch.map(|batch| batch.len())).sum::<xformer::Result<usize>>()?;
/// assert_eq!(pairs, 3);
/// # Ok::<(), xformer::Error>(())
/// ```
///
/// A batch of [`next_batch`](Batcher::next_batch) lives until the next call:
///
/// ```compile_fail,E0499
/// fn two(batcher: &mut xformer::Batcher) -> xformer::Result<()> {
///     let first = batcher.next_batch()?;
///     let second = batcher.next_batch()?;
///     println!("{:?} {:?}", first, second);
///     Ok(())
/// }
/// ```
#[derive(Debug)]
pub struct Batcher {
    handle: Handle<sys::xf_batcher>,
}

impl Batcher {
    /// Encodes the corpus and plans the first epoch.
    ///
    /// # Errors
    ///
    /// [`Status::Data`] when no pair is left, [`Status::Cancelled`],
    /// [`Status::NoMemory`].
    pub fn new<'a>(corpus: &Corpus, tokenizer: &Tokenizer, config: impl Into<Option<&'a Config>>) -> Result<Self> {
        let (pairs, words, config) = (corpus.enter()?, tokenizer.enter()?, config::pointer(config.into()));
        // SAFETY: corpus, tokenizer and config are alive and are read.
        create(Some(corpus.context()), |out, error| unsafe { sys::xf_batcher_create(pairs, words, config, out, error) })
            .map(|handle| Batcher { handle })
    }

    /// The pointer, for calls that read the batcher: refused in a log closure of its context.
    pub(crate) fn enter(&self) -> Result<*const sys::xf_batcher> {
        self.handle.context().enter()?;
        Ok(self.handle.get())
    }

    /// The pointer, for calls that need the batcher for themselves.
    pub(crate) fn enter_mut(&mut self) -> Result<*mut sys::xf_batcher> {
        self.handle.context().enter()?;
        Ok(self.handle.get_mut())
    }

    /// The next batch, in arrays of the batcher; `None` at the end of an epoch, after which the next epoch begins.
    ///
    /// # Errors
    ///
    /// [`Status::NoMemory`], [`Status::Forked`].
    pub fn next_batch(&mut self) -> Result<Option<Batch<'_>>> {
        let (batcher, mut raw) = (self.enter_mut()?, sys::XF_BATCH_INIT);
        // SAFETY: the batcher is used by this call alone; `raw` has its size.
        if call(|error| unsafe { sys::xf_batcher_next(batcher, &mut raw, error) })? == sys::XF_DONE {
            return Ok(None);
        }
        // SAFETY: the arrays live until the next call on the batcher, for which the borrow has to end.
        unsafe { Batch::borrow(&raw) }.map(Some)
    }

    /// What is left of this epoch, as batches with arrays of their own.
    pub fn epoch(&mut self) -> Epoch<'_> {
        Epoch { batcher: self, done: false }
    }

    /// Where it stands and what it holds.
    ///
    /// # Errors
    ///
    /// [`Status::Forked`].
    pub fn stats(&self) -> Result<BatcherStats> {
        let (batcher, mut stats) = (self.enter()?, sys::XF_BATCHER_STATS_INIT);
        // SAFETY: the batcher is alive and is read; `stats` has its size.
        call(|error| unsafe { sys::xf_batcher_get_stats(batcher, &mut stats, error) })?;
        Ok(BatcherStats {
            epoch: stats.epoch,
            batch: stats.batch,
            batches: stats.batches,
            pairs: stats.pairs,
            too_long: stats.too_long,
            empty: stats.empty,
            src_tokens: stats.src_tokens,
            tgt_tokens: stats.tgt_tokens,
        })
    }

    /// Moves to a position, so that the next batch is the one that stood there.
    ///
    /// # Errors
    ///
    /// [`Status::OutOfRange`].
    pub fn seek(&mut self, epoch: i64, batch: i64) -> Result<()> {
        let batcher = self.enter_mut()?;
        // SAFETY: the batcher is used by this call alone.
        call(|error| unsafe { sys::xf_batcher_seek(batcher, epoch, batch, error) }).map(drop)
    }
}

/// The rest of an epoch, from [`Batcher::epoch`]. After an error there is nothing more.
#[derive(Debug)]
pub struct Epoch<'a> {
    batcher: &'a mut Batcher,
    done: bool,
}

impl Iterator for Epoch<'_> {
    type Item = Result<Batch<'static>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None; // the next call would begin the next epoch
        }
        let next = self.batcher.next_batch().map(|batch| batch.map(Batch::into_owned)).transpose();
        self.done = !matches!(next, Some(Ok(_)));
        next
    }
}

impl std::iter::FusedIterator for Epoch<'_> {}
