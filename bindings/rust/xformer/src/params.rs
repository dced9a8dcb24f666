//! What holds for one call of a decoder: options, prefixes, a constraint that the library asks as it searches.
//
// SPDX-License-Identifier: Apache-2.0

use std::ops::ControlFlow;
use std::os::raw::c_void;
use std::ptr::null;
use std::slice;

use xformer_sys as sys;

use crate::batch::Side;
use crate::handle::{borrowed, Texts};
use crate::host::keep_panic;
#[cfg(doc)]
use crate::Status;
use crate::{config, Config, Error, Result};

/// A hypothesis whose next token is to be chosen: what a constraint is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Prefix<'a> {
    /// Which sentence of the batch, or of the texts, it answers.
    pub sentence: usize,
    /// Its tokens so far, without the start symbol.
    pub ids: &'a [i32],
    /// Tokens that may follow, the end symbol counted; 1: what is not ended now is cut off.
    pub remaining: i64,
    /// V: how many ids there are.
    pub vocab_size: i32,
}

/// The ids that may follow a hypothesis: all of them, until a constraint takes some away.
///
/// # Panics
///
/// Its methods do, of an id that is not from 0 to V - 1.
#[derive(Debug)]
pub struct Allowed<'a> {
    words: &'a mut [u32],
    vocab_size: i32,
}

impl Allowed<'_> {
    fn place(&self, id: i32) -> (usize, u32) {
        assert!((0..self.vocab_size).contains(&id), "id {}, expected 0 to {}", id, self.vocab_size - 1);
        (id as usize / 32, 1 << (id as u32 % 32))
    }

    /// Whether an id may follow.
    pub fn contains(&self, id: i32) -> bool {
        let (word, bit) = self.place(id);
        self.words[word] & bit != 0
    }

    /// Takes an id away.
    pub fn forbid(&mut self, id: i32) {
        let (word, bit) = self.place(id);
        self.words[word] &= !bit;
    }

    /// Gives an id back.
    pub fn allow(&mut self, id: i32) {
        let (word, bit) = self.place(id);
        self.words[word] |= bit;
    }

    /// Takes all ids away but these.
    pub fn only(&mut self, ids: impl IntoIterator<Item = i32>) {
        self.words.fill(0);
        ids.into_iter().for_each(|id| self.allow(id));
    }
}

type Constraint<'a> = dyn FnMut(&Prefix<'_>, &mut Allowed<'_>) -> ControlFlow<()> + 'a;

/// What holds for one call of [`Decoder::translate_with`](crate::Decoder::translate_with) or
/// [`Decoder::decode_with`](crate::Decoder::decode_with).
///
/// ```
/// # use std::ops::ControlFlow;
/// # use xformer::{Config, Decoder, DecodeParams, Result};
/// # fn forced(decoder: &mut Decoder) -> Result<()> {
/// let mut config = Config::new()?;
/// config.set("decode.beam", 8)?.set("decode.deadline_ms", 200)?; // the decoder's other options stay
/// let params = DecodeParams::new().config(&config).prefixes(["eins", ""]).constraint(|prefix, allowed| {
///     if prefix.ids.len() < 3 {
///         allowed.forbid(xformer::TOKEN_END);
///     }
///     ControlFlow::Continue(())
/// });
/// let found = decoder.translate_with(&["one two", "three"], params)?;
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
pub struct DecodeParams<'a> {
    config: Option<&'a Config>,
    prefixes: Option<Vec<Vec<u8>>>,
    prefix_ids: Option<Vec<Vec<i32>>>,
    constraint: Option<Box<Constraint<'a>>>,
}

impl<'a> DecodeParams<'a> {
    /// Nothing: all is as the decoder was created.
    pub fn new() -> Self {
        DecodeParams::default()
    }

    /// The options of the group "decode." that were set in a config hold for this call, in place of the decoder's own.
    pub fn config(mut self, config: &'a Config) -> Self {
        self.config = Some(config);
        self
    }

    /// For translating: the text that the answers to each sentence begin with, "" for any.
    pub fn prefixes<S: AsRef<[u8]>>(mut self, prefixes: impl IntoIterator<Item = S>) -> Self {
        self.prefixes = Some(prefixes.into_iter().map(|text| text.as_ref().to_vec()).collect());
        self
    }

    /// For decoding: the tokens that the answers to each sentence begin with, without start and end symbol.
    pub fn prefix_ids<S: AsRef<[i32]>>(mut self, prefixes: impl IntoIterator<Item = S>) -> Self {
        self.prefix_ids = Some(prefixes.into_iter().map(|ids| ids.as_ref().to_vec()).collect());
        self
    }

    /// Holds the answers to what a closure allows: a grammar, a lexicon.
    ///
    /// It is asked about each hypothesis and step, in an order that is not promised, and takes away from the ids that
    /// may follow, [`TOKEN_END`](crate::TOKEN_END) among them when the answer may not end here; its answer is to depend
    /// on the prefix alone. `Break` ends the call with [`Status::Callback`]; a panic goes on when the call has
    /// returned. Scores stay the model's own. A sentence without an allowed answer has one that is not finished, with a
    /// logarithm of minus infinity.
    pub fn constraint(mut self, closure: impl FnMut(&Prefix<'_>, &mut Allowed<'_>) -> ControlFlow<()> + 'a) -> Self {
        self.constraint = Some(Box::new(closure));
        self
    }

    /// Makes a call with what the library is given.
    pub(crate) fn pass<T>(
        mut self,
        sentences: usize,
        function: impl FnOnce(*const sys::xf_decode_params) -> Result<T>,
    ) -> Result<T> {
        let given = [self.prefixes.as_ref().map(Vec::len), self.prefix_ids.as_ref().map(Vec::len)];
        if let Some(count) = given.iter().flatten().find(|count| **count != sentences) {
            return Err(Error::invalid(format!("{} prefixes for {} sentences, expected as many", count, sentences)));
        }
        let texts = self.prefixes.as_ref().map(|prefixes| Texts::new(prefixes));
        let ids = self.prefix_ids.as_ref().map(|prefixes| Side::pack("prefix", prefixes)).transpose()?;
        let user: *mut Option<Box<Constraint<'a>>> = &mut self.constraint;
        let raw = sys::xf_decode_params {
            config: config::pointer(self.config),
            prefixes: texts.as_ref().map_or(null(), |texts| texts.data.as_ptr()),
            prefix_lengths: texts.as_ref().map_or(null(), |texts| texts.lengths.as_ptr()),
            prefix_ids: ids.as_ref().map_or(null(), |side| side.ids.as_ptr()),
            prefix_offsets: ids.as_ref().map_or(null(), |side| side.offsets.as_ptr()),
            // SAFETY: only read, before the library has the pointer.
            constraint: unsafe { (*user).is_some() }.then_some(ask),
            constraint_user: user.cast(),
            ..sys::XF_DECODE_PARAMS_INIT
        };
        function(&raw)
    }
}

/// The function that the library calls.
///
/// # Safety
///
/// `user` is from [`DecodeParams::pass`]; `prefix` and `allowed` are as the headers say.
unsafe extern "C" fn ask(user: *mut c_void, prefix: *const sys::xf_prefix, allowed: *mut u32) -> i32 {
    // SAFETY: valid during this call; there is a bit for each id. The closure is asked once at a time, by the call that
    // borrows it.
    let (closure, raw, ids, words) = unsafe {
        let raw = &*prefix;
        let words = slice::from_raw_parts_mut(allowed, (raw.vocab_size as usize + 31) / 32);
        (&mut *user.cast::<Option<Box<Constraint<'_>>>>(), raw, borrowed(raw.ids, raw.length as usize), words)
    };
    let (sentence, remaining, vocab_size) = (raw.sentence, raw.remaining, raw.vocab_size);
    let (prefix, mut allowed) = (Prefix { sentence, ids, remaining, vocab_size }, Allowed { words, vocab_size });
    let flow = keep_panic(None, || closure.as_mut().map(|closure| closure(&prefix, &mut allowed)));
    i32::from(!matches!(flow, Some(Some(ControlFlow::Continue(())))))
}
