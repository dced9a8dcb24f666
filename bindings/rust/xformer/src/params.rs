//! Parameters of one decoding call: options, prefixes, and a constraint.
//
// SPDX-License-Identifier: Apache-2.0

use std::ptr::null;

use xformer_sys as sys;

use crate::batch::Packed;
use crate::experimental::Constraint;
use crate::handle::Texts;
use crate::{config, Config, Error, Result};

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
