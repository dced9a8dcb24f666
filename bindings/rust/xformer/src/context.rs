//! The root of all objects: device, threads, memory, log, cancel.
//
// SPDX-License-Identifier: Apache-2.0

use std::fmt;
use std::os::raw::c_void;
use std::path::Path;
use std::ptr::{null, null_mut, NonNull};
use std::sync::Arc;

use xformer_sys as sys;

use crate::callback::{self, Sink};
use crate::handle::call;
use crate::strings::{c_path, lossy};
use crate::{config, version, Config, Error, Result, Status};

/// Weight of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogLevel {
    /// Something failed; the call that failed also returns it.
    Error,
    /// Something is not as the caller may think: a skipped line, a backend that could not be used.
    Warning,
    /// What was chosen and done.
    Info,
    /// Detail for those who look for a fault.
    Debug,
}

impl LogLevel {
    pub(crate) fn from_raw(level: sys::xf_log_level) -> Self {
        match level {
            sys::XF_LOG_ERROR => LogLevel::Error,
            sys::XF_LOG_WARNING => LogLevel::Warning,
            sys::XF_LOG_INFO => LogLevel::Info,
            _ => LogLevel::Debug,
        }
    }

    fn raw(self) -> sys::xf_log_level {
        match self {
            LogLevel::Error => sys::XF_LOG_ERROR,
            LogLevel::Warning => sys::XF_LOG_WARNING,
            LogLevel::Info => sys::XF_LOG_INFO,
            LogLevel::Debug => sys::XF_LOG_DEBUG,
        }
    }
}

/// Memory of a context's tensors, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryStats {
    /// Bytes held now.
    pub current: i64,
    /// Largest value of `current` so far.
    pub peak: i64,
    /// The budget, 0 when there is none.
    pub budget: i64,
    /// Allocations made so far: stands still in the steady state of training and decoding.
    pub allocations: i64,
}

/// A backend, present or not.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackendInfo {
    /// "ref", "openblas", "cuda".
    pub name: String,
    /// Version of the plugin and of what it stands on; "" when it could not be loaded.
    pub version: String,
    /// File it was loaded from; "" for the built-in one.
    pub path: String,
    /// Kind of its devices: "cpu" or "cuda".
    pub kind: String,
    /// Number of devices it can open; 0 when it is not available.
    pub device_count: i32,
    /// Whether this context computes with it.
    pub active: bool,
    /// Why it is not available, one sentence; "" when it is.
    pub reason: String,
}

/// The context itself, which all objects made from it share. What the library may call, the sink, goes last.
pub(crate) struct Shared {
    pointer: NonNull<sys::xf_context>,
    pub(crate) sink: Box<Sink>,
}

// SAFETY: contexts are tied to no thread. Through a shared reference only calls marked "shared-read" and "any" are made
// with the pointer; the others are in methods of `Context` that take `&mut self`, of which there is one per context.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    /// The pointer, for a call that only reads the context: refused in a log closure of this context.
    pub(crate) fn enter(&self) -> Result<*mut sys::xf_context> {
        self.sink.check()?;
        Ok(self.pointer.as_ptr())
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: it was made by xf_context_create and is freed once; the objects made from it are freed already, as
        // each of them holds this one.
        callback::free_now(|| unsafe { sys::xf_context_free(self.pointer.as_ptr()) });
    }
}

/// The root of all objects: an opened device with its threads, its memory account and its log.
///
/// Objects made from a context keep what they need of it, so all may be dropped in any order.
///
/// ```
/// use xformer::{Config, Context};
///
/// let mut config = Config::new()?;
/// config.set("context.device", "cpu")?.set("context.threads", 2)?;
/// let context = Context::new(&config)?;
/// assert!(context.device()?.contains("2 threads"));
/// # Ok::<(), xformer::Error>(())
/// ```
///
/// What changes a context needs it alone:
///
/// ```compile_fail,E0596
/// # use xformer::{Context, LogLevel};
/// fn shared(context: &Context) {
///     context.set_log(LogLevel::Info, |_, _, _| ()).unwrap();
/// }
/// ```
pub struct Context {
    shared: Arc<Shared>,
}

impl Context {
    /// Opens a device: loads the backends found beside the library and reads the options of the group "context.".
    ///
    /// # Errors
    ///
    /// [`Status::NotFound`] (no such device), [`Status::Unsupported`], [`Status::Backend`], [`Status::NoMemory`];
    /// [`Status::Version`] of a library that does not go with this crate.
    pub fn new<'a>(config: impl Into<Option<&'a Config>>) -> Result<Self> {
        version::check()?;
        let (config, mut pointer) = (config::pointer(config.into()), null_mut());
        // SAFETY: the config is NULL or alive and is read; the library's own allocator is taken; `out` is valid.
        call(|error| unsafe { sys::xf_context_create(config, null(), &mut pointer, error) })?;
        let pointer = NonNull::new(pointer).ok_or_else(|| Error::new(Status::Internal, "the context is NULL"))?;
        Ok(Context { shared: Arc::new(Shared { pointer, sink: Box::default() }) })
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Sends log lines up to a level to a closure: level, component, message. Without one nothing is printed anywhere.
    ///
    /// It is called within calls, on their threads, perhaps several at a time, until it is replaced and all objects of
    /// this context are gone. Objects of this context can't be used in it, but for [`CancelHandle`]: their calls are
    /// errors of [`Status::State`]. A panic in it goes on when the call has returned, what the call made being dropped.
    /// It should not hold objects of this context, which would keep it and itself alive for ever.
    ///
    /// ```
    /// use std::sync::{Arc, Mutex};
    /// use xformer::{Context, Corpus, LogLevel};
    ///
    /// let lines = Arc::new(Mutex::new(Vec::new()));
    /// let log = Arc::clone(&lines);
    /// let mut context = Context::new(None)?;
    /// context.set_log(LogLevel::Warning, move |level, component, message| {
    ///     log.lock().unwrap().push(format!("{:?} {}: {}", level, component, message));
    /// })?;
    /// Corpus::from_text(&context, "numerals", "one\teins\nno tab\n", None)?;
    /// assert!(lines.lock().unwrap()[0].starts_with("Warning data: numerals"));
    /// # Ok::<(), xformer::Error>(())
    /// ```
    ///
    /// As it may be called from any thread, it is `Send` and `Sync`:
    ///
    /// ```compile_fail,E0277
    /// # use xformer::{Context, LogLevel};
    /// let count = std::rc::Rc::new(std::cell::Cell::new(0));
    /// let mut context = Context::new(None).unwrap();
    /// context.set_log(LogLevel::Info, move |_, _, _| count.set(count.get() + 1)).unwrap();
    /// ```
    ///
    /// # Errors
    ///
    /// [`Status::Forked`]; [`Status::State`] in a log closure of this context. The old closure stays then.
    pub fn set_log<F>(&mut self, level: LogLevel, closure: F) -> Result<()>
    where
        F: Fn(LogLevel, &str, &str) + Send + Sync + 'static,
    {
        let user: *const Sink = &*self.shared.sink;
        self.raw_log(Some(callback::line), user as *mut c_void, level)?;
        self.shared.sink.set(Some(Arc::new(closure)));
        Ok(())
    }

    /// Ends the log, as it was at the beginning.
    ///
    /// # Errors
    ///
    /// As [`set_log`](Context::set_log).
    pub fn clear_log(&mut self) -> Result<()> {
        self.raw_log(None, null_mut(), LogLevel::Error)?;
        self.shared.sink.set(None);
        Ok(())
    }

    fn raw_log(&mut self, function: sys::xf_log_fn, user: *mut c_void, level: LogLevel) -> Result<()> {
        let context = self.shared.enter()?;
        // SAFETY: `&mut self` is the only way to such calls. The sink lives in `Shared` until the library's context is
        // gone, whoever holds it last; it takes closures away from under the library's feet by itself.
        call(|error| unsafe { sys::xf_context_set_log(context, function, user, level.raw(), error) }).map(drop)
    }

    /// Something to cancel with, for other threads.
    pub fn cancel_handle(&self) -> CancelHandle {
        CancelHandle { shared: Arc::clone(&self.shared) }
    }

    /// What this context computes with, one line for people.
    ///
    /// # Errors
    ///
    /// [`Status::State`] in a log closure of this context.
    pub fn device(&self) -> Result<String> {
        let context = self.shared.enter()?;
        // SAFETY: the context is alive and is read; its line lives as long.
        Ok(unsafe { lossy(sys::xf_context_device(context)) })
    }

    /// The memory account; may be read while calls run.
    ///
    /// # Errors
    ///
    /// [`Status::Forked`]; [`Status::State`] in a log closure of this context.
    pub fn memory(&self) -> Result<MemoryStats> {
        let (context, mut stats) = (self.shared.enter()?, sys::XF_MEMORY_STATS_INIT);
        // SAFETY: the context is alive, the call is for any thread, `stats` has its size.
        call(|error| unsafe { sys::xf_context_get_memory(context, &mut stats, error) })?;
        let sys::xf_memory_stats { current, peak, budget, allocations, .. } = stats;
        Ok(MemoryStats { current, peak, budget, allocations })
    }

    /// The backends known here, available or not.
    ///
    /// ```
    /// let context = xformer::Context::new(None)?;
    /// assert!(context.backends()?.iter().any(|backend| backend.name == "ref"));
    /// # Ok::<(), xformer::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Status::Forked`]; [`Status::State`] in a log closure of this context.
    pub fn backends(&self) -> Result<Vec<BackendInfo>> {
        let context = self.shared.enter()?;
        // SAFETY: the context is alive and is read.
        let count = unsafe { sys::xf_backend_count(context) };
        (0..count).map(|index| self.backend(index)).collect()
    }

    fn backend(&self, index: usize) -> Result<BackendInfo> {
        let (context, mut info) = (self.shared.enter()?, sys::XF_BACKEND_INFO_INIT);
        // SAFETY: the context is alive and is read, `info` has its size; the strings, which are the context's, are
        // copied here, where nothing can change it.
        unsafe {
            call(|error| sys::xf_backend_get(context, index, &mut info, error))?;
            Ok(BackendInfo {
                name: lossy(info.name),
                version: lossy(info.version),
                path: lossy(info.path),
                kind: lossy(info.kind),
                device_count: info.device_count,
                active: info.active != 0,
                reason: lossy(info.reason),
            })
        }
    }

    /// Loads a plugin from a file, to look it over: it is listed in [`backends`](Context::backends) afterwards.
    ///
    /// A plugin is code that runs in this process: load only what you trust as you do this program.
    ///
    /// # Errors
    ///
    /// [`Status::NotFound`], [`Status::Backend`] (not a plugin), [`Status::Version`].
    pub fn load_backend(&mut self, path: impl AsRef<Path>) -> Result<()> {
        let (path, context) = (c_path(path.as_ref())?, self.shared.enter()?);
        // SAFETY: `&mut self` is the only way to such calls; the path is a C string.
        call(|error| unsafe { sys::xf_backend_load(context, path.as_ptr(), error) }).map(drop)
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Context").field(&self.shared.pointer).finish()
    }
}

/// Stops the long call that runs on a context, from any thread. It keeps the context alive.
///
/// ```
/// use xformer::{Config, Context, Corpus, Status, Tokenizer};
///
/// let context = Context::new(None)?;
/// let corpus = Corpus::from_pairs(&context, [("one", "eins"), ("two", "zwei")], None)?;
/// let cancel = context.cancel_handle();
/// std::thread::spawn(move || cancel.cancel()).join().unwrap();
/// let error = Tokenizer::train(&context, &corpus, None).unwrap_err();
/// assert_eq!(error.status(), Status::Cancelled);
/// # Ok::<(), xformer::Error>(())
/// ```
#[derive(Clone)]
pub struct CancelHandle {
    shared: Arc<Shared>,
}

impl CancelHandle {
    /// Asks the long call that runs on this context to stop, or the next one if none runs. It gives an error of
    /// [`Status::Cancelled`], and all objects stay usable.
    ///
    /// Training, decoding, tokenizer training and corpus reading can be stopped. Of several calls that run at the same
    /// time one is: what is to be stopped apart needs a context of its own. Safe in a signal handler.
    pub fn cancel(&self) {
        // SAFETY: the context is alive; the call is for any thread, at any time.
        unsafe { sys::xf_context_cancel(self.shared.pointer.as_ptr()) }
    }
}

impl fmt::Debug for CancelHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CancelHandle").field(&self.shared.pointer).finish()
    }
}
