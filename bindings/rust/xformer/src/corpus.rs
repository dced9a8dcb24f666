//! Sentence pairs as text.
//
// SPDX-License-Identifier: Apache-2.0

use std::ops::Range;
use std::os::raw::c_char;
use std::path::Path;
use std::ptr::null;
use std::slice;
use std::sync::Arc;

use xformer_sys as sys;

use crate::context::Shared;
use crate::handle::{call, create, Handle};
use crate::strings::{c_path, c_string};
use crate::{config, Config, Context, Error, Result, Status};

/// What became of the lines of a corpus: `lines` is the sum of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CorpusStats {
    /// Lines read.
    pub lines: i64,
    /// Pairs kept.
    pub kept: i64,
    /// Lines without exactly one tab.
    pub bad_columns: i64,
    /// Lines with an empty side.
    pub empty_side: i64,
    /// Lines with a side longer than "data.max_bytes".
    pub too_long: i64,
    /// Lines that are not UTF-8.
    pub invalid_utf8: i64,
    /// Lines with a NUL byte.
    pub nul_byte: i64,
}

/// Sentence pairs as text; immutable. Bad lines are skipped, counted and told to the log; with "data.strict" the first
/// one is an error.
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
///
/// The text of a pair is the corpus's own:
///
/// ```compile_fail,E0505
/// # let context = xformer::Context::new(None).unwrap();
/// # let corpus = xformer::Corpus::from_text(&context, "numerals", "one\teins\n", None).unwrap();
/// let pair = corpus.pair(0).unwrap();
/// drop(corpus);
/// println!("{}", pair.0);
/// ```
#[derive(Debug)]
pub struct Corpus {
    handle: Handle<sys::xf_corpus>,
    len: usize,
}

impl Corpus {
    fn make(
        context: &Context,
        make: impl FnOnce(*mut sys::xf_context, *mut *mut sys::xf_corpus, *mut sys::xf_error) -> sys::xf_status,
    ) -> Result<Self> {
        let pointer = context.shared().enter()?;
        let handle = create(Some(context.shared()), |out, error| make(pointer, out, error))?;
        // SAFETY: the corpus is alive and is read.
        let len = unsafe { sys::xf_corpus_pair_count(handle.get()) };
        Ok(Corpus { handle, len: len.try_into().unwrap_or(0) })
    }

    /// Opens a file of lines "source TAB target".
    ///
    /// # Errors
    ///
    /// [`Status::NotFound`], [`Status::Io`]; [`Status::Data`] (not one good line, or a bad one with "data.strict"),
    /// [`Status::Cancelled`], [`Status::NoMemory`].
    pub fn open<'a>(context: &Context, path: impl AsRef<Path>, config: impl Into<Option<&'a Config>>) -> Result<Self> {
        let (path, config) = (c_path(path.as_ref())?, config::pointer(config.into()));
        // SAFETY: context and config are alive and are read, the path is a C string.
        Corpus::make(context, |c, out, error| unsafe { sys::xf_corpus_open(c, config, path.as_ptr(), out, error) })
    }

    /// Opens two files with as many lines, a sentence each.
    ///
    /// # Errors
    ///
    /// As [`open`](Corpus::open); [`Status::Data`] when the line counts differ.
    pub fn open_parallel<'a>(
        context: &Context,
        source: impl AsRef<Path>,
        target: impl AsRef<Path>,
        config: impl Into<Option<&'a Config>>,
    ) -> Result<Self> {
        let (source, target) = (c_path(source.as_ref())?, c_path(target.as_ref())?);
        let config = config::pointer(config.into());
        // SAFETY: context and config are alive and are read, the paths are C strings.
        Corpus::make(context, |c, out, error| unsafe {
            sys::xf_corpus_open_parallel(c, config, source.as_ptr(), target.as_ptr(), out, error)
        })
    }

    /// Makes a corpus from lines "source TAB target" in memory; messages call it `name`.
    ///
    /// # Errors
    ///
    /// As [`open`](Corpus::open).
    pub fn from_text<'a>(
        context: &Context,
        name: &str,
        text: impl AsRef<[u8]>,
        config: impl Into<Option<&'a Config>>,
    ) -> Result<Self> {
        let (name, text) = (c_string("the name", name.as_bytes())?, text.as_ref());
        let config = config::pointer(config.into());
        // SAFETY: context and config are alive and are read, the name is a C string, the text has that length.
        Corpus::make(context, |c, out, error| unsafe {
            let data = text.as_ptr() as *const c_char;
            sys::xf_corpus_from_memory(c, config, name.as_ptr(), data, text.len(), out, error)
        })
    }

    /// Makes a corpus from pairs of a source and a target.
    ///
    /// # Errors
    ///
    /// As [`open`](Corpus::open); [`Status::InvalidArgument`] when a text holds a tab or a line end.
    pub fn from_pairs<'a, S: AsRef<str>, T: AsRef<str>>(
        context: &Context,
        pairs: impl IntoIterator<Item = (S, T)>,
        config: impl Into<Option<&'a Config>>,
    ) -> Result<Self> {
        let mut text = String::new();
        for (index, (source, target)) in pairs.into_iter().enumerate() {
            for (side, end) in [(source.as_ref(), '\t'), (target.as_ref(), '\n')] {
                if side.contains(['\t', '\n', '\r']) {
                    return Err(Error::invalid(format!("pair {} holds a tab or a line end, expected none", index)));
                }
                text.push_str(side);
                text.push(end);
            }
        }
        Corpus::from_text(context, "pairs", text, config)
    }

    /// The pointer, for calls that read the corpus: refused in a log closure of its context.
    pub(crate) fn enter(&self) -> Result<*const sys::xf_corpus> {
        self.handle.context().enter()?;
        Ok(self.handle.get())
    }

    pub(crate) fn context(&self) -> &Arc<Shared> {
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

    /// Source and target of a pair.
    ///
    /// # Errors
    ///
    /// [`Status::OutOfRange`] unless `index` is below [`len`](Corpus::len); [`Status::Forked`].
    pub fn pair(&self, index: usize) -> Result<(&str, &str)> {
        let (corpus, index) = (self.enter()?, i64::try_from(index).unwrap_or(i64::MAX));
        let (mut texts, mut lengths) = ([null::<c_char>(); 2], [0; 2]);
        let [source, target] = &mut texts;
        let [source_length, target_length] = &mut lengths;
        // SAFETY: the corpus is alive and is read; all outputs are valid.
        call(|error| unsafe {
            sys::xf_corpus_get_pair(corpus, index, source, source_length, target, target_length, error)
        })?;
        // SAFETY: texts of these lengths that live as long as the corpus, which the result borrows.
        let side = |i: usize| unsafe { slice::from_raw_parts(texts[i] as *const u8, lengths[i]) };
        match (std::str::from_utf8(side(0)), std::str::from_utf8(side(1))) {
            (Ok(source), Ok(target)) => Ok((source, target)),
            _ => Err(Error::new(Status::Internal, "a corpus holds text that is not UTF-8")),
        }
    }

    /// All pairs in their order.
    pub fn pairs(&self) -> Pairs<'_> {
        Pairs { corpus: self, range: 0..self.len }
    }

    /// How many lines were read, kept and skipped, and why.
    ///
    /// # Errors
    ///
    /// [`Status::Forked`].
    pub fn stats(&self) -> Result<CorpusStats> {
        let (corpus, mut stats) = (self.enter()?, sys::XF_CORPUS_STATS_INIT);
        // SAFETY: the corpus is alive and is read; `stats` has its size.
        call(|error| unsafe { sys::xf_corpus_get_stats(corpus, &mut stats, error) })?;
        Ok(CorpusStats {
            lines: stats.lines,
            kept: stats.kept,
            bad_columns: stats.bad_columns,
            empty_side: stats.empty_side,
            too_long: stats.too_long,
            invalid_utf8: stats.invalid_utf8,
            nul_byte: stats.nul_byte,
        })
    }
}

impl<'a> IntoIterator for &'a Corpus {
    type Item = Result<(&'a str, &'a str)>;
    type IntoIter = Pairs<'a>;

    fn into_iter(self) -> Pairs<'a> {
        self.pairs()
    }
}

/// The pairs of a corpus, from [`Corpus::pairs`].
#[derive(Clone, Debug)]
pub struct Pairs<'a> {
    corpus: &'a Corpus,
    range: Range<usize>,
}

impl<'a> Iterator for Pairs<'a> {
    type Item = Result<(&'a str, &'a str)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.range.next().map(|index| self.corpus.pair(index))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.range.size_hint()
    }
}

impl ExactSizeIterator for Pairs<'_> {}
