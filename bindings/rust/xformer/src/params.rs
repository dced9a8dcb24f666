//! Parameters of one decoding call: options, prefixes, and a constraint; and the models of a decoder or an engine.
//
// SPDX-License-Identifier: Apache-2.0

use std::ptr::null;

use xformer_sys as sys;

use crate::batch::Packed;
use crate::experimental::Constraint;
use crate::handle::Texts;
use crate::{config, Config, Error, Model, Result};

/// Further models that decode together with a first one: the others of an ensemble, or a draft.
///
/// They have the same context, tokenizer, vocabulary, and special tokens as the first one, and may be dropped afterwards.
///
/// ```
/// # use xformer::{Config, Decoder, DecodeModels, Engine, Model, Result};
/// # fn together(model: &Model, second: &Model, small: &Model, greedy: &Config) -> Result<()> {
/// let mut decoder = Decoder::with_models(model, DecodeModels::new().ensemble([second]), None)?;
/// let engine = Engine::with_models(model, DecodeModels::new().draft(small), greedy)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "it has no effect before it is passed"]
pub struct DecodeModels<'a> {
    ensemble: Vec<&'a Model>,
    draft: Option<&'a Model>,
}

impl<'a> DecodeModels<'a> {
    /// No further models.
    pub fn new() -> Self {
        DecodeModels::default()
    }

    /// The other models of an ensemble, at most 7. The log-probability of a token is the mean of those of all models.
    pub fn ensemble(mut self, models: impl IntoIterator<Item = &'a Model>) -> Self {
        self.ensemble = models.into_iter().collect();
        self
    }

    /// A smaller model that proposes tokens in greedy search ("decode.beam" 1). It affects only the speed. Not with an
    /// ensemble.
    pub fn draft(mut self, model: &'a Model) -> Self {
        self.draft = Some(model);
        self
    }

    /// Makes a call with the C struct.
    pub(crate) fn pass<T>(&self, function: impl FnOnce(*const sys::xf_decode_models) -> Result<T>) -> Result<T> {
        let enter = |model: &&Model| model.enter().map(|model| model as *const sys::xf_model);
        let ensemble = self.ensemble.iter().map(enter).collect::<Result<Vec<_>>>()?;
        function(&sys::xf_decode_models {
            ensemble: ensemble.as_ptr(),
            ensemble_count: ensemble.len(),
            draft: self.draft.as_ref().map_or(Ok(null()), enter)?,
            ..sys::XF_DECODE_MODELS_INIT
        })
    }
}

/// Parameters of one call of [`Decoder::translate_with`](crate::Decoder::translate_with) or
/// [`Decoder::decode_with`](crate::Decoder::decode_with).
///
/// ```
/// # use xformer::{Config, Decoder, DecodeParams, Result};
/// # fn continued(decoder: &mut Decoder) -> Result<()> {
/// let mut config = Config::new()?;
/// config.set("decode.beam", 8)?; // other options of the decoder are unchanged
/// let params = DecodeParams::new().config(&config).prefixes(["eins", ""]);
/// let found = decoder.translate_with(&["one two", "three"], params)?;
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
pub struct DecodeParams<'a> {
    config: Option<&'a Config>,
    prefixes: Option<Vec<Vec<u8>>>,
    prefix_ids: Option<Vec<Vec<i32>>>,
    constraint: Option<Constraint<'a>>,
}

debug! { DecodeParams<'_>, }

impl<'a> DecodeParams<'a> {
    /// The options of the decoder, no prefixes, no constraint.
    pub fn new() -> Self {
        DecodeParams::default()
    }

    /// Options of the groups "decode." and "text." that are set in the config override those of the decoder.
    pub fn config(mut self, config: &'a Config) -> Self {
        self.config = Some(config);
        self
    }

    /// For translating: one text for each sentence with which its translations begin; "" for none.
    pub fn prefixes<S: AsRef<[u8]>>(mut self, prefixes: impl IntoIterator<Item = S>) -> Self {
        self.prefixes = Some(prefixes.into_iter().map(|text| text.as_ref().to_vec()).collect());
        self
    }

    /// For decoding: the ids with which the hypotheses of each sentence begin, without start and end symbol.
    pub fn prefix_ids<S: AsRef<[i32]>>(mut self, prefixes: impl IntoIterator<Item = S>) -> Self {
        self.prefix_ids = Some(prefixes.into_iter().map(|ids| ids.as_ref().to_vec()).collect());
        self
    }

    /// Restricts the tokens that may follow a hypothesis. Experimental.
    pub fn constraint(mut self, constraint: Constraint<'a>) -> Self {
        self.constraint = Some(constraint);
        self
    }

    /// Makes a call with the C struct.
    pub(crate) fn pass<T>(
        mut self,
        sentences: usize,
        function: impl FnOnce(*const sys::xf_decode_params) -> Result<T>,
    ) -> Result<T> {
        let given = [self.prefixes.as_ref().map(Vec::len), self.prefix_ids.as_ref().map(Vec::len)];
        if let Some(count) = given.iter().flatten().find(|count| **count != sentences) {
            return Err(Error::invalid(format!(
                "{} prefixes for {} sentences, expected one for each",
                count, sentences
            )));
        }
        let texts = self.prefixes.as_ref().map(|prefixes| Texts::new(prefixes));
        let ids = self.prefix_ids.as_ref().map(|prefixes| Packed::pack("prefix", prefixes)).transpose()?;
        let constraint = self.constraint.as_mut().map(Constraint::raw);
        let raw = sys::xf_decode_params {
            config: config::pointer(self.config),
            prefixes: texts.as_ref().map_or(null(), |texts| texts.data.as_ptr()),
            prefix_lengths: texts.as_ref().map_or(null(), |texts| texts.lengths.as_ptr()),
            prefix_ids: ids.as_ref().map_or(null(), |packed| packed.ids.as_ptr()),
            prefix_offsets: ids.as_ref().map_or(null(), |packed| packed.offsets.as_ptr()),
            constraint: constraint.as_ref().map_or(null(), |constraint| constraint),
            ..sys::XF_DECODE_PARAMS_INIT
        };
        function(&raw)
    }
}
