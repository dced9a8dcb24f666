//! The Transformer's parameters, in memory and in a file.
//
// SPDX-License-Identifier: Apache-2.0

use std::path::Path;
use std::ptr::{null, NonNull};
use std::sync::Arc;

use xformer_sys as sys;

use crate::context::Shared as SharedContext;
use crate::handle::{call, create, Handle};
use crate::strings::{c_path, lossy, CStrings};
use crate::usage::{Reading, Usage, Writing};
use crate::{config, Config, Context, Error, Result, Status, Tokenizer};

/// One parameter tensor: its module path and shape; a vector has 1 row.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParamInfo {
    /// Module path, such as "encoder.0.self_attention.q.weight".
    pub name: String,
    /// Rows: outputs of a linear map, ids of an embedding; 1 for a vector.
    pub rows: usize,
    /// Columns: inputs of a linear map, d_model of an embedding; the length of a vector.
    pub columns: usize,
}

impl ParamInfo {
    /// The number of values.
    pub fn size(&self) -> usize {
        self.rows * self.columns
    }
}

/// A Transformer's parameters with their configuration and, perhaps, a tokenizer.
///
/// A clone is another name for the same parameters; trainers and decoders hold one. Many decoders may read a model at
/// once. While a call of a trainer of it runs, or a [`write`](Model::write), calls of other threads on the model and
/// its decoders are errors of [`Status::State`] for which [`Error::is_busy`] is true, and so are these beside others.
///
/// ```
/// use xformer::{Config, Context, Model};
///
/// let mut config = Config::new()?;
/// config.preset("tiny")?.set("model.vocab_size", 300)?;
/// let model = Model::new(&Context::new(None)?, &config, None)?;
/// let embedding = &model.params()[0];
/// assert_eq!((embedding.rows, embedding.columns), (300, 64));
/// let mut values = model.read(0)?;
/// values[7] = 0.5;
/// model.write(0, &values)?;
/// assert_eq!(model.read(0)?, values);
/// # Ok::<(), xformer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Model {
    shared: Arc<Shared>,
}

/// The model of the library, and what of it never changes.
#[derive(Debug)]
pub(crate) struct Shared {
    owner: Owner,
    usage: Usage,
    config: NonNull<sys::xf_config>,
    tokenizer: Option<NonNull<sys::xf_tokenizer>>,
    params: Vec<ParamInfo>,
}

#[derive(Debug)]
enum Owner {
    Own(Handle<sys::xf_model>),
    /// Of a resumed trainer, which goes when it is not needed here.
    Trainer(NonNull<sys::xf_model>, Arc<Handle<sys::xf_trainer>>),
}

// SAFETY: the pointers are to parts of what the owner holds. The config and the tokenizer of a model never change; all
// calls on the model itself are made under its `Usage`: many that read, or one that writes.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    pub(crate) fn context(&self) -> &Arc<SharedContext> {
        match &self.owner {
            Owner::Own(handle) => handle.context(),
            Owner::Trainer(_, handle) => handle.context(),
        }
    }

    fn pointer(&self) -> *mut sys::xf_model {
        match &self.owner {
            Owner::Own(handle) => handle.as_ptr(),
            Owner::Trainer(pointer, _) => pointer.as_ptr(),
        }
    }
}

impl Model {
    fn own(handle: Handle<sys::xf_model>) -> Result<Self> {
        Model::describe(Owner::Own(handle))
    }

    /// The model of a trainer that xf_trainer_resume made, no call on which runs.
    pub(crate) fn of_trainer(trainer: Arc<Handle<sys::xf_trainer>>) -> Result<Self> {
        // SAFETY: the trainer is alive, and the model lives as long as it.
        let pointer = NonNull::new(unsafe { sys::xf_trainer_model(trainer.as_ptr()) });
        let pointer = pointer.ok_or_else(|| Error::new(Status::Internal, "a trainer has no model"))?;
        Model::describe(Owner::Trainer(pointer, trainer))
    }

    /// Reads what never changes, while nobody else knows of the model.
    fn describe(owner: Owner) -> Result<Self> {
        let (config, tokenizer) = (NonNull::dangling(), None);
        let mut shared = Shared { owner, usage: Usage::default(), config, tokenizer, params: Vec::new() };
        let model = shared.pointer();
        // SAFETY: the model is alive and is read; what it gives lives as long.
        let (config, tokenizer, count) =
            unsafe { (sys::xf_model_config(model), sys::xf_model_tokenizer(model), sys::xf_model_tensor_count(model)) };
        let none = || Error::new(Status::Internal, "a model has no config");
        shared.config = NonNull::new(config as *mut sys::xf_config).ok_or_else(none)?;
        shared.tokenizer = NonNull::new(tokenizer as *mut sys::xf_tokenizer);
        for index in 0..count {
            let mut info = sys::XF_TENSOR_INFO_INIT;
            // SAFETY: the model is alive and is read, `info` has its size; the name is copied.
            let name = unsafe {
                call(|error| sys::xf_model_get_tensor(model, index, &mut info, error))?;
                lossy(info.name)
            };
            shared.params.push(ParamInfo { name, rows: info.rows as usize, columns: info.columns as usize });
        }
        Ok(Model { shared: Arc::new(shared) })
    }

    /// Makes fresh parameters from the options of the group "model."; without a tokenizer "model.vocab_size" must be
    /// set.
    ///
    /// # Errors
    ///
    /// [`Status::InvalidArgument`] (also a "model.vocab_size" that is not the tokenizer's size), [`Status::NoMemory`],
    /// [`Status::Limit`], [`Status::Backend`].
    pub fn new<'a, 'b>(
        context: &Context,
        config: impl Into<Option<&'a Config>>,
        tokenizer: impl Into<Option<&'b Tokenizer>>,
    ) -> Result<Self> {
        let (c, config) = (context.shared().enter()?, config::pointer(config.into()));
        let tokenizer = tokenizer.into().map_or(Ok(null()), Tokenizer::enter)?;
        // SAFETY: context, config and tokenizer are alive and are read; the last two may be NULL.
        create(Some(context.shared()), |out, error| unsafe { sys::xf_model_create(c, config, tokenizer, out, error) })
            .and_then(Model::own)
    }

    /// Loads what [`save`](Model::save) or [`Trainer::save`](crate::Trainer::save) wrote. The file is checked before it
    /// is used.
    ///
    /// # Errors
    ///
    /// [`Status::NotFound`], [`Status::Io`], [`Status::Corrupt`], [`Status::Limit`], [`Status::Version`],
    /// [`Status::NoMemory`], [`Status::Backend`].
    pub fn load(context: &Context, path: impl AsRef<Path>) -> Result<Self> {
        let (path, c) = (c_path(path.as_ref())?, context.shared().enter()?);
        // SAFETY: the context is alive and is read, the path is a C string.
        create(Some(context.shared()), |out, error| unsafe { sys::xf_model_load(c, path.as_ptr(), out, error) })
            .and_then(Model::own)
    }

    /// Loads several files of one model and averages their parameters.
    ///
    /// # Errors
    ///
    /// As [`load`](Model::load); [`Status::InvalidArgument`] when configurations differ or there is no file.
    pub fn average<P: AsRef<Path>>(context: &Context, paths: impl IntoIterator<Item = P>) -> Result<Self> {
        let c = context.shared().enter()?;
        let paths: Result<Vec<_>> = paths.into_iter().map(|path| c_path(path.as_ref())).collect();
        let paths = CStrings::new(paths?);
        let (data, count) = (paths.pointers.as_ptr(), paths.pointers.len());
        // SAFETY: the context is alive and is read; there are `count` C strings.
        create(Some(context.shared()), |out, error| unsafe { sys::xf_model_average(c, data, count, out, error) })
            .and_then(Model::own)
    }

    /// For a call that reads the model: its pointer, and the note that keeps writers away.
    pub(crate) fn reading(&self) -> Result<(*const sys::xf_model, Reading<'_>)> {
        self.shared.context().enter()?;
        Ok((self.shared.pointer(), self.shared.usage.read()?))
    }

    /// For a call that needs the model for itself.
    pub(crate) fn writing(&self) -> Result<(*mut sys::xf_model, Writing<'_>)> {
        self.shared.context().enter()?;
        Ok((self.shared.pointer(), self.shared.usage.write()?))
    }

    pub(crate) fn context(&self) -> &Arc<SharedContext> {
        self.shared.context()
    }

    /// Saves it, replacing an old file at once or not at all; the old one stays as `<path>.prev`.
    ///
    /// # Errors
    ///
    /// [`Status::Io`], [`Status::NotFound`], [`Status::NoMemory`], [`Status::Backend`]; [`Status::State`] while another
    /// thread changes the model.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let (path, (model, _reading)) = (c_path(path.as_ref())?, self.reading()?);
        // SAFETY: the model is alive and is read, the path is a C string.
        call(|error| unsafe { sys::xf_model_save(model, path.as_ptr(), error) }).map(drop)
    }

    /// Writes it as the options of the group "file." say: "file.precision" fp16 or bf16 halves the file. Numbers are
    /// rounded, [`load`](Model::load) widens them.
    ///
    /// # Errors
    ///
    /// As [`save`](Model::save); [`Status::OutOfRange`] of a number that would round to infinity.
    pub fn export<'a>(&self, path: impl AsRef<Path>, config: impl Into<Option<&'a Config>>) -> Result<()> {
        let (path, config, (model, _reading)) =
            (c_path(path.as_ref())?, config::pointer(config.into()), self.reading()?);
        // SAFETY: model and config are alive and are read, the path is a C string.
        call(|error| unsafe { sys::xf_model_export(model, config, path.as_ptr(), error) }).map(drop)
    }

    /// A copy of the configuration the model was made with, "model.vocab_size" filled in.
    ///
    /// # Errors
    ///
    /// [`Status::NoMemory`].
    pub fn config(&self) -> Result<Config> {
        // SAFETY: the config lives as long as the model and never changes.
        unsafe { Config::copy_of(self.shared.config.as_ptr()) }
    }

    /// The model's tokenizer, where it has one.
    pub fn tokenizer(&self) -> Option<Tokenizer> {
        // SAFETY: the pointer is this model's.
        self.shared.tokenizer.map(|pointer| unsafe { Tokenizer::of_model(pointer, Arc::clone(&self.shared)) })
    }

    /// The parameter tensors in the order of the file.
    pub fn params(&self) -> &[ParamInfo] {
        &self.shared.params
    }

    /// The index of a parameter tensor of that name.
    pub fn param_index(&self, name: &str) -> Option<usize> {
        self.params().iter().position(|param| param.name == name)
    }

    /// A copy of a parameter tensor, row-major.
    ///
    /// # Errors
    ///
    /// [`Status::OutOfRange`] (no such index), [`Status::Backend`]; [`Status::State`] while another thread changes the
    /// model.
    pub fn read(&self, index: usize) -> Result<Vec<f32>> {
        let mut values = self.room(index);
        self.read_into(index, &mut values)?;
        Ok(values)
    }

    /// Copies a parameter tensor into a slice of just its size.
    ///
    /// # Errors
    ///
    /// As [`read`](Model::read); [`Status::InvalidArgument`] of another size.
    pub fn read_into(&self, index: usize, values: &mut [f32]) -> Result<()> {
        let (model, _reading) = self.reading()?;
        // SAFETY: the model is alive and is read; the values have that count.
        call(|error| unsafe { sys::xf_model_read_tensor(model, index, values.as_mut_ptr(), values.len(), error) })
            .map(drop)
    }

    /// Room for a parameter tensor; none for one that is not there, of which the library tells.
    pub(crate) fn room(&self, index: usize) -> Vec<f32> {
        vec![0.0; self.params().get(index).map_or(0, ParamInfo::size)]
    }

    /// Replaces a parameter tensor: for porting models and for tests.
    ///
    /// # Errors
    ///
    /// As [`read_into`](Model::read_into); [`Status::InvalidArgument`] also of a number that is not finite;
    /// [`Status::State`] while any other call of another thread uses the model.
    pub fn write(&self, index: usize, values: &[f32]) -> Result<()> {
        let (model, _writing) = self.writing()?;
        // SAFETY: the model is alive and in no other call; the values have that count.
        call(|error| unsafe { sys::xf_model_write_tensor(model, index, values.as_ptr(), values.len(), error) }).map(drop)
    }
}
