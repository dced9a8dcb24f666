//! The Transformer's parameters, in memory and in a file.
//
// SPDX-License-Identifier: Apache-2.0

use std::collections::BTreeMap;
use std::path::Path;
use std::ptr::{null, null_mut};
use std::sync::{Arc, Mutex, PoisonError};

use xformer_sys as sys;

use crate::context::Shared as SharedContext;
use crate::handle::{c_path, c_string, fill, pointers, Handle};
use crate::mirror::lossy;
#[cfg(doc)]
use crate::Status;
use crate::{config, Config, Context, ModelSummary, Result, Source, Tokenizer};

mirror! {
    /// One parameter tensor: its module path and shape; a vector has 1 row.
    pub struct TensorInfo = xf_tensor_info XF_TENSOR_INFO_INIT {
        /// Module path, such as "encoder.0.self_attention.q.weight".
        name: String,
        /// Rows: outputs of a linear map, ids of an embedding; 1 for a vector.
        rows: i64,
        /// Columns: inputs of a linear map, d_model of an embedding; the length of a vector.
        columns: i64,
    }
}

impl TensorInfo {
    /// The number of values.
    pub fn size(&self) -> usize {
        (self.rows * self.columns) as usize
    }
}

/// A Transformer's parameters with their configuration and, perhaps, a tokenizer.
///
/// A clone is another name for the same parameters; trainers and decoders hold one. Many decoders may read a model at
/// once. What a call of a trainer or a [`write_tensor`](Model::write_tensor) would disturb is [`Status::Busy`].
///
/// ```
/// use xformer::{Config, Context, Model};
///
/// let mut config = Config::new()?;
/// config.preset("tiny")?.set("model.vocab_size", 300)?;
/// let context = Context::new(None)?;
/// let model = Model::new(&context, &config, None)?;
/// let embedding = &model.tensors()[0];
/// assert_eq!((embedding.rows, embedding.columns), (300, 64));
/// let mut values = model.read_tensor(0)?;
/// values[7] = 0.5;
/// model.write_tensor(0, &values)?;
/// model.set_metadata("languages", "en-de")?;
///
/// let again = Model::from_bytes(&context, &model.to_bytes(None)?)?;
/// assert_eq!(again.read_tensor(0)?, values);
/// assert_eq!(again.metadata()?["languages"], "en-de");
/// # Ok::<(), xformer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Model {
    shared: Arc<Shared>,
}

/// The model of the library, and what of it never changes.
#[derive(Debug)]
struct Shared {
    handle: Arc<Handle<sys::xf_model>>,
    config: Config,
    tokenizer: Option<Tokenizer>,
    tensors: Vec<TensorInfo>,
    /// The library lends texts until they are set again, so that nobody sets them while they are copied.
    metadata: Mutex<()>,
}

impl Model {
    /// A model that was made, or that of a trainer, which nobody else knows yet.
    pub(crate) fn own(handle: Handle<sys::xf_model>) -> Result<Self> {
        let model = handle.get();
        // SAFETY: the model is alive, and what it gives lives as long.
        let (config, tokenizer, count) = unsafe {
            let config = Config::copy_of(sys::xf_model_config(model))?;
            (config, sys::xf_model_tokenizer(model), sys::xf_model_tensor_count(model))
        };
        let tensors: Result<_> = (0..count).map(|index| read!(TensorInfo, xf_model_get_tensor(model, index))).collect();
        let (handle, tensors, metadata) = (Arc::new(handle), tensors?, Mutex::default());
        let tokenizer = Handle::part(tokenizer, &handle).map(Tokenizer::new);
        Ok(Model { shared: Arc::new(Shared { handle, config, tokenizer, tensors, metadata }) })
    }

    /// Makes fresh parameters from the options of the group "model."; without a tokenizer "model.vocab_size" must be
    /// set. [`Status::InvalidArgument`] of one that is not the tokenizer's, [`Status::Limit`].
    pub fn new<'a, 'b>(
        context: &Context,
        config: impl Into<Option<&'a Config>>,
        tokenizer: impl Into<Option<&'b Tokenizer>>,
    ) -> Result<Self> {
        let tokenizer = tokenizer.into().map_or(Ok(null_mut()), Tokenizer::enter)?;
        let (c, config) = (context.enter()?, config::pointer(config));
        make!(context.shared(), xf_model_create(c, config, tokenizer)).and_then(Model::own)
    }

    /// Loads what [`save`](Model::save) or [`Trainer::save`](crate::Trainer::save) wrote, when it proves to be sound.
    pub fn load(context: &Context, path: impl AsRef<Path>) -> Result<Self> {
        make!(context.shared(), xf_model_load(context.enter()?, c_path(path)?.as_ptr())).and_then(Model::own)
    }

    /// Loads what [`to_bytes`](Model::to_bytes) gave, or the content of a file.
    pub fn from_bytes(context: &Context, bytes: &[u8]) -> Result<Self> {
        Model::load_from(context, Source::Bytes(bytes))
    }

    /// Loads a model from wherever its bytes are.
    pub fn load_from(context: &Context, source: Source<'_>) -> Result<Self> {
        let c = context.enter()?;
        source.pass(|source| make!(context.shared(), xf_model_load_from(c, source))).and_then(Model::own)
    }

    /// Tells what a model file holds and would need in this context, by its header alone. The options of the groups
    /// "decode." and "data." are those the estimates are for.
    pub fn inspect<'a>(
        context: &Context,
        source: Source<'_>,
        config: impl Into<Option<&'a Config>>,
    ) -> Result<ModelSummary> {
        let (c, config) = (context.enter()?, config::pointer(config));
        source.pass(|source| read!(ModelSummary, xf_model_inspect(c, config, source)))
    }

    /// Averages the parameters of models. The first gives tokenizer and metadata. [`Status::InvalidArgument`] when
    /// configurations differ or there is no model.
    pub fn average(models: &[&Model]) -> Result<Self> {
        let enter = |model: &&Model| model.enter().map(|pointer| pointer as *const _);
        let pointers = models.iter().map(enter).collect::<Result<Vec<_>>>()?;
        let context = models.first().and_then(|model| model.context());
        make!(context, xf_model_average(pointers.as_ptr(), pointers.len())).and_then(Model::own)
    }

    /// The same of files, models or checkpoints, with the memory of two however many there are.
    pub fn average_files<P: AsRef<Path>>(context: &Context, paths: impl IntoIterator<Item = P>) -> Result<Self> {
        let paths = paths.into_iter().map(c_path).collect::<Result<Vec<_>>>()?;
        let (c, data) = (context.enter()?, pointers(&paths));
        make!(context.shared(), xf_model_average_files(c, data.as_ptr(), data.len())).and_then(Model::own)
    }

    /// A copy with parameters of its own, in another context if need be.
    pub fn copy<'a>(&self, context: impl Into<Option<&'a Context>>) -> Result<Self> {
        let context = context.into();
        let c = context.map_or(Ok(null_mut()), Context::enter)?;
        let shared = context.map_or(self.context(), Context::shared);
        make!(shared, xf_model_copy(self.enter()?, c)).and_then(Model::own)
    }

    pub(crate) fn enter(&self) -> Result<*mut sys::xf_model> {
        self.shared.handle.enter()
    }

    pub(crate) fn context(&self) -> Option<&Arc<SharedContext>> {
        self.shared.handle.context()
    }

    /// Saves it, replacing an old file at once or not at all; the old one stays as `<path>.prev`. Of the group "file.",
    /// "file.precision" fp16 or bf16 halves the file and int8 quarters it: numbers are rounded
    /// ([`Status::OutOfRange`] of one that would become infinity).
    pub fn save<'a>(&self, path: impl AsRef<Path>, config: impl Into<Option<&'a Config>>) -> Result<()> {
        call!(xf_model_save(self.enter()?, config::pointer(config), c_path(path)?.as_ptr())).map(drop)
    }

    /// What [`save`](Model::save) writes to a file.
    pub fn to_bytes<'a>(&self, config: impl Into<Option<&'a Config>>) -> Result<Vec<u8>> {
        let (model, config) = (self.enter()?, config::pointer(config));
        fill(0, |buffer: *mut u8, capacity, size| {
            call!(xf_model_save_memory(model, config, buffer.cast(), capacity, size))
        })
    }

    /// The configuration the model was made with, "model.vocab_size" filled in.
    pub fn config(&self) -> &Config {
        &self.shared.config
    }

    /// The model's tokenizer, where it has one.
    pub fn tokenizer(&self) -> Option<&Tokenizer> {
        self.shared.tokenizer.as_ref()
    }

    /// Keeps a text with the model, in its files and checkpoints: where it came from, its languages, a licence; `None`
    /// removes the key. [`Status::InvalidArgument`] of a key that is not of 1 to 256 bytes or of a NUL,
    /// [`Status::Limit`] (1,000 keys, 1 MiB a text, 16 MiB in all).
    pub fn set_metadata<'a>(&self, key: &str, value: impl Into<Option<&'a str>>) -> Result<()> {
        let value = value.into().map(|value| c_string("the value", value)).transpose()?;
        let value = value.as_ref().map_or(null(), |value| value.as_ptr());
        let _lock = self.shared.metadata.lock().unwrap_or_else(PoisonError::into_inner);
        call!(xf_model_set_metadata(self.enter()?, c_string("the key", key)?.as_ptr(), value)).map(drop)
    }

    /// All texts that are kept with the model.
    pub fn metadata(&self) -> Result<BTreeMap<String, String>> {
        let model = self.enter()?;
        let _lock = self.shared.metadata.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the model is alive; the keys and texts that it lends are copied before anything is set.
        let texts = (0..).map_while(|index| unsafe {
            let key = sys::xf_model_metadata_key(model, index);
            (!key.is_null()).then(|| (lossy(key), lossy(sys::xf_model_metadata(model, key))))
        });
        Ok(texts.collect())
    }

    /// The parameter tensors in the order of the file.
    pub fn tensors(&self) -> &[TensorInfo] {
        &self.shared.tensors
    }

    /// A copy of a parameter tensor, row-major. [`Status::OutOfRange`]: no such index.
    pub fn read_tensor(&self, index: usize) -> Result<Vec<f32>> {
        let mut values = self.room(index);
        self.read_tensor_into(index, &mut values)?;
        Ok(values)
    }

    /// Copies a parameter tensor into a slice of just its size, otherwise [`Status::InvalidArgument`].
    pub fn read_tensor_into(&self, index: usize, values: &mut [f32]) -> Result<()> {
        call!(xf_model_read_tensor(self.enter()?, index, values.as_mut_ptr(), values.len())).map(drop)
    }

    /// Room for a parameter tensor; none for one that is not there, of which the library tells.
    pub(crate) fn room(&self, index: usize) -> Vec<f32> {
        vec![0.0; self.tensors().get(index).map_or(0, TensorInfo::size)]
    }

    /// Replaces a parameter tensor, all numbers finite: for porting models and for tests. [`Status::Busy`] while any
    /// other call uses the model.
    pub fn write_tensor(&self, index: usize, values: &[f32]) -> Result<()> {
        call!(xf_model_write_tensor(self.enter()?, index, values.as_ptr(), values.len())).map(drop)
    }
}
