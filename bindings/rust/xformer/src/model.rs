//! The parameters of a Transformer, in memory and in files.
//
// SPDX-License-Identifier: Apache-2.0

use std::collections::BTreeMap;
use std::ptr::{null, null_mut};
use std::sync::Arc;

use xformer_sys as sys;

use crate::context::Shared as SharedContext;
use crate::handle::{c_string, fill, text, Handle};
use crate::mirror::IntoRust;
use crate::{call, config, Config, Context, NumberType, Result, Side, Sink, Source, Status, Tokenizer};

/// One parameter tensor.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TensorInfo {
    /// Module path, for example "encoder.0.self_attention.q.weight".
    pub name: String,
    /// Type in memory.
    pub number_type: NumberType,
    /// Sizes of the dimensions, slowest first: [outputs, inputs] of a linear map, [ids, d_model] of an embedding.
    pub shape: Vec<usize>,
}

impl TensorInfo {
    const RAW: sys::xf_tensor_info = sys::XF_TENSOR_INFO_INIT;

    fn from_raw(raw: sys::xf_tensor_info) -> Self {
        let shape = raw.shape.iter().take(raw.dims as usize).map(|size| *size as usize).collect();
        TensorInfo { name: raw.name.into_rust(), number_type: raw.type_.into(), shape }
    }

    /// Returns the number of values.
    pub fn size(&self) -> usize {
        self.shape.iter().product()
    }
}

mirror! {
    /// Contents and memory requirements of a model file.
    pub struct ModelSummary = xf_model_summary XF_MODEL_SUMMARY_INIT {
        /// Number of parameters.
        parameters: i64,
        /// Size of the target vocabulary, V.
        vocab_size: i64,
        /// Size of the file in bytes.
        file_bytes: i64,
        /// Upper estimate of the bytes to load it and to translate one group of "decode.batch_sentences" sentences of
        /// "data.max_tokens" tokens.
        decode_bytes: i64,
        /// Upper estimate of the bytes to train it with batches of "data.batch_tokens" source and target tokens.
        train_bytes: i64,
        /// Number of updates of a checkpoint; -1 for a model.
        step: i64,
        /// True if the file contains a tokenizer.
        has_tokenizer: bool,
        /// Type of the matrices.
        weights: NumberType,
    }
}

/// The parameters of a Transformer, its configuration, and optionally a tokenizer.
///
/// Clones, trainers, and decoders share the parameters. Many decoders may read a model at the same time. A call that
/// conflicts with a running call of a trainer, or with [`write_tensor`](Model::write_tensor), returns [`Status::Busy`].
///
/// The option "model.weights" selects the type of the matrices when a model is loaded, copied, or saved. Models with
/// other types than fp32, called quantized here, need less memory but cannot be trained.
///
/// ```
/// use xformer::{Config, Context, Model};
///
/// let mut config = Config::new()?;
/// config.preset("tiny")?.set("model.vocab_size", 300)?;
/// let context = Context::new(None)?;
/// let model = Model::new(&context, None, &config)?;
/// let embedding = &model.tensors()[0];
/// assert_eq!(embedding.shape, [300, 64]);
/// let mut values = model.read_tensor(0)?;
/// values[7] = 0.5;
/// model.write_tensor(0, &values)?;
/// model.set_metadata("languages", "en-de")?;
///
/// let again = Model::load(&context, &model.to_bytes(None)?, None)?;
/// assert_eq!(again.read_tensor(0)?, values);
/// assert_eq!(again.metadata()?["languages"], "en-de");
/// # Ok::<(), xformer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Model {
    shared: Arc<Shared>,
}

/// The handle, and the properties that never change.
#[derive(Debug)]
struct Shared {
    handle: Arc<Handle<sys::xf_model>>,
    config: Config,
    tokenizer: Option<Tokenizer>,
    tensors: Vec<TensorInfo>,
}

impl Model {
    /// Wraps a model that was just created, or that of a resumed trainer.
    pub(crate) fn own(handle: Handle<sys::xf_model>) -> Result<Self> {
        let model = handle.get();
        // SAFETY: the model is valid, and it owns the results.
        let (config, tokenizer, count) = unsafe {
            let config = Config::copy_of(sys::xf_model_config(model))?;
            (config, sys::xf_model_tokenizer(model), sys::xf_model_tensor_count(model))
        };
        let tensors: Result<_> = (0..count).map(|index| read!(TensorInfo, xf_model_get_tensor(model, index))).collect();
        let (handle, tensors) = (Arc::new(handle), tensors?);
        let tokenizer = Handle::borrowed(tokenizer, &handle).map(Tokenizer::own).transpose()?;
        Ok(Model { shared: Arc::new(Shared { handle, config, tokenizer, tensors }) })
    }

    /// Creates a model with random parameters from the options of the group "model.". Without a tokenizer, it works on
    /// ids, and "model.vocab_size" must be set. [`Status::InvalidArgument`]: "model.vocab_size" differs from the size of
    /// the tokenizer. [`Status::Limit`]: a size is too large.
    pub fn new<'a, 'b>(
        context: &Context,
        tokenizer: impl Into<Option<&'b Tokenizer>>,
        config: impl Into<Option<&'a Config>>,
    ) -> Result<Self> {
        let tokenizer = tokenizer.into().map_or(Ok(null_mut()), Tokenizer::enter)?;
        let (c, config) = (context.enter()?, config::pointer(config));
        make!(context.shared(), xf_model_create(c, tokenizer, config)).and_then(Model::own)
    }

    /// Loads a model that [`save`](Model::save) or [`Trainer::save`](crate::Trainer::save) wrote. Reads "model.weights".
    /// [`Status::Unsupported`]: the device cannot multiply with that type.
    ///
    /// ```no_run
    /// # use xformer::{Config, Context, Model};
    /// # let context = Context::new(None)?;
    /// let model = Model::load(&context, "en-de.xf", None)?;
    /// let mut config = Config::new()?;
    /// config.set("model.weights", "int8")?;
    /// let quantized = Model::load(&context, "en-de.xf", &config)?;
    /// # Ok::<(), xformer::Error>(())
    /// ```
    pub fn load<'a, 's>(
        context: &Context,
        source: impl Into<Source<'s>>,
        config: impl Into<Option<&'a Config>>,
    ) -> Result<Self> {
        let (c, config) = (context.enter()?, config::pointer(config));
        let load = |source| make!(context.shared(), xf_model_load(c, source, config, call::current()));
        source.into().pass(load).and_then(Model::own)
    }

    /// Reports the contents of a model file, and its memory requirements in this context, from its header. The config
    /// may contain "model.weights" and options of the groups "decode." and "data." for the estimates.
    pub fn inspect<'a, 's>(
        context: &Context,
        source: impl Into<Source<'s>>,
        config: impl Into<Option<&'a Config>>,
    ) -> Result<ModelSummary> {
        let (c, config) = (context.enter()?, config::pointer(config));
        source.into().pass(|source| read!(ModelSummary, xf_model_inspect(c, source, config)))
    }

    /// Averages the parameters of models or checkpoints of the same configuration. The result has the tokenizer and the
    /// metadata of the first. Needs about three times the memory of one model, for any number of files.
    /// [`Status::InvalidArgument`]: configurations differ, or `sources` is empty.
    pub fn average<'s, S: Into<Source<'s>>>(context: &Context, sources: impl IntoIterator<Item = S>) -> Result<Self> {
        let (c, sources) = (context.enter()?, sources.into_iter().map(S::into).collect());
        let average = |sources: &[sys::xf_source]| {
            make!(context.shared(), xf_model_average(c, sources.as_ptr(), sources.len(), call::current()))
        };
        Source::pass_all(sources, average).and_then(Model::own)
    }

    /// Copies the model with its tokenizer and metadata, optionally to another context. Reads "model.weights".
    pub fn copy<'a, 'b>(
        &self,
        context: impl Into<Option<&'a Context>>,
        config: impl Into<Option<&'b Config>>,
    ) -> Result<Self> {
        let context = context.into();
        let c = context.map_or(Ok(null_mut()), Context::enter)?;
        let (shared, config) = (context.map_or(self.context(), Context::shared), config::pointer(config));
        make!(shared, xf_model_copy(self.enter()?, c, config, call::current())).and_then(Model::own)
    }

    /// Copies the model with matrices of the given type, in the same context. A trained model becomes a quantized model
    /// for translation, or a quantized model becomes fp32 and can be trained.
    pub fn copy_with_weights(&self, weights: NumberType) -> Result<Self> {
        let mut config = Config::new()?;
        config.set("model.weights", &weights.word())?;
        self.copy(None, &config)
    }

    pub(crate) fn enter(&self) -> Result<*mut sys::xf_model> {
        self.shared.handle.enter()
    }

    pub(crate) fn context(&self) -> Option<&Arc<SharedContext>> {
        self.shared.handle.context()
    }

    /// Saves the model. Reads "model.weights": fp16 and bf16 halve the file, int8 quarters it.
    /// [`Status::OutOfRange`]: a number would round to infinity.
    pub fn save<'a, 's>(&self, sink: impl Into<Sink<'s>>, config: impl Into<Option<&'a Config>>) -> Result<()> {
        let (model, config) = (self.enter()?, config::pointer(config));
        sink.into().pass(|sink| call!(xf_model_save(model, config, call::current(), sink))).map(drop)
    }

    /// Returns the bytes that [`save`](Model::save) writes.
    pub fn to_bytes<'a>(&self, config: impl Into<Option<&'a Config>>) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.save(&mut bytes, config)?;
        Ok(bytes)
    }

    /// Returns the options of the group "model." with the values in effect, including "model.vocab_size",
    /// "model.start_token", and "model.end_token".
    pub fn config(&self) -> &Config {
        &self.shared.config
    }

    /// Returns the tokenizer, if the model has one. A batcher that is created with it frames texts for this model.
    pub fn tokenizer(&self) -> Option<&Tokenizer> {
        self.shared.tokenizer.as_ref()
    }

    /// Encodes text as the ids that the model expects in a [`Batch`](crate::Batch): with the end symbol and language
    /// tokens. The config may contain "text.source_language" and "text.target_language". [`Status::State`]: the model
    /// has no tokenizer. [`Status::Data`]: the text is not valid UTF-8.
    pub fn encode<'a>(
        &self,
        side: Side,
        text: impl AsRef<[u8]>,
        config: impl Into<Option<&'a Config>>,
    ) -> Result<Vec<i32>> {
        let (model, config, text) = (self.enter()?, config::pointer(config), text.as_ref());
        let (data, length) = (text.as_ptr().cast(), text.len());
        fill(length + 16, |ids, capacity, count| {
            call!(xf_model_encode(model, side as i32, data, length, config, ids, capacity, count))
        })
    }

    /// Stores a text with the model, for example its origin or license; `None` removes the key. It is saved in files and
    /// checkpoints. [`Status::InvalidArgument`]: the key does not have 1 to 256 bytes, or a NUL. [`Status::Limit`]: more
    /// than 1,000 keys, 1 MiB in a text, or 16 MiB in all.
    pub fn set_metadata<'a>(&self, key: &str, value: impl Into<Option<&'a str>>) -> Result<()> {
        let value = value.into().map(|value| c_string("the value", value)).transpose()?;
        let value = value.as_ref().map_or(null(), |value| value.as_ptr());
        call!(xf_model_set_metadata(self.enter()?, c_string("the key", key)?.as_ptr(), value)).map(drop)
    }

    /// Returns all texts that are stored with the model. [`Status::Busy`]: another call changes them.
    pub fn metadata(&self) -> Result<BTreeMap<String, String>> {
        let (model, mut texts) = (self.enter()?, BTreeMap::new());
        for index in 0.. {
            let mut done = false;
            let key = fill(257, |key: *mut u8, capacity, length| {
                let status = call!(xf_model_get_metadata_key(model, index, key.cast(), capacity, length))?;
                done = status == sys::XF_DONE;
                Ok(status)
            })?;
            if done {
                break;
            }
            let name = c_string("the key", &key)?;
            let value = fill(256, |value: *mut u8, capacity, length| {
                call!(xf_model_get_metadata(model, name.as_ptr(), value.cast(), capacity, length))
            });
            match value {
                Ok(value) => drop(texts.insert(text(key), text(value))),
                Err(error) if error.status() == Status::NotFound => (), // another thread has just removed it
                Err(error) => return Err(error),
            }
        }
        Ok(texts)
    }

    /// Returns the parameter tensors in the order of the file.
    pub fn tensors(&self) -> &[TensorInfo] {
        &self.shared.tensors
    }

    /// Copies a parameter tensor, row-major and converted to fp32. [`Status::OutOfRange`]: no such index.
    pub fn read_tensor(&self, index: usize) -> Result<Vec<f32>> {
        let mut values = self.room(index);
        self.read_tensor_into(index, &mut values)?;
        Ok(values)
    }

    /// Copies a parameter tensor to a slice of its size. [`Status::InvalidArgument`]: another size.
    pub fn read_tensor_into(&self, index: usize, values: &mut [f32]) -> Result<()> {
        call!(xf_model_read_tensor(self.enter()?, index, values.as_mut_ptr(), values.len())).map(drop)
    }

    /// Room for a parameter tensor; empty if the index does not exist, which the library reports.
    pub(crate) fn room(&self, index: usize) -> Vec<f32> {
        vec![0.0; self.tensors().get(index).map_or(0, TensorInfo::size)]
    }

    /// Replaces a parameter tensor, for porting models and for tests. [`Status::InvalidArgument`]: a number is not
    /// finite, or another size. [`Status::State`]: the model is quantized. [`Status::Busy`]: another call uses the model.
    pub fn write_tensor(&self, index: usize, values: &[f32]) -> Result<()> {
        call!(xf_model_write_tensor(self.enter()?, index, values.as_ptr(), values.len())).map(drop)
    }
}
