//! Packed sentences as ids.
//
// SPDX-License-Identifier: Apache-2.0

use std::borrow::Cow;
use std::ptr::null;

use xformer_sys as sys;

use crate::handle::borrowed;
#[cfg(doc)]
use crate::Status;
use crate::{Config, Error, Model, Result, Side};

type Ids<'a> = Cow<'a, [i32]>;
type Offsets<'a> = Cow<'a, [i64]>;

/// Packed sentences: the concatenated ids of all sentences, and the offset at which each begins.
///
/// Source sentence b is `src_ids[src_offsets[b]..src_offsets[b + 1]]`. It ends with the end symbol, optionally followed by
/// a language token. Targets have the same form and no start symbol; decoding does not need them. The arrays are borrowed
/// or owned; those from [`Batcher::next_batch`](crate::Batcher::next_batch) belong to the batcher.
///
/// ```
/// use xformer::Batch;
///
/// let ids = [5, 6, 1, 7, 1]; // the end symbol is 1
/// let batch = Batch::new(&ids[..], &[0, 3, 5][..])?;
/// assert_eq!((batch.len(), batch.source(1)), (2, &[7, 1][..]));
/// assert_eq!(batch, Batch::from_ids([&[5, 6, 1][..], &[7, 1]])?);
/// # Ok::<(), xformer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch<'a> {
    source: Packed<'a>,
    target: Option<Packed<'a>>,
    pair_index: Option<Cow<'a, [i64]>>,
}

/// The sentences of one side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Packed<'a> {
    pub(crate) ids: Ids<'a>,
    pub(crate) offsets: Offsets<'a>,
}

impl<'a> Packed<'a> {
    /// Checks that all offsets lie within the ids, because the library trusts them.
    fn new(name: &str, ids: Ids<'a>, offsets: Offsets<'a>) -> Result<Self> {
        if offsets.first() != Some(&0) || offsets.last() != Some(&(ids.len() as i64)) {
            let message = format!("{}_offsets must begin with 0 and end with the number of ids, {}", name, ids.len());
            return Err(Error::invalid(message));
        }
        match offsets.windows(2).position(|pair| pair[1] < pair[0]) {
            None => Ok(Packed { ids, offsets }),
            Some(at) => {
                let (from, to) = (offsets[at], offsets[at + 1]);
                let message = format!("{}_offsets decrease from {} to {} after index {}", name, from, to, at);
                Err(Error::invalid(message))
            }
        }
    }

    pub(crate) fn pack<S: AsRef<[i32]>>(name: &str, sentences: impl IntoIterator<Item = S>) -> Result<Self> {
        let (mut ids, mut offsets) = (Vec::new(), vec![0]);
        for sentence in sentences {
            ids.extend_from_slice(sentence.as_ref());
            offsets.push(ids.len() as i64);
        }
        Packed::new(name, ids.into(), offsets.into())
    }

    pub(crate) fn sentences(&self) -> usize {
        self.offsets.len() - 1
    }

    fn sentence(&self, index: usize) -> &[i32] {
        &self.ids[self.offsets[index] as usize..self.offsets[index + 1] as usize]
    }

    fn into_owned(self) -> Packed<'static> {
        Packed { ids: self.ids.into_owned().into(), offsets: self.offsets.into_owned().into() }
    }
}

impl<'a> Batch<'a> {
    fn of(source: Packed<'a>) -> Self {
        Batch { source, target: None, pair_index: None }
    }

    fn with(self, target: Packed<'a>) -> Result<Self> {
        let (sources, targets) = (self.len(), target.sentences());
        if sources != targets {
            return Err(Error::invalid(format!("{} sources and {} targets, expected equal numbers", sources, targets)));
        }
        Ok(Batch { target: Some(target), ..self })
    }

    /// Creates a batch of sources, for decoding. [`Status::InvalidArgument`]: the offsets do not begin with 0, do not end
    /// with the number of ids, or decrease.
    pub fn new(src_ids: impl Into<Ids<'a>>, src_offsets: impl Into<Offsets<'a>>) -> Result<Self> {
        Packed::new("src", src_ids.into(), src_offsets.into()).map(Batch::of)
    }

    /// Adds targets, one for each source, for training and scoring.
    pub fn with_targets(self, tgt_ids: impl Into<Ids<'a>>, tgt_offsets: impl Into<Offsets<'a>>) -> Result<Self> {
        self.with(Packed::new("tgt", tgt_ids.into(), tgt_offsets.into())?)
    }

    /// Creates a batch of sources; each is a slice of ids with its end symbol.
    pub fn from_ids<S: AsRef<[i32]>>(sources: impl IntoIterator<Item = S>) -> Result<Batch<'static>> {
        Packed::pack("src", sources).map(Batch::of)
    }

    /// Creates a batch of sources and as many targets; each is a slice of ids with its end symbol.
    pub fn from_id_pairs<S: AsRef<[i32]>, T: AsRef<[i32]>>(
        sources: impl IntoIterator<Item = S>,
        targets: impl IntoIterator<Item = T>,
    ) -> Result<Batch<'static>> {
        Batch::from_ids(sources)?.with(Packed::pack("tgt", targets)?)
    }

    /// Creates a batch of sources that [`Model::encode`] encodes, for decoding. The config may contain the languages.
    pub fn from_texts<'c, S: AsRef<[u8]>>(
        model: &Model,
        sources: impl IntoIterator<Item = S>,
        config: impl Into<Option<&'c Config>>,
    ) -> Result<Batch<'static>> {
        let config = config.into();
        let ids: Result<Vec<_>> = sources.into_iter().map(|text| model.encode(Side::Source, text, config)).collect();
        Batch::from_ids(ids?)
    }

    /// Creates a batch of pairs that [`Model::encode`] encodes, for training and scoring. The config may contain the
    /// languages.
    pub fn from_text_pairs<'c, S: AsRef<[u8]>, T: AsRef<[u8]>>(
        model: &Model,
        pairs: impl IntoIterator<Item = (S, T)>,
        config: impl Into<Option<&'c Config>>,
    ) -> Result<Batch<'static>> {
        let (config, mut sources, mut targets) = (config.into(), Vec::new(), Vec::new());
        for (source, target) in pairs {
            sources.push(model.encode(Side::Source, source, config)?);
            targets.push(model.encode(Side::Target, target, config)?);
        }
        Batch::from_id_pairs(sources, targets)
    }

    /// Returns the number of sentences.
    pub fn len(&self) -> usize {
        self.source.sentences()
    }

    /// Returns whether the batch is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the ids of all sources.
    pub fn src_ids(&self) -> &[i32] {
        &self.source.ids
    }

    /// Returns the offset of each source, and the end of the last.
    pub fn src_offsets(&self) -> &[i64] {
        &self.source.offsets
    }

    /// Returns the ids of all targets, if the batch has targets.
    pub fn tgt_ids(&self) -> Option<&[i32]> {
        self.target.as_ref().map(|target| &*target.ids)
    }

    /// Returns the offset of each target, and the end of the last, if the batch has targets.
    pub fn tgt_offsets(&self) -> Option<&[i64]> {
        self.target.as_ref().map(|target| &*target.offsets)
    }

    /// Returns the index of each pair in its corpus, if a batcher produced the batch.
    pub fn pair_index(&self) -> Option<&[i64]> {
        self.pair_index.as_deref()
    }

    /// Returns the ids of one source. Panics if `sentence` is not less than [`len`](Batch::len).
    pub fn source(&self, sentence: usize) -> &[i32] {
        self.source.sentence(sentence)
    }

    /// Returns the ids of one target, if the batch has targets. Panics if `sentence` is not less than
    /// [`len`](Batch::len).
    pub fn target(&self, sentence: usize) -> Option<&[i32]> {
        self.target.as_ref().map(|target| target.sentence(sentence))
    }

    /// Copies borrowed arrays, so that the batch owns all.
    pub fn into_owned(self) -> Batch<'static> {
        Batch {
            source: self.source.into_owned(),
            target: self.target.map(Packed::into_owned),
            pair_index: self.pair_index.map(|index| index.into_owned().into()),
        }
    }

    /// Wraps a batch of the library.
    ///
    /// # Safety
    ///
    /// The arrays are as the headers say, and they are valid and do not change for `'a`.
    pub(crate) unsafe fn borrow(raw: &sys::xf_batch) -> Result<Self> {
        let sentences = raw.sentences as usize;
        let side = |name, ids, offsets| {
            // SAFETY: as the caller promises. There is one more offset than sentences; the last is the number of ids.
            let (ids, offsets) = unsafe {
                let offsets: &'a [i64] = borrowed(offsets, sentences + 1);
                (borrowed(ids, offsets[sentences] as usize), offsets)
            };
            Packed::new(name, ids.into(), offsets.into())
        };
        let target = (!raw.tgt_offsets.is_null()).then(|| side("tgt", raw.tgt_ids, raw.tgt_offsets)).transpose()?;
        // SAFETY: as the caller promises. There is one index for each sentence.
        let index = (!raw.pair_index.is_null()).then(|| unsafe { borrowed(raw.pair_index, sentences) }.into());
        Ok(Batch { source: side("src", raw.src_ids, raw.src_offsets)?, target, pair_index: index })
    }

    /// The C struct, which is valid while the batch lives.
    pub(crate) fn raw(&self) -> sys::xf_batch {
        let target = self.target.as_ref();
        sys::xf_batch {
            sentences: self.len() as i64,
            src_ids: self.source.ids.as_ptr(),
            src_offsets: self.source.offsets.as_ptr(),
            tgt_ids: target.map_or(null(), |target| target.ids.as_ptr()),
            tgt_offsets: target.map_or(null(), |target| target.offsets.as_ptr()),
            pair_index: self.pair_index.as_ref().map_or(null(), |index| index.as_ptr()),
            ..sys::XF_BATCH_INIT
        }
    }
}
