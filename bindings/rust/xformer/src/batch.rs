//! Packed sentences as ids.
//
// SPDX-License-Identifier: Apache-2.0

use std::borrow::Cow;
use std::ptr::null;

use xformer_sys as sys;

use crate::handle::borrowed;
#[cfg(doc)]
use crate::Status;
use crate::{Error, Result, Tokenizer};

type Ids<'a> = Cow<'a, [i32]>;

/// Packed sentences: the ids of all sentences one after the other, and where each begins.
///
/// Sentence b of the source is `src_ids[src_offsets[b]..src_offsets[b + 1]]`, its last id the end symbol; the target
/// likewise. Targets have no start symbol, and decoding needs none. The arrays are borrowed or owned; those that
/// [`Batcher::next_batch`](crate::Batcher::next_batch) gives belong to the batcher.
///
/// ```
/// use xformer::{Batch, TOKEN_END};
///
/// let ids = [5, 6, TOKEN_END, 7, TOKEN_END];
/// let batch = Batch::new(&ids[..], &[0, 3, 5][..])?;
/// assert_eq!((batch.len(), batch.source(1)), (2, &[7, TOKEN_END][..]));
/// assert_eq!(batch, Batch::from_ids([&[5, 6, TOKEN_END][..], &[7, TOKEN_END]])?);
/// # Ok::<(), xformer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch<'a> {
    source: Side<'a>,
    target: Option<Side<'a>>,
    pair_index: Option<Cow<'a, [i64]>>,
}

/// Sentences of one language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Side<'a> {
    pub(crate) ids: Ids<'a>,
    pub(crate) offsets: Ids<'a>,
}

impl<'a> Side<'a> {
    /// The offsets are what the library goes by, so that they stay within the ids is proved here.
    fn new(name: &str, ids: Ids<'a>, offsets: Ids<'a>) -> Result<Self> {
        let last = i32::try_from(ids.len());
        let ends = offsets.first() == Some(&0) && last.map_or(false, |last| offsets.last() == Some(&last));
        if !ends {
            let message = format!("{}_offsets do not go from 0 to the number of ids, {}", name, ids.len());
            return Err(Error::invalid(message));
        }
        match offsets.windows(2).position(|pair| pair[1] < pair[0]) {
            None => Ok(Side { ids, offsets }),
            Some(at) => {
                let (from, to) = (offsets[at], offsets[at + 1]);
                Err(Error::invalid(format!("{}_offsets fall from {} to {} after entry {}", name, from, to, at)))
            }
        }
    }

    pub(crate) fn pack<S: AsRef<[i32]>>(name: &str, sentences: impl IntoIterator<Item = S>) -> Result<Self> {
        let (mut ids, mut offsets) = (Vec::new(), vec![0]);
        for sentence in sentences {
            ids.extend_from_slice(sentence.as_ref());
            let end = i32::try_from(ids.len());
            offsets.push(end.map_err(|_| Error::invalid(format!("{} ids, expected at most 2^31 - 1", ids.len())))?);
        }
        Side::new(name, ids.into(), offsets.into())
    }

    pub(crate) fn sentences(&self) -> usize {
        self.offsets.len() - 1
    }

    fn sentence(&self, index: usize) -> &[i32] {
        &self.ids[self.offsets[index] as usize..self.offsets[index + 1] as usize]
    }

    fn into_owned(self) -> Side<'static> {
        Side { ids: self.ids.into_owned().into(), offsets: self.offsets.into_owned().into() }
    }
}

impl<'a> Batch<'a> {
    fn of(source: Side<'a>) -> Self {
        Batch { source, target: None, pair_index: None }
    }

    fn with(self, target: Side<'a>) -> Result<Self> {
        let (sources, targets) = (self.len(), target.sentences());
        if sources != targets {
            return Err(Error::invalid(format!("{} sources and {} targets, expected as many", sources, targets)));
        }
        Ok(Batch { target: Some(target), ..self })
    }

    /// A batch of sources, for decoding. [`Status::InvalidArgument`] unless the offsets go from 0 to the number of ids
    /// and do not fall.
    pub fn new(src_ids: impl Into<Ids<'a>>, src_offsets: impl Into<Ids<'a>>) -> Result<Self> {
        Side::new("src", src_ids.into(), src_offsets.into()).map(Batch::of)
    }

    /// The same with as many targets, for training and scoring.
    pub fn with_targets(self, tgt_ids: impl Into<Ids<'a>>, tgt_offsets: impl Into<Ids<'a>>) -> Result<Self> {
        self.with(Side::new("tgt", tgt_ids.into(), tgt_offsets.into())?)
    }

    /// A batch of sources, each a slice of ids with its end symbol.
    pub fn from_ids<S: AsRef<[i32]>>(sources: impl IntoIterator<Item = S>) -> Result<Batch<'static>> {
        Side::pack("src", sources).map(Batch::of)
    }

    /// A batch of sources and as many targets, each a slice of ids with its end symbol.
    pub fn from_id_pairs<S: AsRef<[i32]>, T: AsRef<[i32]>>(
        sources: impl IntoIterator<Item = S>,
        targets: impl IntoIterator<Item = T>,
    ) -> Result<Batch<'static>> {
        Batch::from_ids(sources)?.with(Side::pack("tgt", targets)?)
    }

    /// A batch of encoded sources, for decoding. Errors are as of [`Tokenizer::encode`].
    pub fn from_texts<S: AsRef<[u8]>>(
        tokenizer: &Tokenizer,
        sources: impl IntoIterator<Item = S>,
    ) -> Result<Batch<'static>> {
        let ids: Result<Vec<_>> = sources.into_iter().map(|text| tokenizer.encode_sentence(text)).collect();
        Batch::from_ids(ids?)
    }

    /// A batch of encoded pairs, for training and scoring.
    pub fn from_text_pairs<S: AsRef<[u8]>, T: AsRef<[u8]>>(
        tokenizer: &Tokenizer,
        pairs: impl IntoIterator<Item = (S, T)>,
    ) -> Result<Batch<'static>> {
        let (sources, targets): (Vec<S>, Vec<T>) = pairs.into_iter().unzip();
        Batch::from_texts(tokenizer, sources)?.with(Batch::from_texts(tokenizer, targets)?.source)
    }

    /// The number of sentences.
    pub fn len(&self) -> usize {
        self.source.sentences()
    }

    /// Whether there is no sentence.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Ids of all sources.
    pub fn src_ids(&self) -> &[i32] {
        &self.source.ids
    }

    /// Where each source begins, and the end of the last.
    pub fn src_offsets(&self) -> &[i32] {
        &self.source.offsets
    }

    /// Ids of all targets, where there are targets.
    pub fn tgt_ids(&self) -> Option<&[i32]> {
        self.target.as_ref().map(|target| &*target.ids)
    }

    /// Where each target begins, and the end of the last, where there are targets.
    pub fn tgt_offsets(&self) -> Option<&[i32]> {
        self.target.as_ref().map(|target| &*target.offsets)
    }

    /// Index of each pair in its corpus, when a batcher made this.
    pub fn pair_index(&self) -> Option<&[i64]> {
        self.pair_index.as_deref()
    }

    /// The ids of one source. Panics unless `sentence` is below [`len`](Batch::len).
    pub fn source(&self, sentence: usize) -> &[i32] {
        self.source.sentence(sentence)
    }

    /// The ids of one target, where there are targets. Panics unless `sentence` is below [`len`](Batch::len).
    pub fn target(&self, sentence: usize) -> Option<&[i32]> {
        self.target.as_ref().map(|target| target.sentence(sentence))
    }

    /// The same with arrays of its own.
    pub fn into_owned(self) -> Batch<'static> {
        Batch {
            source: self.source.into_owned(),
            target: self.target.map(Side::into_owned),
            pair_index: self.pair_index.map(|index| index.into_owned().into()),
        }
    }

    /// What the library gave, with the lifetime of the arrays.
    ///
    /// # Safety
    ///
    /// The arrays are as the headers say and live for `'a`, and nothing writes them.
    pub(crate) unsafe fn borrow(raw: &sys::xf_batch) -> Result<Self> {
        let sentences = raw.sentences as usize;
        let side = |name, ids, offsets| {
            // SAFETY: as the caller promises; there is one more offset than sentences, the last is the number of ids.
            let (ids, offsets) = unsafe {
                let offsets: &'a [i32] = borrowed(offsets, sentences + 1);
                (borrowed(ids, offsets[sentences] as usize), offsets)
            };
            Side::new(name, ids.into(), offsets.into())
        };
        let target = (!raw.tgt_offsets.is_null()).then(|| side("tgt", raw.tgt_ids, raw.tgt_offsets)).transpose()?;
        // SAFETY: as the caller promises; there is one for each sentence.
        let index = (!raw.pair_index.is_null()).then(|| unsafe { borrowed(raw.pair_index, sentences) }.into());
        Ok(Batch { source: side("src", raw.src_ids, raw.src_offsets)?, target, pair_index: index })
    }

    /// What the library takes; it is valid as long as this batch.
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
