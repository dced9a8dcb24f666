//! The answers of a decoder.
//
// SPDX-License-Identifier: Apache-2.0

use std::borrow::Cow;
use std::iter::FusedIterator;
use std::ops::Range;
use std::slice;

use xformer_sys as sys;

use crate::handle::{call, Handle};

/// The answers to the sentences of one call, in their order.
///
/// ```
/// # fn show(decoder: &mut xformer::Decoder) -> xformer::Result<()> {
/// let found = decoder.translate(&["one two", "three"])?;
/// for answers in &found {
///     for hypothesis in answers {
///         println!("{:.3} {}", hypothesis.score(), hypothesis.text().unwrap_or_default());
///     }
/// }
/// println!("{}", found.texts().join("\n")); // the best of each
/// # Ok(())
/// # }
/// ```
///
/// Ids and text of an answer are borrowed from it:
///
/// ```compile_fail,E0505
/// fn best(found: xformer::Hypotheses) {
///     let text = found.best(0).and_then(|answer| answer.text());
///     drop(found);
///     println!("{:?}", text);
/// }
/// ```
#[derive(Debug)]
pub struct Hypotheses {
    handle: Handle<sys::xf_hypotheses>,
    len: usize,
}

impl Hypotheses {
    pub(crate) fn new(handle: Handle<sys::xf_hypotheses>) -> Self {
        // SAFETY: the hypotheses are alive and are read.
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

    /// The answers to a sentence, `None` unless it is below [`len`](Hypotheses::len).
    pub fn get(&self, sentence: usize) -> Option<Answers<'_>> {
        (sentence < self.len).then(|| self.answers(sentence))
    }

    fn answers(&self, sentence: usize) -> Answers<'_> {
        // SAFETY: the hypotheses are alive and are read.
        let len = unsafe { sys::xf_hypotheses_answer_count(self.handle.get(), sentence) };
        Answers { hypotheses: self, sentence, ranks: 0..len }
    }

    /// The best answer to a sentence.
    pub fn best(&self, sentence: usize) -> Option<Hypothesis<'_>> {
        self.get(sentence)?.next()
    }

    /// The text of the best answer to each sentence; "" where the model has no tokenizer.
    pub fn texts(&self) -> Vec<String> {
        let text = |answer: Hypothesis<'_>| answer.text().map_or_else(String::new, Cow::into_owned);
        (0..self.len).map(|sentence| self.best(sentence).map_or_else(String::new, text)).collect()
    }

    /// The answers to each sentence.
    pub fn iter(&self) -> Sentences<'_> {
        Sentences { hypotheses: self, sentences: 0..self.len }
    }

    fn hypothesis(&self, sentence: usize, rank: usize) -> Option<Hypothesis<'_>> {
        let mut raw = sys::XF_HYPOTHESIS_INIT;
        // SAFETY: the hypotheses are alive and are read; `raw` has its size.
        call(|error| unsafe { sys::xf_hypotheses_get(self.handle.get(), sentence, rank, &mut raw, error) }).ok()?;
        // SAFETY: ids and text of these lengths live as long as the hypotheses, which the result borrows; the pointer
        // of nothing may be NULL.
        let (ids, text) = unsafe {
            let ids: &[i32] = if raw.length > 0 { slice::from_raw_parts(raw.ids, raw.length as usize) } else { &[] };
            let text = raw.text as *const u8;
            (ids, (!text.is_null()).then(|| slice::from_raw_parts(text, raw.text_length)))
        };
        let (log_probability, score, finished) = (raw.log_probability, raw.score, raw.finished != 0);
        Some(Hypothesis { ids, text, log_probability, score, finished })
    }
}

impl<'a> IntoIterator for &'a Hypotheses {
    type Item = Answers<'a>;
    type IntoIter = Sentences<'a>;

    fn into_iter(self) -> Sentences<'a> {
        self.iter()
    }
}

/// The answers to each sentence, from [`Hypotheses::iter`].
#[derive(Clone, Debug)]
pub struct Sentences<'a> {
    hypotheses: &'a Hypotheses,
    sentences: Range<usize>,
}

impl<'a> Iterator for Sentences<'a> {
    type Item = Answers<'a>;

    fn next(&mut self) -> Option<Answers<'a>> {
        self.sentences.next().map(|sentence| self.hypotheses.answers(sentence))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.sentences.size_hint()
    }
}

impl ExactSizeIterator for Sentences<'_> {}
impl FusedIterator for Sentences<'_> {}

/// The answers to one sentence, best first.
#[derive(Clone, Debug)]
pub struct Answers<'a> {
    hypotheses: &'a Hypotheses,
    sentence: usize,
    ranks: Range<usize>,
}

impl<'a> Iterator for Answers<'a> {
    type Item = Hypothesis<'a>;

    fn next(&mut self) -> Option<Hypothesis<'a>> {
        let rank = self.ranks.next()?;
        self.hypotheses.hypothesis(self.sentence, rank)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.ranks.size_hint()
    }
}

impl ExactSizeIterator for Answers<'_> {}
impl FusedIterator for Answers<'_> {}

/// One answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hypothesis<'a> {
    ids: &'a [i32],
    text: Option<&'a [u8]>,
    log_probability: f64,
    score: f64,
    finished: bool,
}

impl<'a> Hypothesis<'a> {
    /// The target ids, without start and end symbol.
    pub fn ids(&self) -> &'a [i32] {
        self.ids
    }

    /// The text, `None` when the model has no tokenizer; what is not UTF-8 becomes U+FFFD.
    pub fn text(&self) -> Option<Cow<'a, str>> {
        self.text.map(String::from_utf8_lossy)
    }

    /// The text as it is: with "tokenizer.normalization" none it need not be UTF-8.
    pub fn text_bytes(&self) -> Option<&'a [u8]> {
        self.text
    }

    /// Natural logarithm of the probability, the end symbol's included when finished.
    pub fn log_probability(&self) -> f64 {
        self.log_probability
    }

    /// The logarithm divided by the length penalty, by which answers are ordered.
    pub fn score(&self) -> f64 {
        self.score
    }

    /// Whether the answer ended with the end symbol; otherwise the length limit cut it off.
    pub fn finished(&self) -> bool {
        self.finished
    }
}
