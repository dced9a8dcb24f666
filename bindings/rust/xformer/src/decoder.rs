//! Translation, scoring, and evaluation.
//
// SPDX-License-Identifier: Apache-2.0

use xformer_sys as sys;

use crate::handle::{Handle, Texts};
use crate::{call, config, Batch, Batcher, Config, DecodeModels, DecodeParams, Hypotheses, Model, Result, Status};

mirror! {
    /// Quality of a model on held-out pairs.
    pub struct EvalStats = xf_eval_stats XF_EVAL_STATS_INIT {
        /// Number of pairs.
        sentences: i64,
        /// Target tokens, including end symbols.
        tgt_tokens: i64,
        /// Cross-entropy with the decoder's "train.label_smoothing", without dropout, in nats per target token.
        loss: f64,
        /// Cross-entropy without label smoothing and dropout, in nats per target token.
        nll: f64,
        /// exp(nll): perplexity per token.
        perplexity: f64,
    }
}

/// Options and workspace for decoding with a model.
///
/// A decoder does not copy parameters: any number of decoders may use one model, for example one per thread. The same
/// sentence yields the same tokens and the same score in any batch.
#[derive(Debug)]
pub struct Decoder {
    handle: Handle<sys::xf_decoder>,
    model: Model,
}

impl Decoder {
    /// Creates a decoder. Reads the options of the groups "decode." and "text."; for [`evaluate`](Decoder::evaluate) also
    /// "train.label_smoothing" and "train.label_smoothing_kind". [`Status::InvalidArgument`]: "decode.n_best" exceeds
    /// "decode.beam".
    pub fn new<'a>(model: &Model, config: impl Into<Option<&'a Config>>) -> Result<Self> {
        Decoder::with_models(model, DecodeModels::new(), config)
    }

    /// As [`new`](Decoder::new), with an ensemble or a draft. [`Status::InvalidArgument`]: also models that cannot decode
    /// together, or an ensemble with a draft.
    pub fn with_models<'a>(
        model: &Model,
        more: DecodeModels<'_>,
        config: impl Into<Option<&'a Config>>,
    ) -> Result<Self> {
        let (first, config) = (model.enter()?, config::pointer(config));
        let handle = more.pass(|more| make!(model.context(), xf_decoder_create(first, more, config)))?;
        Ok(Decoder { handle, model: model.clone() })
    }

    pub(crate) fn enter(&self) -> Result<*mut sys::xf_decoder> {
        self.handle.enter()
    }

    /// Returns the model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Translates texts. The result has one entry for each text, with "decode.n_best" hypotheses or an error.
    ///
    /// White space around a text is ignored. A text without any token has one empty hypothesis with score 0. A deadline
    /// (see [`Call`](crate::Call)) ends the search with the best hypotheses so far. [`Status::State`]: the model has no
    /// tokenizer.
    pub fn translate<S: AsRef<[u8]>>(&mut self, texts: &[S]) -> Result<Hypotheses> {
        self.translate_with(texts, DecodeParams::new())
    }

    /// As [`translate`](Decoder::translate), with options, prefixes, and a constraint of this call.
    pub fn translate_with<S: AsRef<[u8]>>(&mut self, texts: &[S], params: DecodeParams<'_>) -> Result<Hypotheses> {
        let (decoder, texts, context) = (self.enter()?, Texts::new(texts), self.handle.context());
        let (data, lengths, count) = (texts.data.as_ptr(), texts.lengths.as_ptr(), texts.data.len());
        let translate = |params| make!(context, xf_translate(decoder, data, lengths, count, params, call::current()));
        params.pass(count, translate).map(Hypotheses::new)
    }

    /// Decodes sources that are given as ids, as [`translate`](Decoder::translate) does texts. Targets are ignored.
    pub fn decode(&mut self, batch: &Batch<'_>) -> Result<Hypotheses> {
        self.decode_with(batch, DecodeParams::new())
    }

    /// As [`decode`](Decoder::decode), with options, prefixes, and a constraint of this call.
    pub fn decode_with(&mut self, batch: &Batch<'_>, params: DecodeParams<'_>) -> Result<Hypotheses> {
        let (decoder, context, raw) = (self.enter()?, self.handle.context(), batch.raw());
        let decode = |params| make!(context, xf_decode(decoder, &raw, params, call::current()));
        params.pass(batch.len(), decode).map(Hypotheses::new)
    }

    /// Returns the log-probability of each target given its source, including the end symbol. [`Status::OutOfRange`]: an
    /// id, or a sentence longer than "model.max_length". [`Status::InvalidArgument`]: the batch has no targets.
    pub fn score(&mut self, batch: &Batch<'_>) -> Result<Vec<f64>> {
        let mut scores = vec![0.0; batch.len()];
        call!(xf_score(self.enter()?, &batch.raw(), call::current(), scores.as_mut_ptr()))?;
        Ok(scores)
    }

    /// As [`score`](Decoder::score), for pairs of texts. A pair that cannot be scored does not fail the call: it has its
    /// own status. [`Status::State`]: the model has no tokenizer.
    pub fn score_texts<S: AsRef<[u8]>, T: AsRef<[u8]>>(
        &mut self,
        pairs: &[(S, T)],
    ) -> Result<Vec<Result<f64, Status>>> {
        let sources: Vec<&[u8]> = pairs.iter().map(|(source, _)| source.as_ref()).collect();
        let targets: Vec<&[u8]> = pairs.iter().map(|(_, target)| target.as_ref()).collect();
        let (s, t) = (Texts::new(&sources), Texts::new(&targets));
        let (mut scores, mut statuses) = (vec![0.0; pairs.len()], vec![sys::XF_OK; pairs.len()]);
        call!(xf_score_texts(
            self.enter()?,
            s.data.as_ptr(),
            s.lengths.as_ptr(),
            t.data.as_ptr(),
            t.lengths.as_ptr(),
            pairs.len(),
            call::current(),
            scores.as_mut_ptr(),
            statuses.as_mut_ptr(),
        ))?;
        let score = |(score, status): (f64, i32)| if status < 0 { Err(status.into()) } else { Ok(score) };
        Ok(scores.into_iter().zip(statuses).map(score).collect())
    }

    /// Measures loss and perplexity on all pairs of a batcher. Its position is unchanged afterwards. Errors as for
    /// [`score`](Decoder::score).
    pub fn evaluate(&mut self, batcher: &mut Batcher) -> Result<EvalStats> {
        read!(EvalStats, xf_evaluate(self.enter()?, batcher.enter()?, call::current()))
    }
}
