//! Sentences of a text.
//
// SPDX-License-Identifier: Apache-2.0

use std::ops::Range;
use std::ptr::null;

use xformer_sys as sys;

use crate::handle::{c_string, fill};
#[cfg(doc)]
use crate::Status;
use crate::{version, Result};

/// Returns the byte ranges of the sentences of a text in UTF-8, because a model translates single sentences.
///
/// Sentences exclude the white space around them, and all text between them is white space. A line end always ends a
/// sentence. `language` is an ISO 639-1 code; without it, the abbreviations of all languages apply. Sentences of more
/// than `max_characters` code points are divided, unless it is 0. [`Status::Data`]: the text is not valid UTF-8.
///
/// ```
/// let text = "Mr. Smith came. He left.";
/// let sentences = xformer::split_sentences(text, "en", 0)?;
/// assert_eq!(sentences.into_iter().map(|range| &text[range]).collect::<Vec<_>>(), ["Mr. Smith came.", "He left."]);
/// # Ok::<(), xformer::Error>(())
/// ```
pub fn split_sentences<'a>(
    text: impl AsRef<[u8]>,
    language: impl Into<Option<&'a str>>,
    max_characters: usize,
) -> Result<Vec<Range<usize>>> {
    version::check()?;
    let text = text.as_ref();
    let language = language.into().map(|code| c_string("the language", code)).transpose()?;
    let code = language.as_ref().map_or(null(), |code| code.as_ptr());
    let spans = fill(text.len() / 32 + 8, |spans: *mut Span, capacity, count| {
        let spans = spans.cast();
        call!(xf_split_sentences(text.as_ptr().cast(), text.len(), code, max_characters, spans, capacity, count))
    })?;
    Ok(spans.into_iter().map(|Span(span)| span.begin..span.end).collect())
}

/// An `xf_span` with a default value.
#[derive(Clone)]
#[repr(transparent)]
struct Span(sys::xf_span);

impl Default for Span {
    fn default() -> Self {
        Span(sys::xf_span { begin: 0, end: 0 })
    }
}
