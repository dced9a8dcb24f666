//! The results of a decoding call.
//
// SPDX-License-Identifier: Apache-2.0

use std::borrow::Cow;

use xformer_sys as sys;

use crate::handle::{borrowed, Handle};
use crate::mirror::IntoRust;
#[cfg(doc)]
use crate::Status;
use crate::{Error, Result};

/// The results of a decoding call: for each sentence, in order, its hypotheses or an error.
///
/// ```
/// # fn print(decoder: &mut xformer::Decoder) -> xformer::Result<()> {
/// let found = decoder.translate(&["one two", "three"])?;
/// for sentence in found.iter() {
///     match sentence {
///         Ok(hypotheses) => println!("{:.3} {}", hypotheses[0].score, hypotheses[0].text().unwrap_or_default()),
///         Err(error) => println!("not translated: {}", error),
///     }
/// }
/// println!("{}", found.texts()?.join("\n")); // the best of each
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Hypotheses {
    handle: Handle<sys::xf_hypotheses>,
    len: usize,
}

/// One hypothesis.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Hypothesis<'a> {
    /// Target ids without start and end symbol, including a prefix and the model's first token.
    pub ids: &'a [i32],
    /// The text, which may be invalid UTF-8 with "tokenizer.normalization" none; `None` if the model has no tokenizer.
    pub text_bytes: Option<&'a [u8]>,
    /// Natural logarithm of each token's probability; if finished, the last is the end symbol's.
    pub token_log_probabilities: &'a [f32],
    /// Index of the source token to which each id is aligned, -1: none. Empty without "decode.alignment".
    pub alignment: &'a [i32],
    /// Size in bytes of the text of the ids up to each one. Empty without "decode.alignment" or a tokenizer.
    pub text_ends: &'a [usize],
    /// Sum of `token_log_probabilities`.
    pub log_probability: f64,
    /// `log_probability` divided by the length penalty. Hypotheses are sorted by score, best first.
    pub score: f64,
    /// True if the hypothesis ended with the end symbol; otherwise a limit cut it off or no token could follow.
    pub finished: bool,
    /// True if the search was completed; otherwise the deadline ended it.
    pub complete: bool,
}

impl<'a> Hypothesis<'a> {
    /// Returns the text, in which invalid UTF-8 is replaced by U+FFFD.
    pub fn text(&self) -> Option<Cow<'a, str>> {
        self.text_bytes.map(String::from_utf8_lossy)
    }
}

impl Hypotheses {
    pub(crate) fn new(handle: Handle<sys::xf_hypotheses>) -> Self {
        // SAFETY: the hypotheses are valid.
        let len = unsafe { sys::xf_hypotheses_sentence_count(handle.get()) };
        Hypotheses { handle, len }
    }

    /// Returns the number of sentences.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether the call had no sentence.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the hypotheses of a sentence, best first and at least one, or its error: [`Status::Data`] (invalid UTF-8),
    /// [`Status::OutOfRange`] (an id, a source or a prefix that is too long), [`Status::Deadline`] (not begun in time).
    /// [`Status::OutOfRange`] also if `sentence` is not less than [`len`](Hypotheses::len).
    pub fn get(&self, sentence: usize) -> Result<Vec<Hypothesis<'_>>> {
        let mut info = sys::XF_SENTENCE_INFO_INIT;
        call!(xf_hypotheses_get_sentence(self.handle.get(), sentence, &mut info))?;
        if info.status < 0 {
            let message: String = info.message.into_rust();
            return Err(Error::new(info.status.into(), message));
        }
        (0..info.hypothesis_count).map(|index| self.hypothesis(sentence, index)).collect()
    }

    /// Returns where each source token of a sentence ends in its text, in bytes. Empty without "decode.alignment", for a
    /// source of ids, and for a sentence that failed. [`Status::OutOfRange`] if `sentence` is not less than
    /// [`len`](Hypotheses::len).
    pub fn source_ends(&self, sentence: usize) -> Result<&[usize]> {
        let mut info = sys::XF_SENTENCE_INFO_INIT;
        call!(xf_hypotheses_get_sentence(self.handle.get(), sentence, &mut info))?;
        // SAFETY: an array of this length, valid as long as the hypotheses, which the result borrows.
        Ok(unsafe { borrowed(info.source_ends, info.source_token_count) })
    }

    /// Returns the best hypothesis of a sentence, or its error, as [`get`](Hypotheses::get).
    pub fn best(&self, sentence: usize) -> Result<Hypothesis<'_>> {
        self.hypothesis(sentence, 0)
    }

    /// Returns the text of the best hypothesis of each sentence, "" if the model has no tokenizer; or the first error of
    /// a sentence.
    pub fn texts(&self) -> Result<Vec<String>> {
        let text = |best: Hypothesis<'_>| best.text().map_or_else(String::new, Cow::into_owned);
        (0..self.len).map(|sentence| self.best(sentence).map(text)).collect()
    }

    /// Returns the hypotheses of each sentence, or its error.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Result<Vec<Hypothesis<'_>>>> + '_ {
        (0..self.len).map(move |sentence| self.get(sentence))
    }

    fn hypothesis(&self, sentence: usize, index: usize) -> Result<Hypothesis<'_>> {
        let mut raw = sys::XF_HYPOTHESIS_INIT;
        call!(xf_hypotheses_get(self.handle.get(), sentence, index, &mut raw))?;
        let tokens = raw.id_count + usize::from(raw.finished != 0);
        // SAFETY: arrays of these lengths, valid as long as the hypotheses, which the result borrows.
        let (ids, text, log_probabilities, alignment, text_ends) = unsafe {
            let text = (!raw.text.is_null()).then(|| borrowed(raw.text as *const u8, raw.text_length));
            let by_id = |given: bool| if given { raw.id_count } else { 0 };
            (
                borrowed(raw.ids, raw.id_count),
                text,
                borrowed(raw.token_log_probabilities, tokens),
                borrowed(raw.alignment, by_id(!raw.alignment.is_null())),
                borrowed(raw.text_ends, by_id(!raw.text_ends.is_null())),
            )
        };
        Ok(Hypothesis {
            ids,
            text_bytes: text,
            token_log_probabilities: log_probabilities,
            alignment,
            text_ends,
            log_probability: raw.log_probability,
            score: raw.score,
            finished: raw.finished != 0,
            complete: raw.complete != 0,
        })
    }
}
