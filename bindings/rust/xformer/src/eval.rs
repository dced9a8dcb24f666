//! Translation metrics, equal to sacreBLEU 2.x: corpus level, one reference.
//
// SPDX-License-Identifier: Apache-2.0

use std::ffi::CString;

use xformer_sys as sys;

use crate::handle::{c_string, pointers};
#[cfg(doc)]
use crate::Status;
use crate::{version, Error, Result};

/// How BLEU splits text into words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u32)]
pub enum BleuTokenize {
    /// mteval-v13a, sacreBLEU's default: for raw text.
    V13a = sys::XF_BLEU_13A,
    /// At white space only: for text that is tokenised already.
    None = sys::XF_BLEU_NONE,
    /// For text that is tokenised already: at white space and around a hyphen within a word, and a precision of zero is
    /// not smoothed. The paper's Table 2: multi-bleu on tokenised text with compounds split.
    SplitHyphens = sys::XF_BLEU_SPLIT_HYPHENS,
}

mirror! {
    /// A corpus BLEU score with its parts.
    pub struct BleuScore = xf_bleu_score XF_BLEU_SCORE_INIT {
        /// 0 to 100.
        score: f64,
        /// n-gram precisions in percent, n = 1 to 4, smoothed as sacreBLEU's "exp" does, but for
        /// [`BleuTokenize::SplitHyphens`].
        precisions: [f64; 4],
        /// 0 to 1.
        brevity_penalty: f64,
        /// Words of all hypotheses.
        hypothesis_length: i64,
        /// Words of all references.
        reference_length: i64,
        /// What was computed, in sacreBLEU's manner.
        signature: String,
    }
}

fn segments<T: AsRef<str>>(what: &str, texts: &[T]) -> Result<Vec<CString>> {
    texts.iter().map(|text| c_string(what, text.as_ref())).collect()
}

/// As many C strings on both sides.
fn sides(hypotheses: &[impl AsRef<str>], references: &[impl AsRef<str>]) -> Result<(Vec<CString>, Vec<CString>)> {
    version::check()?;
    let (found, expected) = (hypotheses.len(), references.len());
    if found != expected {
        return Err(Error::invalid(format!("{} hypotheses and {} references, expected as many", found, expected)));
    }
    Ok((segments("a hypothesis", hypotheses)?, segments("a reference", references)?))
}

/// Corpus BLEU. [`Status::InvalidArgument`]: not as many hypotheses as references, none, or a NUL in a text.
///
/// ```
/// use xformer::{bleu, BleuTokenize};
///
/// let score = bleu(&["eins zwei drei vier"], &["eins zwei drei vier"], BleuTokenize::V13a)?;
/// assert!((score.score - 100.0).abs() < 1e-9);
/// # Ok::<(), xformer::Error>(())
/// ```
pub fn bleu(
    hypotheses: &[impl AsRef<str>],
    references: &[impl AsRef<str>],
    tokenize: BleuTokenize,
) -> Result<BleuScore> {
    let (found, expected) = sides(hypotheses, references)?;
    let (found, expected, count) = (pointers(&found), pointers(&expected), found.len());
    read!(BleuScore, xf_bleu(found.as_ptr(), expected.as_ptr(), count, tokenize as i32))
}

/// Corpus chrF2, 0 to 100. Errors are as of [`bleu`].
///
/// ```
/// assert!(xformer::chrf(&["eins"], &["zwei"])? < xformer::chrf(&["eins"], &["eine"])?);
/// # Ok::<(), xformer::Error>(())
/// ```
pub fn chrf(hypotheses: &[impl AsRef<str>], references: &[impl AsRef<str>]) -> Result<f64> {
    let (found, expected) = sides(hypotheses, references)?;
    let (found, expected, mut score) = (pointers(&found), pointers(&expected), 0.0);
    call!(xf_chrf(found.as_ptr(), expected.as_ptr(), found.len(), &mut score))?;
    Ok(score)
}
