//! Text to ids and back.
//
// SPDX-License-Identifier: Apache-2.0

use std::os::raw::c_char;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;

use xformer_sys as sys;

use crate::context::Shared;
use crate::handle::{call, create, Handle};
use crate::model;
use crate::strings::{c_path, fill};
#[cfg(doc)]
use crate::Status;
use crate::{config, Config, Context, Corpus, Result};

/// Id of the start symbol, which the decoder is fed first.
pub const TOKEN_START: i32 = sys::XF_TOKEN_START;
/// Id of the end symbol, which ends every source and every target.
pub const TOKEN_END: i32 = sys::XF_TOKEN_END;

/// Byte pair encoding, shared by source and target. A clone is another name for the same tokenizer.
///
/// ```
/// use xformer::{Config, Context, Corpus, Tokenizer, TOKEN_END};
///
/// let mut config = Config::new()?;
/// config.set("tokenizer.vocab_size", 300)?;
/// let context = Context::new(None)?;
/// let corpus = Corpus::from_pairs(&context, [("one two", "eins zwei")], None)?;
/// let tokenizer = Tokenizer::train(&context, &corpus, &config)?;
/// let ids = tokenizer.encode("two one")?;
/// assert_eq!(tokenizer.decode(&ids)?, "two one");
/// assert_eq!(tokenizer.piece(TOKEN_END)?, "</s>");
/// # Ok::<(), xformer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Tokenizer {
    owner: Owner,
    size: i32,
}

#[derive(Clone, Debug)]
enum Owner {
    Own(Arc<Handle<sys::xf_tokenizer>>),
    Model(NonNull<sys::xf_tokenizer>, Arc<model::Shared>),
}

// SAFETY: a tokenizer never changes: after it was made, all calls on it are marked "shared-read". One that belongs to a
// model holds that model.
unsafe impl Send for Owner {}
// SAFETY: as above.
unsafe impl Sync for Owner {}

impl Tokenizer {
    fn own(handle: Handle<sys::xf_tokenizer>) -> Self {
        // SAFETY: the tokenizer is alive and is read.
        let size = unsafe { sys::xf_tokenizer_vocab_size(handle.get()) };
        Tokenizer { owner: Owner::Own(Arc::new(handle)), size }
    }

    /// The tokenizer of a model.
    ///
    /// # Safety
    ///
    /// `pointer` came from xf_model_tokenizer of this model.
    pub(crate) unsafe fn of_model(pointer: NonNull<sys::xf_tokenizer>, model: Arc<model::Shared>) -> Self {
        // SAFETY: the tokenizer lives as long as its model, and is read.
        let size = unsafe { sys::xf_tokenizer_vocab_size(pointer.as_ptr()) };
        Tokenizer { owner: Owner::Model(pointer, model), size }
    }

    /// Learns a vocabulary from both sides of a corpus; reads the options of the group "tokenizer.".
    ///
    /// # Errors
    ///
    /// [`Status::Data`] (no text), [`Status::Cancelled`], [`Status::NoMemory`].
    pub fn train<'a>(context: &Context, corpus: &Corpus, config: impl Into<Option<&'a Config>>) -> Result<Self> {
        let (c, pairs, config) = (context.shared().enter()?, corpus.enter()?, config::pointer(config.into()));
        // SAFETY: context, config and corpus are alive and are read.
        create(Some(context.shared()), |out, error| unsafe { sys::xf_tokenizer_train(c, config, pairs, out, error) })
            .map(Tokenizer::own)
    }

    /// Loads what [`save`](Tokenizer::save) wrote. The file is checked before it is used.
    ///
    /// # Errors
    ///
    /// [`Status::NotFound`], [`Status::Io`], [`Status::Corrupt`], [`Status::Limit`], [`Status::Version`],
    /// [`Status::NoMemory`].
    pub fn load(context: &Context, path: impl AsRef<Path>) -> Result<Self> {
        let (path, c) = (c_path(path.as_ref())?, context.shared().enter()?);
        // SAFETY: the context is alive and is read, the path is a C string.
        create(Some(context.shared()), |out, error| unsafe { sys::xf_tokenizer_load(c, path.as_ptr(), out, error) })
            .map(Tokenizer::own)
    }

    /// The pointer, for calls that read the tokenizer: refused in a log closure of its context.
    pub(crate) fn enter(&self) -> Result<*const sys::xf_tokenizer> {
        let (pointer, context): (*const sys::xf_tokenizer, &Arc<Shared>) = match &self.owner {
            Owner::Own(handle) => (handle.get(), handle.context()),
            Owner::Model(pointer, model) => (pointer.as_ptr(), model.context()),
        };
        context.enter()?;
        Ok(pointer)
    }

    /// Saves it as one JSON file, replacing an old file at once or not at all.
    ///
    /// # Errors
    ///
    /// [`Status::Io`], [`Status::NotFound`], [`Status::NoMemory`].
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let (path, tokenizer) = (c_path(path.as_ref())?, self.enter()?);
        // SAFETY: the tokenizer is alive and is read, the path is a C string.
        call(|error| unsafe { sys::xf_tokenizer_save(tokenizer, path.as_ptr(), error) }).map(drop)
    }

    /// V, the number of ids: they go from 0 to V - 1.
    pub fn size(&self) -> i32 {
        self.size
    }

    /// The ids of a text, without start and end symbols.
    ///
    /// # Errors
    ///
    /// [`Status::Data`] of what is not UTF-8, unless it was made with "tokenizer.invalid_utf8" replace.
    pub fn encode(&self, text: impl AsRef<[u8]>) -> Result<Vec<i32>> {
        let (text, tokenizer) = (text.as_ref(), self.enter()?);
        // Each byte gives at most one id; only normalisation can make a text longer.
        fill(text.len() + 16, |ids: *mut i32, capacity, count, error| {
            // SAFETY: the tokenizer is alive and is read; the text has that length, the ids have that capacity.
            unsafe {
                let data = text.as_ptr() as *const c_char;
                sys::xf_tokenizer_encode(tokenizer, data, text.len(), ids, capacity, count, error)
            }
        })
    }

    /// The ids of a sentence as a [`Batch`](crate::Batch) wants them: with the end symbol.
    ///
    /// # Errors
    ///
    /// As [`encode`](Tokenizer::encode).
    pub fn encode_sentence(&self, text: impl AsRef<[u8]>) -> Result<Vec<i32>> {
        let mut ids = self.encode(text)?;
        ids.push(TOKEN_END);
        Ok(ids)
    }

    /// The text of ids; start and end symbols give nothing, and what is not UTF-8 becomes U+FFFD.
    ///
    /// # Errors
    ///
    /// [`Status::OutOfRange`] of an id that is not below [`size`](Tokenizer::size).
    pub fn decode(&self, ids: &[i32]) -> Result<String> {
        self.decode_bytes(ids).map(text)
    }

    /// The text of ids as it is: with "tokenizer.normalization" none it need not be UTF-8.
    ///
    /// # Errors
    ///
    /// As [`decode`](Tokenizer::decode).
    pub fn decode_bytes(&self, ids: &[i32]) -> Result<Vec<u8>> {
        let tokenizer = self.enter()?;
        text_bytes(8 * ids.len() + 16, |text, capacity, length, error| {
            // SAFETY: the tokenizer is alive and is read; the ids are as many, the text has that capacity.
            unsafe { sys::xf_tokenizer_decode(tokenizer, ids.as_ptr(), ids.len(), text, capacity, length, error) }
        })
    }

    /// The name of an id for people: `</s>`, `<0xC3>`, or the piece with U+2581 for its leading space.
    ///
    /// # Errors
    ///
    /// As [`decode`](Tokenizer::decode).
    pub fn piece(&self, id: i32) -> Result<String> {
        let tokenizer = self.enter()?;
        let bytes = text_bytes(64, |text, capacity, length, error| {
            // SAFETY: the tokenizer is alive and is read; the text has that capacity.
            unsafe { sys::xf_tokenizer_get_piece(tokenizer, id, text, capacity, length, error) }
        });
        bytes.map(text)
    }
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

fn text_bytes(
    capacity: usize,
    mut function: impl FnMut(*mut c_char, usize, *mut usize, *mut sys::xf_error) -> sys::xf_status,
) -> Result<Vec<u8>> {
    fill(capacity, |bytes: *mut u8, capacity, length, error| function(bytes as *mut c_char, capacity, length, error))
}
