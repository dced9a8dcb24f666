//! The root of all objects: device, threads, and memory.
//
// SPDX-License-Identifier: Apache-2.0

use std::sync::Arc;

use xformer_sys as sys;

use crate::handle::Handle;
#[cfg(doc)]
use crate::Status;
use crate::{config, version, Config, Host, Result};

mirror! {
    /// Memory account of a context, in bytes: tensors, workspaces, and corpora.
    pub struct MemoryStats = xf_memory_stats XF_MEMORY_STATS_INIT {
        /// Bytes in use.
        current: i64,
        /// Largest value of `current` so far.
        peak: i64,
        /// "context.memory_budget"; 0: no limit.
        budget: i64,
        /// Number of allocations so far. It does not change in the steady state of training and decoding.
        allocations: i64,
    }
}

given! {
    /// Type of the numbers in a tensor.
    pub enum NumberType {
        /// 32-bit floating point.
        Fp32 = XF_TYPE_FP32,
        /// 16-bit floating point, IEEE 754 binary16.
        Fp16 = XF_TYPE_FP16,
        /// 16-bit floating point with the exponent range of fp32.
        Bf16 = XF_TYPE_BF16,
        /// 8-bit integers with one fp32 scale per row.
        Int8 = XF_TYPE_INT8,
    }
}

impl NumberType {
    /// The word for it in options such as "model.weights".
    pub(crate) fn word(self) -> String {
        format!("{:?}", self).to_lowercase()
    }
}

mirror! {
    /// Properties of a context.
    pub struct ContextInfo = xf_context_info XF_CONTEXT_INFO_INIT {
        /// One line for people, for example "openblas on cpu:0, AMD EPYC, avx512, 2 threads, fp32".
        description: String,
        /// Backend: "ref", "openblas", or "cuda".
        backend: String,
        /// Device in the form of "context.device", for example "cpu:openblas" or "cuda:0".
        device: String,
        /// What the bits of results depend on besides backend and precision, for example "fma" or "sm_90".
        arithmetic: String,
        /// Type of activations and matrix products: fp32 or bf16.
        precision: NumberType,
        /// Number of CPU threads that compute.
        threads: i32,
        /// Rank of this process in its training job; 0 for a single process.
        rank: i32,
        /// Number of ranks of the training job; 1 for a single process.
        rank_count: i32,
    }
}

given! {
    /// State of a backend in a context.
    pub enum BackendState {
        /// No file of that name was found.
        Absent = XF_BACKEND_ABSENT,
        /// The file exists; it was not opened because the device of the context does not need it.
        Found = XF_BACKEND_FOUND,
        /// The file was opened but cannot be used; see [`BackendInfo::reason`].
        Unusable = XF_BACKEND_UNUSABLE,
        /// The file was opened and could be used.
        Usable = XF_BACKEND_USABLE,
        /// The context computes with it.
        Active = XF_BACKEND_ACTIVE,
    }
}

mirror! {
    /// Description of one backend.
    pub struct BackendInfo = xf_backend_info XF_BACKEND_INFO_INIT {
        /// "ref", "openblas", or "cuda".
        name: String,
        /// Version of the plugin and of the libraries that it uses; "" if it was not opened.
        version: String,
        /// Its file; "" for the built-in backend and for an absent one.
        path: String,
        /// Kind of its devices: "cpu" or "cuda".
        kind: String,
        /// Its state in the context.
        state: BackendState,
        /// Number of devices that it can open; 0 if it was not opened or cannot be used.
        device_count: i32,
        /// Why it cannot be used, one sentence; otherwise "".
        reason: String,
    }
}

/// The context, shared by all objects that were created from it. The host, which the library may call, is dropped last.
pub(crate) struct Shared {
    handle: Handle<sys::xf_context>,
    pub(crate) host: Arc<Host>,
}

impl Shared {
    /// The pointer for a call; an error in a callback of this context.
    pub(crate) fn enter(&self) -> Result<*mut sys::xf_context> {
        self.host.check()?;
        Ok(self.handle.get())
    }
}

/// The root of all objects: an open device with its worker threads and memory account. Clones share them.
///
/// ```
/// use xformer::{Config, Context};
///
/// let mut config = Config::new()?;
/// config.set("context.device", "cpu")?.set("context.threads", 2)?;
/// let context = Context::new(&config)?;
/// assert_eq!(context.info()?.threads, 2);
/// assert!(context.backends()?.iter().any(|backend| backend.name == "ref"));
/// # Ok::<(), xformer::Error>(())
/// ```
#[derive(Clone)]
pub struct Context {
    shared: Arc<Shared>,
}

debug! { Context, }

impl Context {
    /// Opens a device as the options of the group "context." say. [`Status::NotFound`]: no such device.
    /// [`Status::Unsupported`]: instruction set or precision. [`Status::Version`]: a plugin or a library of another
    /// version.
    pub fn new<'a>(config: impl Into<Option<&'a Config>>) -> Result<Self> {
        Context::with_host(config, Host::new())
    }

    /// As [`new`](Context::new), with services of the program: a log, an executor.
    pub fn with_host<'a>(config: impl Into<Option<&'a Config>>, host: Host) -> Result<Self> {
        version::check()?;
        let host = Arc::new(host);
        // The host lives as long as the context.
        let handle = host.pass(|host| make!(None, xf_context_create(config::pointer(config), host)))?;
        Ok(Context { shared: Arc::new(Shared { handle, host }) })
    }

    pub(crate) fn enter(&self) -> Result<*mut sys::xf_context> {
        self.shared.enter()
    }

    pub(crate) fn shared(&self) -> Option<&Arc<Shared>> {
        Some(&self.shared)
    }

    /// Cancels all calls that are running on the context and its objects, for a shutdown. They return
    /// [`Status::Cancelled`]. Later calls are not affected. May be called from any thread, from callbacks, and in a signal
    /// handler. To cancel single calls, use a [`CancelToken`](crate::CancelToken).
    pub fn cancel(&self) {
        // SAFETY: the context is valid, and the function may be called at any time.
        unsafe { sys::xf_context_cancel(self.shared.handle.get()) }
    }

    /// Reports the properties of the context.
    pub fn info(&self) -> Result<ContextInfo> {
        read!(ContextInfo, xf_context_get_info(self.enter()?))
    }

    /// Reports the memory account, also while calls are running.
    pub fn memory(&self) -> Result<MemoryStats> {
        read!(MemoryStats, xf_context_get_memory(self.enter()?))
    }

    /// Describes all backends that the library supports, available or not.
    pub fn backends(&self) -> Result<Vec<BackendInfo>> {
        let context = self.enter()?;
        // SAFETY: the context is valid.
        let count = unsafe { sys::xf_context_backend_count(context) };
        (0..count).map(|index| read!(BackendInfo, xf_context_get_backend(context, index))).collect()
    }
}
