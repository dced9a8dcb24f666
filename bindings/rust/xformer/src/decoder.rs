//! Translation and scoring.
//
// SPDX-License-Identifier: Apache-2.0

use std::sync::Arc;

use xformer_sys as sys;

use crate::handle::{fill, Handle, Texts};
#[cfg(doc)]
use crate::Status;
use crate::{config, Batch, Batcher, CancelHandle, Config, DecodeParams, Hypotheses, Model, Result};

mirror! {
    /// Quality of a model on held-out pairs; losses are nats per target token, without dropout.
    pub struct EvalStats = xf_eval_stats XF_EVAL_STATS_INIT {
        /// Pairs.
        sentences: i64,
        /// Target tokens, end symbols counted.
        tgt_tokens: i64,
        /// Cross-entropy with "train.label_smoothing" of the decoder's config.
        loss: f64,
        /// Un-smoothed cross-entropy.
        nll: f64,
        /// exp(nll): perplexity per token.
        perplexity: f64,
    }
}

/// The three uses of attention (paper s. 3.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum AttentionKind {
    /// Encoder self-attention: queries and keys are the source's tokens.
    Encoder = sys::XF_ATTENTION_ENCODER,
    /// Decoder self-attention: queries and keys are the target's positions; none looks ahead.
    Decoder = sys::XF_ATTENTION_DECODER,
    /// Encoder-decoder attention: queries are the target's positions, keys the source's tokens.
    Cross = sys::XF_ATTENTION_CROSS,
}

/// Attention weights of a layer, from [`Decoder::attention_weights`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Attention {
    /// Attention heads.
    pub heads: usize,
    /// Tokens that look.
    pub queries: usize,
    /// Tokens that are looked at.
    pub keys: usize,
    /// Weights of all: by head, then query, then key.
    pub values: Vec<f32>,
}

impl Attention {
    /// The weights that a query gives to the keys; their sum is 1.
    ///
    /// # Panics
    ///
    /// Unless there is such a head and such a query.
    pub fn row(&self, head: usize, query: usize) -> &[f32] {
        assert!(head < self.heads && query < self.queries, "head {} and query {} of {:?}", head, query, self);
        let begin = (head * self.queries + query) * self.keys;
        &self.values[begin..begin + self.keys]
    }
}

/// Beam search over a model it shares with others.
///
/// Reads the options of the group "decode."; for [`evaluate`](Decoder::evaluate) also "train.label_smoothing" and its
/// kind. It copies no weights, so threads have one each.
#[derive(Debug)]
pub struct Decoder {
    handle: Arc<Handle<sys::xf_decoder>>,
    model: Model,
}

impl Decoder {
    /// A decoder of a model. [`Status::InvalidArgument`], also of "decode.n_best" above "decode.beam".
    pub fn new<'a>(model: &Model, config: impl Into<Option<&'a Config>>) -> Result<Self> {
        let handle = make!(model.context(), xf_decoder_create(model.enter()?, config::pointer(config)))?;
        Ok(Decoder { handle: Arc::new(handle), model: model.clone() })
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Something to cancel this decoder's calls with, for other threads.
    pub fn cancel_handle(&self) -> CancelHandle {
        let handle = Arc::clone(&self.handle);
        // SAFETY: the decoder is alive; the call is for any thread, at any time.
        CancelHandle::new(move || unsafe { sys::xf_decoder_cancel(handle.get()) })
    }

    /// Translates texts: for each, in their order, its "decode.n_best" answers, best first, or its error.
    ///
    /// White space around a text never reaches the model. A text without a token has one empty answer with score 0. The
    /// call as a whole fails with [`Status::State`] when the model has no tokenizer.
    pub fn translate<S: AsRef<[u8]>>(&mut self, texts: &[S]) -> Result<Hypotheses> {
        self.translate_with(texts, DecodeParams::new())
    }

    /// The same with what holds for this call. [`Status::InvalidArgument`] unless there are as many prefixes as texts,
    /// [`Status::Callback`] of a constraint that stops.
    pub fn translate_with<S: AsRef<[u8]>>(&mut self, texts: &[S], params: DecodeParams<'_>) -> Result<Hypotheses> {
        let (decoder, texts) = (self.handle.enter()?, Texts::new(texts));
        let (data, lengths, count) = (texts.data.as_ptr(), texts.lengths.as_ptr(), texts.data.len());
        let context = self.handle.context();
        let found = params.pass(count, |params| make!(context, xf_translate(decoder, data, lengths, count, params)));
        found.map(Hypotheses::new)
    }

    /// Decodes sources given as ids, as [`translate`](Decoder::translate) does texts. Targets are not looked at.
    pub fn decode(&mut self, batch: &Batch<'_>) -> Result<Hypotheses> {
        self.decode_with(batch, DecodeParams::new())
    }

    /// The same with what holds for this call, as [`translate_with`](Decoder::translate_with).
    pub fn decode_with(&mut self, batch: &Batch<'_>, params: DecodeParams<'_>) -> Result<Hypotheses> {
        let (decoder, context, raw) = (self.handle.enter()?, self.handle.context(), batch.raw());
        let found = params.pass(batch.len(), |params| make!(context, xf_decode(decoder, &raw, params)));
        found.map(Hypotheses::new)
    }

    /// The attention weights of one layer, 0 being the lowest, for a batch of one source and target. Position i of the
    /// decoder predicts target token i. [`Status::OutOfRange`] of a layer or an id, [`Status::InvalidArgument`] unless
    /// there is one pair.
    pub fn attention_weights(&mut self, pair: &Batch<'_>, kind: AttentionKind, layer: usize) -> Result<Attention> {
        let (decoder, raw, layer) = (self.handle.enter()?, pair.raw(), i32::try_from(layer).unwrap_or(i32::MAX));
        let (source, target) = (pair.src_ids().len(), pair.tgt_ids().map_or(0, <[i32]>::len));
        let (queries, keys) = match kind {
            AttentionKind::Encoder => (source, source),
            AttentionKind::Decoder => (target, target),
            AttentionKind::Cross => (target, source),
        };
        let values: Vec<f32> = fill(0, |weights, capacity, count| {
            call!(xf_attention_weights(decoder, &raw, kind as i32, layer, weights, capacity, count))
        })?;
        Ok(Attention { heads: values.len() / (queries * keys).max(1), queries, keys, values })
    }

    /// The natural logarithm of the probability of each target given its source, end symbol included.
    /// [`Status::OutOfRange`] of an id or a length, [`Status::InvalidArgument`] of a batch without targets.
    pub fn score(&mut self, batch: &Batch<'_>) -> Result<Vec<f64>> {
        let mut scores = vec![0.0; batch.len()];
        call!(xf_score(self.handle.enter()?, &batch.raw(), scores.as_mut_ptr()))?;
        Ok(scores)
    }

    /// Loss and perplexity on pairs, over all batches together. Errors are as of [`score`](Decoder::score).
    pub fn evaluate(&mut self, batches: &[Batch<'_>]) -> Result<EvalStats> {
        let rows: Vec<sys::xf_batch> = batches.iter().map(Batch::raw).collect();
        read!(EvalStats, xf_evaluate(self.handle.enter()?, rows.as_ptr(), rows.len()))
    }

    /// Loss and perplexity on all pairs of a batcher, once; it stands afterwards where it stood.
    pub fn evaluate_batcher(&mut self, batcher: &mut Batcher) -> Result<EvalStats> {
        read!(EvalStats, xf_evaluate_batcher(self.handle.enter()?, batcher.enter()?))
    }
}
