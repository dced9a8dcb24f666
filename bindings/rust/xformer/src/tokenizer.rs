//! Text to ids and back.
//
// SPDX-License-Identifier: Apache-2.0

use std::path::Path;
use std::sync::Arc;

use xformer_sys as sys;

use crate::handle::{c_path, fill, Handle};
#[cfg(doc)]
use crate::Status;
use crate::{config, Config, Context, Corpus, Result};

/// Id of the start symbol, which the decoder is fed first.
pub const TOKEN_START: i32 = sys::XF_TOKEN_START;
/// Id of the end symbol, which ends every source and every target.
pub const TOKEN_END: i32 = sys::XF_TOKEN_END;

/// Byte pair encoding, WordPiece or unigram, shared by source and target. A clone is another name for the same tokenizer.
///
/// ```
/// use xformer::{Context, Corpus, Tokenizer, TOKEN_END};
///
/// let context = Context::new(None)?;
/// let corpus = Corpus::from_pairs(&context, [("one two", "eins zwei")], None)?;
/// let tokenizer = Tokenizer::train(&context, &corpus, None)?;
/// let ids = tokenizer.encode("two one")?;
/// assert_eq!(tokenizer.decode(&ids)?, "two one");
/// assert_eq!(tokenizer.piece(TOKEN_END)?, "</s>");
/// # Ok::<(), xformer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Tokenizer {
    handle: Arc<Handle<sys::xf_tokenizer>>,
    size: i32,
    start: i32,
    end: i32,
}

impl Tokenizer {
    /// One that was made, or that of a model.
    pub(crate) fn new(handle: Handle<sys::xf_tokenizer>) -> Self {
        // SAFETY: the tokenizer is alive.
        let (size, start, end) = unsafe {
            let tokenizer = handle.get();
            let (start, end) = (sys::xf_tokenizer_start_token(tokenizer), sys::xf_tokenizer_end_token(tokenizer));
            (sys::xf_tokenizer_vocab_size(tokenizer), start, end)
        };
        Tokenizer { handle: Arc::new(handle), size, start, end }
    }

    /// Learns a vocabulary from both sides of a corpus, by the group "tokenizer.". [`Status::Data`]: no text.
    pub fn train<'a>(context: &Context, corpus: &Corpus, config: impl Into<Option<&'a Config>>) -> Result<Self> {
        let (c, config, pairs) = (context.enter()?, config::pointer(config), corpus.enter()?);
        make!(context.shared(), xf_tokenizer_train(c, config, pairs)).map(Tokenizer::new)
    }

    /// Loads what [`save`](Tokenizer::save) wrote. The file is checked before it is used.
    pub fn load(context: &Context, path: impl AsRef<Path>) -> Result<Self> {
        make!(context.shared(), xf_tokenizer_load(context.enter()?, c_path(path)?.as_ptr())).map(Tokenizer::new)
    }

    pub(crate) fn enter(&self) -> Result<*mut sys::xf_tokenizer> {
        self.handle.enter()
    }

    /// Saves it as one JSON file, replacing an old file at once or not at all.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        call!(xf_tokenizer_save(self.enter()?, c_path(path)?.as_ptr())).map(drop)
    }

    /// V, the number of ids: they go from 0 to V - 1.
    pub fn size(&self) -> i32 {
        self.size
    }

    /// The id of the start symbol, [`TOKEN_START`] of a tokenizer learnt here; -1 when it has none.
    pub fn start_token(&self) -> i32 {
        self.start
    }

    /// The id of the end symbol, [`TOKEN_END`] of a tokenizer learnt here; -1 when it has none.
    pub fn end_token(&self) -> i32 {
        self.end
    }

    /// The ids of a text, without start and end symbols. [`Status::Data`] of what is not UTF-8, unless the tokenizer
    /// was made with "tokenizer.invalid_utf8" replace.
    pub fn encode(&self, text: impl AsRef<[u8]>) -> Result<Vec<i32>> {
        let (tokenizer, text) = (self.enter()?, text.as_ref());
        // Each byte gives at most one id; only normalisation can make a text longer.
        fill(text.len() + 16, |ids, capacity, count| {
            call!(xf_tokenizer_encode(tokenizer, text.as_ptr().cast(), text.len(), ids, capacity, count))
        })
    }

    /// The ids of a sentence as a [`Batch`](crate::Batch) wants them: with the end symbol.
    pub fn encode_sentence(&self, text: impl AsRef<[u8]>) -> Result<Vec<i32>> {
        let mut ids = self.encode(text)?;
        ids.push(self.end);
        Ok(ids)
    }

    /// The text of ids; start and end symbols give nothing, and what is not UTF-8 becomes U+FFFD.
    /// [`Status::OutOfRange`] of an id that is not below [`size`](Tokenizer::size).
    pub fn decode(&self, ids: &[i32]) -> Result<String> {
        self.decode_bytes(ids).map(text)
    }

    /// The text of ids as it is: with "tokenizer.normalization" none it need not be UTF-8.
    pub fn decode_bytes(&self, ids: &[i32]) -> Result<Vec<u8>> {
        let tokenizer = self.enter()?;
        fill(8 * ids.len() + 16, |text: *mut u8, capacity, length| {
            call!(xf_tokenizer_decode(tokenizer, ids.as_ptr(), ids.len(), text.cast(), capacity, length))
        })
    }

    /// The name of an id for people: `</s>`, `<0xC3>`, or the piece with U+2581 for its leading space.
    pub fn piece(&self, id: i32) -> Result<String> {
        let tokenizer = self.enter()?;
        let piece = |text: *mut u8, capacity, length: &mut usize| {
            call!(xf_tokenizer_get_piece(tokenizer, id, text.cast(), capacity, length))
        };
        fill(64, piece).map(text)
    }
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}
