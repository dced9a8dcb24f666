//! Tokenizers: text to ids and back.
//
// SPDX-License-Identifier: Apache-2.0

use std::sync::Arc;

use xformer_sys as sys;

use crate::handle::{fill, text, Handle};
use crate::{call, config, Config, Context, Corpus, Error, Result, Sink, Source, Status};

/// The two sides of a sentence pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum Side {
    /// The source: what the encoder reads.
    Source = sys::XF_SIDE_SOURCE,
    /// The target: what the decoder writes.
    Target = sys::XF_SIDE_TARGET,
}

mirror! {
    /// Properties of a tokenizer.
    pub struct TokenizerInfo = xf_tokenizer_info XF_TOKENIZER_INFO_INIT {
        /// "bpe", "wordpiece", "unigram", "sentencepiece", or "pair".
        kind: String,
        /// V: ids are 0 to V - 1. 0 for a pair.
        vocab_size: i32,
        /// Id of the start symbol, the decoder's first input; -1: none, or a pair.
        start_token: i32,
        /// Id of the end symbol of every source and target; -1: none, or a pair.
        end_token: i32,
    }
}

/// A tokenizer. Clones share its data.
///
/// Usually it is shared by source and target. A pair of tokenizers, as MarianMT models have, encodes and decodes only
/// after a [`side`](Tokenizer::side) has been selected.
///
/// ```
/// use xformer::{Context, Corpus, Tokenizer};
///
/// let context = Context::new(None)?;
/// let corpus = Corpus::from_pairs(&context, [("one two", "eins zwei")], None)?;
/// let tokenizer = Tokenizer::train(&context, &corpus, None)?;
/// let ids = tokenizer.encode("two one")?;
/// assert_eq!(tokenizer.decode(&ids)?, "two one");
/// assert_eq!(tokenizer.piece(tokenizer.info().end_token)?, "</s>");
/// # Ok::<(), xformer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Tokenizer {
    handle: Arc<Handle<sys::xf_tokenizer>>,
    info: TokenizerInfo,
}

impl Tokenizer {
    /// Wraps a tokenizer that was just created, or that another object owns.
    pub(crate) fn own(handle: Handle<sys::xf_tokenizer>) -> Result<Self> {
        let info = read!(TokenizerInfo, xf_tokenizer_get_info(handle.get()))?;
        Ok(Tokenizer { handle: Arc::new(handle), info })
    }

    /// Trains a tokenizer on both sides of a corpus. Reads the options of the group "tokenizer.". [`Status::Data`]: the
    /// corpus contains no text.
    pub fn train<'a>(context: &Context, corpus: &Corpus, config: impl Into<Option<&'a Config>>) -> Result<Self> {
        let (c, pairs, config) = (context.enter()?, corpus.enter()?, config::pointer(config));
        make!(context.shared(), xf_tokenizer_train(c, pairs, config, call::current())).and_then(Tokenizer::own)
    }

    /// Loads a tokenizer that [`save`](Tokenizer::save) wrote.
    pub fn load<'s>(context: &Context, source: impl Into<Source<'s>>) -> Result<Self> {
        let c = context.enter()?;
        let load = |source| make!(context.shared(), xf_tokenizer_load(c, source, call::current()));
        source.into().pass(load).and_then(Tokenizer::own)
    }

    pub(crate) fn enter(&self) -> Result<*mut sys::xf_tokenizer> {
        self.handle.enter()
    }

    /// Saves the tokenizer as a JSON file.
    pub fn save<'s>(&self, sink: impl Into<Sink<'s>>) -> Result<()> {
        let tokenizer = self.enter()?;
        sink.into().pass(|sink| call!(xf_tokenizer_save(tokenizer, call::current(), sink))).map(drop)
    }

    /// Returns the properties of the tokenizer.
    pub fn info(&self) -> &TokenizerInfo {
        &self.info
    }

    /// Returns the tokenizer of one side of a pair; the tokenizer itself if it is not a pair.
    pub fn side(&self, side: Side) -> Result<Tokenizer> {
        let tokenizer = self.enter()?;
        // SAFETY: the tokenizer is valid, and it owns the result.
        let side = unsafe { sys::xf_tokenizer_side(tokenizer, side as i32) };
        let none = || Error::new(Status::Internal, "the tokenizer has no sides");
        Handle::borrowed(side, &self.handle).ok_or_else(none).and_then(Tokenizer::own)
    }

    /// Encodes text as ids, without start, end, and language tokens; see [`Model::encode`](crate::Model::encode) for
    /// these. [`Status::Data`]: the text is not valid UTF-8, unless the tokenizer was trained with
    /// "tokenizer.invalid_utf8" replace. [`Status::State`]: the tokenizer is a pair.
    pub fn encode(&self, text: impl AsRef<[u8]>) -> Result<Vec<i32>> {
        let (tokenizer, text) = (self.enter()?, text.as_ref());
        // Each byte yields at most one id; only normalization can lengthen a text.
        fill(text.len() + 16, |ids, capacity, count| {
            call!(xf_tokenizer_encode(tokenizer, text.as_ptr().cast(), text.len(), ids, capacity, count))
        })
    }

    /// Decodes ids as text. Control symbols produce no text, and invalid UTF-8 becomes U+FFFD. [`Status::OutOfRange`]: an
    /// id is not from 0 to V - 1.
    pub fn decode(&self, ids: &[i32]) -> Result<String> {
        self.decode_bytes(ids).map(text)
    }

    /// Decodes ids as bytes, which may be invalid UTF-8 with "tokenizer.normalization" none.
    pub fn decode_bytes(&self, ids: &[i32]) -> Result<Vec<u8>> {
        let tokenizer = self.enter()?;
        fill(8 * ids.len() + 16, |text: *mut u8, capacity, length| {
            call!(xf_tokenizer_decode(tokenizer, ids.as_ptr(), ids.len(), text.cast(), capacity, length))
        })
    }

    /// Returns a readable name of an id: `</s>`, `<0xC3>`, or the piece with U+2581 for a leading space.
    pub fn piece(&self, id: i32) -> Result<String> {
        let tokenizer = self.enter()?;
        let piece = |text: *mut u8, capacity, length: &mut usize| {
            call!(xf_tokenizer_get_piece(tokenizer, id, text.cast(), capacity, length))
        };
        fill(64, piece).map(text)
    }
}
