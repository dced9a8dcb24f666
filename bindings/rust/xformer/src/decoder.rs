//! Translation and scoring.
//
// SPDX-License-Identifier: Apache-2.0

use std::ops::ControlFlow;
use std::os::raw::{c_char, c_void};
use std::ptr::null_mut;

use xformer_sys as sys;

use crate::constraint::{self, Allowed, Asked, Prefix};
use crate::handle::{call, create, Handle};
use crate::strings::fill;
use crate::usage::Reading;
use crate::{config, Batch, Config, Hypotheses, Model, Result};
#[cfg(doc)]
use crate::{Error, Status};

/// Quality of a model on held-out pairs; losses are nats per target token, without dropout.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct EvalStats {
    /// Pairs.
    pub sentences: i64,
    /// Target tokens, end symbols counted.
    pub tgt_tokens: i64,
    /// Cross-entropy with "train.label_smoothing" of the decoder's config.
    pub loss: f64,
    /// Un-smoothed cross-entropy.
    pub nll: f64,
    /// exp(nll): perplexity per token.
    pub perplexity: f64,
}

/// The three uses of attention (paper s. 3.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AttentionKind {
    /// Encoder self-attention: queries and keys are the source's tokens.
    Encoder,
    /// Decoder self-attention: queries and keys are the target's positions; none looks ahead.
    Decoder,
    /// Encoder-decoder attention: queries are the target's positions, keys the source's tokens.
    Cross,
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
///
/// ```
/// use xformer::{Config, Context, Corpus, Decoder, Model, Tokenizer};
///
/// let mut config = Config::new()?;
/// config.preset("tiny")?.set("tokenizer.vocab_size", 300)?.set("decode.max_extra_tokens", 3)?;
/// let context = Context::new(None)?;
/// let corpus = Corpus::from_pairs(&context, [("one two", "eins zwei")], None)?;
/// let tokenizer = Tokenizer::train(&context, &corpus, &config)?;
/// let model = Model::new(&context, &config, &tokenizer)?; // or Model::load(&context, "en-de.xf")?
///
/// let found = std::thread::scope(|threads| {
///     let translate = || Decoder::new(&model, &config)?.translate(&["one", "two one"]);
///     let workers = [threads.spawn(translate), threads.spawn(translate)];
///     workers.map(|worker| worker.join().expect("no panic"))
/// });
/// let [one, other] = found;
/// assert_eq!(one?.texts(), other?.texts()); // the same, whatever runs beside
/// # Ok::<(), xformer::Error>(())
/// ```
///
/// A decoder is for one call at a time:
///
/// ```compile_fail,E0596
/// fn shared(decoder: &xformer::Decoder) {
///     decoder.translate(&["one"]).unwrap();
/// }
/// ```
#[derive(Debug)]
pub struct Decoder {
    handle: Handle<sys::xf_decoder>,
    model: Model,
    constraint: Option<Asked>, // after the handle, which may ask it
}

impl Decoder {
    /// A decoder of a model.
    ///
    /// # Errors
    ///
    /// [`Status::InvalidArgument`] (also "decode.n_best" above "decode.beam"), [`Status::NoMemory`],
    /// [`Status::Backend`]; [`Status::State`] while another thread changes the model.
    pub fn new<'a>(model: &Model, config: impl Into<Option<&'a Config>>) -> Result<Self> {
        let (config, (pointer, _reading)) = (config::pointer(config.into()), model.reading()?);
        // SAFETY: the model is alive and is read, the config too.
        create(Some(model.context()), |out, error| unsafe { sys::xf_decoder_create(pointer, config, out, error) })
            .map(|handle| Decoder { handle, model: model.clone(), constraint: None })
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// For a call that changes the decoder and reads its model.
    fn decoding(&mut self) -> Result<(*mut sys::xf_decoder, Reading<'_>)> {
        let (_, reading) = self.model.reading()?;
        Ok((self.handle.get_mut(), reading))
    }

    /// Translates texts: for each, in their order, its "decode.n_best" answers, best first.
    ///
    /// A text without a token, as an empty line, has one empty answer with score 0.
    ///
    /// # Errors
    ///
    /// [`Status::Data`] (a text is not UTF-8), [`Status::OutOfRange`] (a text is too long), [`Status::State`] (the
    /// model has no tokenizer, or another thread changes it), [`Status::Cancelled`], [`Status::NoMemory`],
    /// [`Status::Backend`].
    pub fn translate<S: AsRef<[u8]>>(&mut self, texts: &[S]) -> Result<Hypotheses> {
        let texts: Vec<&[u8]> = texts.iter().map(AsRef::as_ref).collect();
        let pointers: Vec<*const c_char> = texts.iter().map(|text| text.as_ptr() as *const c_char).collect();
        let lengths: Vec<usize> = texts.iter().map(|text| text.len()).collect();
        let (data, lengths, count) = (pointers.as_ptr(), lengths.as_ptr(), texts.len());
        self.answers(|decoder, out, error| {
            // SAFETY: the decoder is in no other call, its model is read; there are `count` texts of these lengths.
            unsafe { sys::xf_translate(decoder, data, lengths, count, out, error) }
        })
    }

    /// Decodes sources given as ids. Targets are not looked at.
    ///
    /// # Errors
    ///
    /// As [`translate`](Decoder::translate); [`Status::OutOfRange`] also of an id.
    pub fn decode(&mut self, batch: &Batch<'_>) -> Result<Hypotheses> {
        // SAFETY: the decoder is in no other call, its model is read; the batch lives during the call.
        self.answers(|decoder, out, error| unsafe { sys::xf_decode(decoder, &batch.raw(), out, error) })
    }

    fn answers(
        &mut self,
        decode: impl FnOnce(*mut sys::xf_decoder, *mut *mut sys::xf_hypotheses, *mut sys::xf_error) -> sys::xf_status,
    ) -> Result<Hypotheses> {
        let decoder = self.handle.get_mut();
        let found = {
            let (_, _reading) = self.model.reading()?;
            create(Some(self.handle.context()), |out, error| decode(decoder, out, error))
        };
        if let Some(constraint) = &mut self.constraint {
            constraint.after_call();
        }
        found.map(Hypotheses::new)
    }

    /// Holds [`translate`](Decoder::translate) and [`decode`](Decoder::decode) to what a closure allows: a grammar, a
    /// given beginning, a lexicon.
    ///
    /// It is asked about each hypothesis and step, in an order that is not promised, and takes away from the ids that
    /// may follow, [`TOKEN_END`](crate::TOKEN_END) among them when the answer may not end here; its answer is to depend
    /// on the prefix alone. `Break` ends the call with [`Status::Callback`]; a panic goes on when the call has
    /// returned. Scores stay the model's own. A sentence without an allowed answer has one that is not finished, with a
    /// logarithm of minus infinity.
    ///
    /// ```
    /// # use std::ops::ControlFlow;
    /// # fn forced(decoder: &mut xformer::Decoder, tokenizer: &xformer::Tokenizer) -> xformer::Result<()> {
    /// let beginning = tokenizer.encode("eins")?;
    /// decoder.set_constraint(move |prefix, allowed| {
    ///     if let Some(id) = beginning.get(prefix.ids.len()) {
    ///         allowed.only([*id]);
    ///     }
    ///     ControlFlow::Continue(())
    /// })?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Status::Forked`].
    pub fn set_constraint<F>(&mut self, constraint: F) -> Result<()>
    where
        F: FnMut(&Prefix<'_>, &mut Allowed<'_>) -> ControlFlow<()> + Send + 'static,
    {
        let asked = Asked::new(Box::new(constraint));
        self.raw_constraint(Some(constraint::ask), asked.user())?;
        self.constraint = Some(asked);
        Ok(())
    }

    /// Takes the constraint away.
    ///
    /// # Errors
    ///
    /// [`Status::Forked`].
    pub fn clear_constraint(&mut self) -> Result<()> {
        self.raw_constraint(None, null_mut())?;
        self.constraint = None;
        Ok(())
    }

    fn raw_constraint(&mut self, function: sys::xf_constraint_fn, user: *mut c_void) -> Result<()> {
        self.handle.context().enter()?;
        let decoder = self.handle.get_mut();
        // SAFETY: the decoder is in no other call; what it may ask is kept beside it until another takes its place.
        call(|error| unsafe { sys::xf_decoder_set_constraint(decoder, function, user, error) }).map(drop)
    }

    /// The attention weights of one layer, 0 being the lowest, for a batch of one source and target. Position i of the
    /// decoder predicts target token i.
    ///
    /// # Errors
    ///
    /// As [`score`](Decoder::score); [`Status::OutOfRange`] of a layer, [`Status::InvalidArgument`] unless there is one
    /// pair.
    pub fn attention_weights(&mut self, pair: &Batch<'_>, kind: AttentionKind, layer: usize) -> Result<Attention> {
        let (raw, layer) = (pair.raw(), i32::try_from(layer).unwrap_or(i32::MAX));
        let (source, target) = (pair.src_ids().len(), pair.tgt_ids().map_or(0, <[i32]>::len));
        let (kind, queries, keys) = match kind {
            AttentionKind::Encoder => (sys::XF_ATTENTION_ENCODER, source, source),
            AttentionKind::Decoder => (sys::XF_ATTENTION_DECODER, target, target),
            AttentionKind::Cross => (sys::XF_ATTENTION_CROSS, target, source),
        };
        let (decoder, _reading) = self.decoding()?;
        let values: Vec<f32> = fill(0, |weights, capacity, count, error| {
            // SAFETY: the decoder is in no other call, its model is read; the weights have that capacity.
            unsafe { sys::xf_attention_weights(decoder, &raw, kind as i32, layer, weights, capacity, count, error) }
        })?;
        Ok(Attention { heads: values.len() / (queries * keys).max(1), queries, keys, values })
    }

    /// The natural logarithm of the probability of each target given its source, end symbol included.
    ///
    /// # Errors
    ///
    /// As [`decode`](Decoder::decode); [`Status::InvalidArgument`] of a batch without targets.
    pub fn score(&mut self, batch: &Batch<'_>) -> Result<Vec<f64>> {
        let mut scores = vec![0.0; batch.len()];
        let (decoder, _reading) = self.decoding()?;
        // SAFETY: the decoder is in no other call, its model is read; there is one score for each sentence.
        call(|error| unsafe { sys::xf_score(decoder, &batch.raw(), scores.as_mut_ptr(), error) })?;
        Ok(scores)
    }

    /// Loss and perplexity on pairs, over all batches together.
    ///
    /// # Errors
    ///
    /// As [`score`](Decoder::score).
    pub fn evaluate(&mut self, batches: &[Batch<'_>]) -> Result<EvalStats> {
        let (rows, mut stats) = (batches.iter().map(Batch::raw).collect::<Vec<_>>(), sys::XF_EVAL_STATS_INIT);
        let (decoder, _reading) = self.decoding()?;
        // SAFETY: the decoder is in no other call, its model is read; the batches live in the caller's hands.
        call(|error| unsafe { sys::xf_evaluate(decoder, rows.as_ptr(), rows.len(), &mut stats, error) })?;
        let sys::xf_eval_stats { sentences, tgt_tokens, loss, nll, perplexity, .. } = stats;
        Ok(EvalStats { sentences, tgt_tokens, loss, nll, perplexity })
    }
}
