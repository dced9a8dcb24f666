//! Translation metrics, equal to sacreBLEU 2.x: corpus level, one reference.
//
// SPDX-License-Identifier: Apache-2.0

use xformer_sys as sys;

use crate::handle::call;
use crate::strings::{c_string, lossy_array, CStrings};
#[cfg(doc)]
use crate::Status;
use crate::{version, Error, Result};

/// How BLEU splits text into words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BleuTokenize {
    /// mteval-v13a, sacreBLEU's default: for raw text.
    V13a,
    /// At white space only: for text that is tokenised already.
    None,
    /// For text that is tokenised already: at white space and around a hyphen within a word, and a precision of zero is
    /// not smoothed. The paper's Table 2: multi-bleu on tokenised text with compounds split.
    SplitHyphens,
}

/// A corpus BLEU score with its parts.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct BleuScore {
    /// 0 to 100.
    pub score: f64,
    /// n-gram precisions in percent, n = 1 to 4, smoothed as sacreBLEU's "exp" does, but for
    /// [`BleuTokenize::SplitHyphens`].
    pub precisions: [f64; 4],
    /// 0 to 1.
    pub brevity_penalty: f64,
    /// Words of all hypotheses.
    pub hypothesis_length: i64,
    /// Words of all references.
    pub reference_length: i64,
    /// What was computed, in sacreBLEU's manner.
    pub signature: String,
}

fn segments<T: AsRef<str>>(what: &str, texts: &[T]) -> Result<CStrings> {
    let texts: Result<Vec<_>> = texts.iter().map(|text| c_string(what, text.as_ref().as_bytes())).collect();
    texts.map(CStrings::new)
}

fn both<H: AsRef<str>, R: AsRef<str>>(hypotheses: &[H], references: &[R]) -> Result<(CStrings, CStrings)> {
    version::check()?;
    let (found, expected) = (hypotheses.len(), references.len());
    if found != expected {
        return Err(Error::invalid(format!("{} hypotheses and {} references, expected as many", found, expected)));
    }
    Ok((segments("a hypothesis", hypotheses)?, segments("a reference", references)?))
}

/// Corpus BLEU.
///
/// ```
/// use xformer::{bleu, BleuTokenize};
///
/// let score = bleu(&["eins zwei drei vier"], &["eins zwei drei vier"], BleuTokenize::V13a)?;
/// assert!((score.score - 100.0).abs() < 1e-9);
/// # Ok::<(), xformer::Error>(())
/// ```
///
/// # Errors
///
/// [`Status::InvalidArgument`]: not as many hypotheses as references, none, or a NUL in
/// a text.
pub fn bleu<H: AsRef<str>, R: AsRef<str>>(
    hypotheses: &[H],
    references: &[R],
    tokenize: BleuTokenize,
) -> Result<BleuScore> {
    let (found, expected) = both(hypotheses, references)?;
    let tokenize = match tokenize {
        BleuTokenize::V13a => sys::XF_BLEU_13A,
        BleuTokenize::None => sys::XF_BLEU_NONE,
        BleuTokenize::SplitHyphens => sys::XF_BLEU_SPLIT_HYPHENS,
    };
    let (found, expected, mut score) = (&found.pointers, &expected.pointers, sys::XF_BLEU_SCORE_INIT);
    // SAFETY: there are as many C strings on both sides; `score` has its size.
    call(|error| unsafe {
        sys::xf_bleu(found.as_ptr(), expected.as_ptr(), found.len(), tokenize as i32, &mut score, error)
    })?;
    Ok(BleuScore {
        score: score.score,
        precisions: score.precisions,
        brevity_penalty: score.brevity_penalty,
        hypothesis_length: score.hypothesis_length,
        reference_length: score.reference_length,
        signature: lossy_array(&score.signature),
    })
}

/// Corpus chrF2, 0 to 100.
///
/// ```
/// assert!(xformer::chrf(&["eins"], &["zwei"])? < xformer::chrf(&["eins"], &["eine"])?);
/// # Ok::<(), xformer::Error>(())
/// ```
///
/// # Errors
///
/// As [`bleu`].
pub fn chrf<H: AsRef<str>, R: AsRef<str>>(hypotheses: &[H], references: &[R]) -> Result<f64> {
    let (found, expected) = both(hypotheses, references)?;
    let (found, expected, mut score) = (&found.pointers, &expected.pointers, 0.0);
    // SAFETY: there are as many C strings on both sides; `score` is valid.
    call(|error| unsafe { sys::xf_chrf(found.as_ptr(), expected.as_ptr(), found.len(), &mut score, error) })?;
    Ok(score)
}
