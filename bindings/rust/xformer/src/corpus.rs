//! Sentence pairs.
//
// SPDX-License-Identifier: Apache-2.0

use std::path::Path;
use std::ptr::{null, null_mut};
use std::sync::Arc;

use xformer_sys as sys;

use crate::context::Shared;
use crate::handle::{borrowed, c_path, c_string, Handle, Texts};
use crate::{config, Batch, Config, Context, Error, Result, Status};

mirror! {
    /// What became of the lines of a corpus: `lines` is the sum of the others.
    pub struct CorpusStats = xf_corpus_stats XF_CORPUS_STATS_INIT {
        /// Lines read.
        lines: i64,
        /// Pairs kept.
        kept: i64,
        /// Lines without exactly one tab.
        bad_columns: i64,
        /// Lines with an empty side.
        empty_side: i64,
        /// Lines with a side longer than "data.max_bytes".
        too_long: i64,
        /// Lines that are not UTF-8.
        invalid_utf8: i64,
        /// Lines with a NUL byte.
        nul_byte: i64,
    }
}

/// Sentence pairs, as text or as ids; immutable. Bad lines and pairs are skipped, counted and told to the log; with
/// "data.strict" the first one is an error.
///
/// ```
/// use xformer::{Context, Corpus};
///
/// let context = Context::new(None)?;
/// let corpus = Corpus::from_text(&context, "numerals", "one\teins\nno tab\ntwo\tzwei\n", None)?;
/// assert_eq!(corpus.pair(1)?, ("two", "zwei"));
/// assert_eq!(corpus.stats()?.bad_columns, 1);
/// let sources = corpus.pairs().map(|pair| pair.map(|(source, _)| source)).collect::<xformer::Result<Vec<_>>>()?;
/// assert_eq!(sources, ["one", "two"]);
/// # Ok::<(), xformer::Error>(())
/// ```
#[derive(Debug)]
pub struct Corpus {
    handle: Handle<sys::xf_corpus>,
    len: usize,
}

impl Corpus {
    fn own(handle: Handle<sys::xf_corpus>) -> Self {
        // SAFETY: the corpus is alive.
        let len = unsafe { sys::xf_corpus_pair_count(handle.get()) };
        Corpus { handle, len: len.try_into().unwrap_or(0) }
    }

    /// Opens a file of lines "source TAB target". [`Status::Data`]: not one good line, or a bad one with "data.strict".
    pub fn open<'a>(context: &Context, path: impl AsRef<Path>, config: impl Into<Option<&'a Config>>) -> Result<Self> {
        let (c, config) = (context.enter()?, config::pointer(config));
        make!(context.shared(), xf_corpus_open(c, config, c_path(path)?.as_ptr())).map(Corpus::own)
    }

    /// Opens two files with as many lines, a sentence each; otherwise it is [`Status::Data`].
    pub fn open_parallel<'a>(
        context: &Context,
        source: impl AsRef<Path>,
        target: impl AsRef<Path>,
        config: impl Into<Option<&'a Config>>,
    ) -> Result<Self> {
        let (c, config, source, target) = (context.enter()?, config::pointer(config), c_path(source)?, c_path(target)?);
        make!(context.shared(), xf_corpus_open_parallel(c, config, source.as_ptr(), target.as_ptr())).map(Corpus::own)
    }

    /// Makes a corpus from lines "source TAB target" in memory, as [`open`](Corpus::open); messages call it `name`.
    pub fn from_text<'a>(
        context: &Context,
        name: &str,
        text: impl AsRef<[u8]>,
        config: impl Into<Option<&'a Config>>,
    ) -> Result<Self> {
        let (c, config, name, text) =
            (context.enter()?, config::pointer(config), c_string("the name", name)?, text.as_ref());
        let (name, data) = (name.as_ptr(), text.as_ptr().cast());
        make!(context.shared(), xf_corpus_from_memory(c, config, name, data, text.len())).map(Corpus::own)
    }

    /// Makes a corpus from pairs of a source and a target, in which tabs and line ends are text.
    pub fn from_pairs<'a, S: AsRef<[u8]>, T: AsRef<[u8]>>(
        context: &Context,
        pairs: impl IntoIterator<Item = (S, T)>,
        config: impl Into<Option<&'a Config>>,
    ) -> Result<Self> {
        let (sources, targets): (Vec<S>, Vec<T>) = pairs.into_iter().unzip();
        let (c, s, t) = (context.enter()?, Texts::new(&sources), Texts::new(&targets));
        let (config, sources, targets) = (config::pointer(config), s.data.as_ptr(), t.data.as_ptr());
        let (s_lengths, t_lengths, count) = (s.lengths.as_ptr(), t.lengths.as_ptr(), s.data.len());
        make!(context.shared(), xf_corpus_from_pairs(c, config, sources, s_lengths, targets, t_lengths, count))
            .map(Corpus::own)
    }

    /// Makes a corpus from a batch with targets: for a tokenizer of the program's own. [`Status::Data`] of no pair,
    /// [`Status::OutOfRange`] of a negative id, [`Status::InvalidArgument`] of a sentence without a token.
    pub fn from_ids(context: &Context, pairs: &Batch<'_>) -> Result<Self> {
        make!(context.shared(), xf_corpus_from_ids(context.enter()?, &pairs.raw())).map(Corpus::own)
    }

    /// A corpus of some pairs of this one, in the order of the indices; a pair may come more than once.
    /// [`Status::OutOfRange`] of an index, [`Status::InvalidArgument`] of none.
    pub fn subset(&self, indices: &[i64]) -> Result<Corpus> {
        make!(self.context(), xf_corpus_subset(self.enter()?, indices.as_ptr(), indices.len())).map(Corpus::own)
    }

    /// Holds out so many pairs, drawn at random by the seed: gives the rest and what is held out, both in order.
    /// [`Status::OutOfRange`] unless some are on both sides.
    pub fn split(&self, held_out: i64, seed: i64) -> Result<(Corpus, Corpus)> {
        let mut rest = null_mut();
        let held_out = make!(self.context(), xf_corpus_split(self.enter()?, held_out, seed, &mut rest))?;
        Ok((Corpus::own(Handle::new(rest, self.context())?), Corpus::own(held_out)))
    }

    pub(crate) fn enter(&self) -> Result<*mut sys::xf_corpus> {
        self.handle.enter()
    }

    pub(crate) fn context(&self) -> Option<&Arc<Shared>> {
        self.handle.context()
    }

    /// The number of pairs.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no pair, which does not happen: making such a corpus is an error.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Source and target of a pair. [`Status::OutOfRange`] unless `index` is below [`len`](Corpus::len),
    /// [`Status::State`] of a corpus of ids.
    pub fn pair(&self, index: usize) -> Result<(&str, &str)> {
        let (corpus, index) = (self.enter()?, i64::try_from(index).unwrap_or(i64::MAX));
        let (mut source, mut target, mut s, mut t) = (null(), null(), 0, 0);
        call!(xf_corpus_get_pair(corpus, index, &mut source, &mut s, &mut target, &mut t))?;
        // SAFETY: texts of these lengths that live as long as the corpus, which the result borrows.
        let (source, target) = unsafe { (borrowed(source.cast(), s), borrowed(target.cast(), t)) };
        match (std::str::from_utf8(source), std::str::from_utf8(target)) {
            (Ok(source), Ok(target)) => Ok((source, target)),
            _ => Err(Error::new(Status::Internal, "a corpus holds text that is not UTF-8")),
        }
    }

    /// All pairs in their order.
    pub fn pairs(&self) -> impl ExactSizeIterator<Item = Result<(&str, &str)>> + '_ {
        (0..self.len).map(move |index| self.pair(index))
    }

    /// How many lines were read, kept and skipped, and why.
    pub fn stats(&self) -> Result<CorpusStats> {
        read!(CorpusStats, xf_corpus_get_stats(self.enter()?))
    }
}
