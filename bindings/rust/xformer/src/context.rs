//! The root of all objects: device, threads, memory, cancel.
//
// SPDX-License-Identifier: Apache-2.0

use std::sync::Arc;

use xformer_sys as sys;

use crate::handle::Handle;
use crate::mirror::lossy;
#[cfg(doc)]
use crate::Status;
use crate::{config, version, Config, Host, Result};

mirror! {
    /// Memory of a context's tensors and corpora, in bytes.
    pub struct MemoryStats = xf_memory_stats XF_MEMORY_STATS_INIT {
        /// Bytes held now.
        current: i64,
        /// Largest value of `current` so far.
        peak: i64,
        /// The budget, 0 when there is none.
        budget: i64,
        /// Allocations made so far: stands still in the steady state of training and decoding.
        allocations: i64,
    }
}

given! {
    /// What a context knows of a backend.
    pub enum BackendState {
        /// There is no file of that name.
        Absent = XF_BACKEND_ABSENT,
        /// The file is there; the context's device did not need it, so it was not opened.
        Found = XF_BACKEND_FOUND,
        /// It was opened and can't serve; the reason says why.
        Unusable = XF_BACKEND_UNUSABLE,
        /// It was opened and could serve.
        Usable = XF_BACKEND_USABLE,
        /// The context computes with it.
        Active = XF_BACKEND_ACTIVE,
    }
}

mirror! {
    /// A backend, present or not.
    pub struct BackendInfo = xf_backend_info XF_BACKEND_INFO_INIT {
        /// "ref", "openblas", "cuda".
        name: String,
        /// Version of the plugin and of what it stands on; "" when it was not opened.
        version: String,
        /// Its file; "" for the built-in one and for one that is absent.
        path: String,
        /// Kind of its devices: "cpu" or "cuda".
        kind: String,
        /// What the context knows of it.
        state: BackendState,
        /// Number of devices it can open; 0 when it was not opened or can't serve.
        device_count: i32,
        /// Why it can't serve, one sentence; "" when it can, or was not asked.
        reason: String,
    }
}

/// The context itself, which all objects made from it share. What the library may call, the host, goes last.
pub(crate) struct Shared {
    handle: Handle<sys::xf_context>,
    pub(crate) host: Arc<Host>,
}

impl Shared {
    /// The pointer for a call; refused in a closure of this context.
    pub(crate) fn enter(&self) -> Result<*mut sys::xf_context> {
        self.host.check()?;
        Ok(self.handle.get())
    }
}

/// The root of all objects: an opened device with its threads and its memory account.
///
/// ```
/// use xformer::{Config, Context};
///
/// let mut config = Config::new()?;
/// config.set("context.device", "cpu")?.set("context.threads", 2)?;
/// let context = Context::new(&config)?;
/// assert!(context.device()?.contains("2 threads"));
/// assert!(context.backends()?.iter().any(|backend| backend.name == "ref"));
/// # Ok::<(), xformer::Error>(())
/// ```
pub struct Context {
    shared: Arc<Shared>,
}

impl Context {
    /// Opens a device, as the options of the group "context." say. [`Status::NotFound`] when there is no such device,
    /// [`Status::Unsupported`]; [`Status::Version`] of a plugin or a library that does not go with this crate.
    pub fn new<'a>(config: impl Into<Option<&'a Config>>) -> Result<Self> {
        Context::with_host(config, Host::new())
    }

    /// The same with closures of the program: for log lines, for progress, for parallel work.
    pub fn with_host<'a>(config: impl Into<Option<&'a Config>>, host: Host) -> Result<Self> {
        version::check()?;
        let host = Arc::new(host);
        // The host lives as long as the context.
        let handle = make!(None, xf_context_create(config::pointer(config), &host.raw()))?;
        Ok(Context { shared: Arc::new(Shared { handle, host }) })
    }

    pub(crate) fn enter(&self) -> Result<*mut sys::xf_context> {
        self.shared.enter()
    }

    pub(crate) fn shared(&self) -> Option<&Arc<Shared>> {
        Some(&self.shared)
    }

    /// Something to cancel with, for other threads.
    pub fn cancel_handle(&self) -> CancelHandle {
        let shared = Arc::clone(&self.shared);
        // SAFETY: the context is alive; the call is for any thread, at any time.
        CancelHandle::new(move || unsafe { sys::xf_context_cancel(shared.handle.get()) })
    }

    /// What this context computes with, one line for people.
    pub fn device(&self) -> Result<String> {
        let context = self.enter()?;
        // SAFETY: the context is alive; its line lives as long.
        Ok(unsafe { lossy(sys::xf_context_device(context)) })
    }

    /// The memory account; may be read while calls run.
    pub fn memory(&self) -> Result<MemoryStats> {
        read!(MemoryStats, xf_context_get_memory(self.enter()?))
    }

    /// This process's number among the ranks of its training job; 0 for one that is alone.
    pub fn rank(&self) -> Result<usize> {
        let context = self.enter()?;
        // SAFETY: the context is alive.
        Ok(unsafe { sys::xf_context_rank(context) } as usize)
    }

    /// The number of those ranks; 1 for a process that is alone.
    pub fn rank_count(&self) -> Result<usize> {
        let context = self.enter()?;
        // SAFETY: the context is alive.
        Ok(unsafe { sys::xf_context_rank_count(context) } as usize)
    }

    /// Gives a number to all ranks and gets theirs, in their order. Every rank makes this call, in the same place; with
    /// it they decide as one, to stop for instance. [`Status::Peer`] when a rank is gone.
    pub fn all_gather(&self, value: i64) -> Result<Vec<i64>> {
        let mut values = vec![0; self.rank_count()?];
        call!(xf_context_all_gather(self.enter()?, value, values.as_mut_ptr()))?;
        Ok(values)
    }

    /// The backends known here, available or not.
    pub fn backends(&self) -> Result<Vec<BackendInfo>> {
        let context = self.enter()?;
        // SAFETY: the context is alive.
        let count = unsafe { sys::xf_backend_count(context) };
        (0..count).map(|index| read!(BackendInfo, xf_backend_get(context, index))).collect()
    }
}

/// Stops the calls that run on a context, a trainer or a decoder, from any thread. It keeps that object alive.
///
/// A call that is stopped gives an error of [`Status::Cancelled`], and all objects stay usable. What does not run yet
/// is not affected: who waits for a call of another thread to end cancels until it has.
#[derive(Clone)]
pub struct CancelHandle(Arc<dyn Fn() + Send + Sync>);

impl CancelHandle {
    /// Of an object that the closure keeps.
    pub(crate) fn new(cancel: impl Fn() + Send + Sync + 'static) -> Self {
        CancelHandle(Arc::new(cancel))
    }

    /// Stops the calls that run at the moment. Safe in a signal handler.
    pub fn cancel(&self) {
        (self.0)();
    }
}
