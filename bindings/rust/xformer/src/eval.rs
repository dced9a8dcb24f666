//! Translation metrics, equal to those of sacreBLEU 2.x: corpus level, one reference per segment.
//
// SPDX-License-Identifier: Apache-2.0

use xformer_sys as sys;

use crate::handle::Texts;
#[cfg(doc)]
use crate::Status;
use crate::{version, Error, Result};

/// How BLEU splits text into words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(i32)]
pub enum BleuTokenize {
    /// mteval-v13a, the default of sacreBLEU: for raw text.
    V13a = sys::XF_BLEU_13A,
    /// At white space, for tokenized text.
    None = sys::XF_BLEU_NONE,
    /// For tokenized text: at ASCII white space and around a hyphen within a word; a precision of zero is not smoothed.
    /// This is the score of the paper's Table 2.
    SplitHyphens = sys::XF_BLEU_SPLIT_HYPHENS,
}

mirror! {
    /// A corpus BLEU score and its parts.
    pub struct BleuScore = xf_bleu_score XF_BLEU_SCORE_INIT {
        /// 0 to 100.
        score: f64,
        /// n-gram precisions in percent, n = 1 to 4, smoothed like sacreBLEU's "exp", except for
        /// [`BleuTokenize::SplitHyphens`].
        precisions: [f64; 4],
        /// 0 to 1.
        brevity_penalty: f64,
        /// Number of words of all hypotheses.
        hypothesis_length: i64,
        /// Number of words of all references.
        reference_length: i64,
        /// How the score was computed, in the form of sacreBLEU.
        signature: String,
    }
}

mirror! {
    /// A corpus chrF score.
    pub struct ChrfScore = xf_chrf_score XF_CHRF_SCORE_INIT {
        /// 0 to 100.
        score: f64,
        /// How the score was computed, in the form of sacreBLEU.
        signature: String,
    }
}

/// Checks that there is one reference for each hypothesis.
fn sides(hypotheses: &[impl AsRef<str>], references: &[impl AsRef<str>]) -> Result<(Texts, Texts)> {
    version::check()?;
    let (found, expected) = (hypotheses.len(), references.len());
    if found != expected {
        return Err(Error::invalid(format!(
            "{} hypotheses and {} references, expected equal numbers",
            found, expected
        )));
    }
    let found: Vec<&str> = hypotheses.iter().map(AsRef::as_ref).collect();
    let expected: Vec<&str> = references.iter().map(AsRef::as_ref).collect();
    Ok((Texts::new(&found), Texts::new(&expected)))
}

/// Computes corpus BLEU. [`Status::InvalidArgument`]: numbers of hypotheses and references differ or are 0.
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
    let (h, r) = sides(hypotheses, references)?;
    let (found, lengths, count) = (h.data.as_ptr(), h.lengths.as_ptr(), h.data.len());
    let tokenize = tokenize as i32;
    read!(BleuScore, xf_bleu(found, lengths, r.data.as_ptr(), r.lengths.as_ptr(), count, tokenize))
}

/// Computes corpus chrF2: character n-grams up to 6, beta 2, white space removed. Errors as for [`bleu`].
///
/// ```
/// assert!(xformer::chrf(&["eins"], &["zwei"])?.score < xformer::chrf(&["eins"], &["eine"])?.score);
/// # Ok::<(), xformer::Error>(())
/// ```
pub fn chrf(hypotheses: &[impl AsRef<str>], references: &[impl AsRef<str>]) -> Result<ChrfScore> {
    let (h, r) = sides(hypotheses, references)?;
    let (found, lengths, count) = (h.data.as_ptr(), h.lengths.as_ptr(), h.data.len());
    read!(ChrfScore, xf_chrf(found, lengths, r.data.as_ptr(), r.lengths.as_ptr(), count))
}
