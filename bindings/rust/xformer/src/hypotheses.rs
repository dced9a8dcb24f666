//! The answers of a decoder.
//
// SPDX-License-Identifier: Apache-2.0

use std::borrow::Cow;

use xformer_sys as sys;

use crate::handle::{borrowed, Handle};
use crate::Result;
#[cfg(doc)]
use crate::Status;

/// The answers to the sentences of one call, in their order. A sentence that could not be decoded has an error.
///
/// ```
/// # fn show(decoder: &mut xformer::Decoder) -> xformer::Result<()> {
/// let found = decoder.translate(&["one two", "three"])?;
/// for sentence in found.iter() {
///     match sentence {
///         Ok(answers) => println!("{:.3} {}", answers[0].score, answers[0].text().unwrap_or_default()),
///         Err(error) => println!("no answer: {}", error),
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

/// One answer.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Hypothesis<'a> {
    /// The target ids, without start and end symbol; a prefix is part of them.
    pub ids: &'a [i32],
    /// The text as it is, with "tokenizer.normalization" none not always UTF-8; `None` when the model has no tokenizer.
    pub text_bytes: Option<&'a [u8]>,
    /// Natural logarithm of each token's probability, the end symbol's last when finished.
    pub token_log_probabilities: &'a [f32],
    /// Their sum.
    pub log_probability: f64,
    /// The sum divided by the length penalty, by which answers are ordered.
    pub score: f64,
    /// Whether the answer ended with the end symbol; otherwise a limit cut it off, or nothing could follow it.
    pub finished: bool,
    /// Whether the search ran to its end, so that no answer within its beam is better; otherwise the deadline ended it.
    pub complete: bool,
}

impl<'a> Hypothesis<'a> {
    /// The text, in which what is not UTF-8 is U+FFFD.
    pub fn text(&self) -> Option<Cow<'a, str>> {
        self.text_bytes.map(String::from_utf8_lossy)
    }
}

impl Hypotheses {
    pub(crate) fn new(handle: Handle<sys::xf_hypotheses>) -> Self {
        // SAFETY: the hypotheses are alive.
        let len = unsafe { sys::xf_hypotheses_sentence_count(handle.get()) };
        Hypotheses { handle, len }
    }

    /// The number of sentences.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no sentence.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The answers to a sentence, best first, at least one; or what became of it: [`Status::Data`] (a text that is not
    /// UTF-8), [`Status::OutOfRange`] (an id, a source or a prefix that is too long), [`Status::Deadline`].
    /// [`Status::OutOfRange`] also unless it is below [`len`](Hypotheses::len).
    pub fn get(&self, sentence: usize) -> Result<Vec<Hypothesis<'_>>> {
        let hypotheses = self.handle.get();
        call!(xf_hypotheses_status(hypotheses, sentence))?;
        // SAFETY: the hypotheses are alive.
        let count = unsafe { sys::xf_hypotheses_answer_count(hypotheses, sentence) };
        (0..count).map(|rank| self.answer(sentence, rank)).collect()
    }

    /// The best answer to a sentence, or what became of it, as [`get`](Hypotheses::get).
    pub fn best(&self, sentence: usize) -> Result<Hypothesis<'_>> {
        self.answer(sentence, 0)
    }

    /// The text of the best answer to each sentence, "" where the model has no tokenizer; or the first error of one.
    pub fn texts(&self) -> Result<Vec<String>> {
        let text = |best: Hypothesis<'_>| best.text().map_or_else(String::new, Cow::into_owned);
        (0..self.len).map(|sentence| self.best(sentence).map(text)).collect()
    }

    /// The answers to each sentence, or its error.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Result<Vec<Hypothesis<'_>>>> + '_ {
        (0..self.len).map(move |sentence| self.get(sentence))
    }

    fn answer(&self, sentence: usize, rank: usize) -> Result<Hypothesis<'_>> {
        let mut raw = sys::XF_HYPOTHESIS_INIT;
        call!(xf_hypotheses_get(self.handle.get(), sentence, rank, &mut raw))?;
        let tokens = raw.length as usize + usize::from(raw.finished != 0);
        // SAFETY: arrays of these lengths that live as long as the hypotheses, which the result borrows.
        let (ids, text, log_probabilities) = unsafe {
            let text = (!raw.text.is_null()).then(|| borrowed(raw.text as *const u8, raw.text_length));
            (borrowed(raw.ids, raw.length as usize), text, borrowed(raw.token_log_probabilities, tokens))
        };
        Ok(Hypothesis {
            ids,
            text_bytes: text,
            token_log_probabilities: log_probabilities,
            log_probability: raw.log_probability,
            score: raw.score,
            finished: raw.finished != 0,
            complete: raw.complete != 0,
        })
    }
}
