//! Sentence pairs.
//
// SPDX-License-Identifier: Apache-2.0

use std::path::Path;
use std::ptr::{null, null_mut};
use std::sync::Arc;

use xformer_sys as sys;

use crate::context::Shared;
use crate::handle::{borrowed, c_path, Handle, Texts};
use crate::{call, config, Batch, Config, Context, Error, Result, Status, Tokenizer};

mirror! {
    /// Line counts of a corpus. `lines` is the sum of the others.
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

/// Sentence pairs, as text or as ids; immutable.
///
/// Bad lines and pairs are skipped, counted, and logged. With "data.strict", the first one is an error.
///
/// ```
/// use xformer::{Context, Corpus};
///
/// let context = Context::new(None)?;
/// let corpus = Corpus::from_pairs(&context, [("one", "eins"), ("no target", ""), ("two", "zwei")], None)?;
/// assert_eq!(corpus.pair(1)?, ("two", "zwei"));
/// assert_eq!(corpus.stats()?.empty_side, 1);
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
        // SAFETY: the corpus is valid.
        let len = unsafe { sys::xf_corpus_pair_count(handle.get()) };
        Corpus { handle, len: len.try_into().unwrap_or(0) }
    }

    /// Opens a file with lines of the form "source TAB target", or a folder of such files. [`Status::Data`]: no valid
    /// line, or a bad line with "data.strict".
    pub fn open<'a>(context: &Context, path: impl AsRef<Path>, config: impl Into<Option<&'a Config>>) -> Result<Self> {
        let (c, path, config) = (context.enter()?, c_path(path)?, config::pointer(config));
        make!(context.shared(), xf_corpus_open(c, path.as_ptr(), null(), config, call::current())).map(Corpus::own)
    }

    /// Opens two files, or two folders with as many files, that have a sentence per line. [`Status::Data`]: numbers of
    /// lines or files differ.
    pub fn open_parallel<'a>(
        context: &Context,
        source: impl AsRef<Path>,
        target: impl AsRef<Path>,
        config: impl Into<Option<&'a Config>>,
    ) -> Result<Self> {
        let (c, source, target, config) = (context.enter()?, c_path(source)?, c_path(target)?, config::pointer(config));
        let (source, target) = (source.as_ptr(), target.as_ptr());
        make!(context.shared(), xf_corpus_open(c, source, target, config, call::current())).map(Corpus::own)
    }

    /// Encodes pairs and writes an encoded corpus, which may be larger than memory; [`open`](Corpus::open) opens the
    /// folder. Continues what an earlier call has begun. [`Status::State`]: the folder has other texts.
    pub fn encode<'a>(
        context: &Context,
        path: impl AsRef<Path>,
        tokenizer: &Tokenizer,
        folder: impl AsRef<Path>,
        config: impl Into<Option<&'a Config>>,
    ) -> Result<()> {
        let (c, path, folder, config) = (context.enter()?, c_path(path)?, c_path(folder)?, config::pointer(config));
        let (path, folder, tokenizer) = (path.as_ptr(), folder.as_ptr(), tokenizer.enter()?);
        call!(xf_corpus_encode(c, path, null(), tokenizer, config, call::current(), folder)).map(drop)
    }

    /// Encodes two parallel files or folders as [`encode`](Corpus::encode) does.
    pub fn encode_parallel<'a>(
        context: &Context,
        (source, target): (impl AsRef<Path>, impl AsRef<Path>),
        tokenizer: &Tokenizer,
        folder: impl AsRef<Path>,
        config: impl Into<Option<&'a Config>>,
    ) -> Result<()> {
        let (c, source, target, folder) = (context.enter()?, c_path(source)?, c_path(target)?, c_path(folder)?);
        let (source, target, folder) = (source.as_ptr(), target.as_ptr(), folder.as_ptr());
        let (tokenizer, config) = (tokenizer.enter()?, config::pointer(config));
        call!(xf_corpus_encode(c, source, target, tokenizer, config, call::current(), folder)).map(drop)
    }

    /// Creates a corpus from pairs of source and target. The texts are copied and may contain tabs and line ends.
    pub fn from_pairs<'a, S: AsRef<[u8]>, T: AsRef<[u8]>>(
        context: &Context,
        pairs: impl IntoIterator<Item = (S, T)>,
        config: impl Into<Option<&'a Config>>,
    ) -> Result<Self> {
        let (sources, targets): (Vec<S>, Vec<T>) = pairs.into_iter().unzip();
        let (c, s, t) = (context.enter()?, Texts::new(&sources), Texts::new(&targets));
        let (config, call, count) = (config::pointer(config), call::current(), s.data.len());
        let (sources, s_lengths, targets, t_lengths) =
            (s.data.as_ptr(), s.lengths.as_ptr(), t.data.as_ptr(), t.lengths.as_ptr());
        make!(context.shared(), xf_corpus_from_pairs(c, sources, s_lengths, targets, t_lengths, count, config, call))
            .map(Corpus::own)
    }

    /// Creates a corpus from a batch with targets, for programs with their own tokenizer. [`Status::Data`]: no pair.
    /// [`Status::OutOfRange`]: a negative id. [`Status::InvalidArgument`]: a sentence without a token.
    pub fn from_ids(context: &Context, pairs: &Batch<'_>) -> Result<Self> {
        make!(context.shared(), xf_corpus_from_ids(context.enter()?, &pairs.raw(), call::current())).map(Corpus::own)
    }

    /// Creates a corpus from some pairs of this one, in the order of the indices, which may repeat. The text is shared.
    /// [`Status::OutOfRange`]: an index. [`Status::InvalidArgument`]: no index.
    pub fn subset(&self, indices: &[i64]) -> Result<Corpus> {
        make!(self.context(), xf_corpus_subset(self.enter()?, indices.as_ptr(), indices.len())).map(Corpus::own)
    }

    /// Splits the corpus at random: returns the pairs for training and the held-out pairs, both in the order of the
    /// corpus. [`Status::OutOfRange`]: one of them would be empty.
    pub fn split(&self, held_out_count: i64, seed: i64) -> Result<(Corpus, Corpus)> {
        let mut rest = null_mut();
        let held_out = make!(self.context(), xf_corpus_split(self.enter()?, held_out_count, seed, &mut rest))?;
        Ok((Corpus::own(Handle::new(rest, self.context())?), Corpus::own(held_out)))
    }

    pub(crate) fn enter(&self) -> Result<*mut sys::xf_corpus> {
        self.handle.enter()
    }

    pub(crate) fn context(&self) -> Option<&Arc<Shared>> {
        self.handle.context()
    }

    /// Returns the number of pairs.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns false: a corpus without pairs cannot be created.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns source and target of a pair. [`Status::OutOfRange`]: `index` is not less than [`len`](Corpus::len).
    /// [`Status::State`]: a corpus of ids.
    pub fn pair(&self, index: usize) -> Result<(&str, &str)> {
        let (corpus, index) = (self.enter()?, i64::try_from(index).unwrap_or(i64::MAX));
        let (mut source, mut target, mut s, mut t) = (null(), null(), 0, 0);
        call!(xf_corpus_get_pair(corpus, index, &mut source, &mut s, &mut target, &mut t))?;
        // SAFETY: texts of these lengths, valid as long as the corpus, which the result borrows.
        let (source, target) = unsafe { (borrowed(source.cast(), s), borrowed(target.cast(), t)) };
        match (std::str::from_utf8(source), std::str::from_utf8(target)) {
            (Ok(source), Ok(target)) => Ok((source, target)),
            _ => Err(Error::new(Status::Internal, "the corpus contains text that is not UTF-8")),
        }
    }

    /// Returns all pairs in order.
    pub fn pairs(&self) -> impl ExactSizeIterator<Item = Result<(&str, &str)>> + '_ {
        (0..self.len).map(move |index| self.pair(index))
    }

    /// Reports the numbers of lines that were read, kept, and skipped.
    pub fn stats(&self) -> Result<CorpusStats> {
        read!(CorpusStats, xf_corpus_get_stats(self.enter()?))
    }
}
