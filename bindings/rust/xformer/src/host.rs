//! Services of a program for a context: closures that the library calls during its calls.
//!
//! A panic must not cross C, and a callback must not use objects of the context that calls it. Closures are called on the
//! thread that made the call, so both are handled with thread-local state. A panic is kept and continues after the call
//! has returned. The hosts whose callbacks are running are recorded: calls on objects of their contexts are refused,
//! and objects that are dropped in a callback are freed after the call has returned.
//
// SPDX-License-Identifier: Apache-2.0

use std::any::Any;
use std::cell::RefCell;
use std::os::raw::c_void;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::ptr::null;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::Arc;

use xformer_sys as sys;

use crate::context::Shared;
use crate::experimental::Comm;
use crate::mirror::lossy;
use crate::{call, Error, Result, Status};

/// Severity of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(i32)]
pub enum LogLevel {
    /// A failure; the call that failed also returns it.
    Error = sys::XF_LOG_ERROR,
    /// Something unexpected that is not an error: a skipped line of a corpus, a changed option of a resumed run.
    Warning = sys::XF_LOG_WARNING,
    /// Decisions and completed operations: the selected device, each load, save, and resume.
    Info = sys::XF_LOG_INFO,
    /// Diagnostic detail.
    Debug = sys::XF_LOG_DEBUG,
}

type Log = dyn Fn(LogLevel, &str, &str) + Send + Sync;
type Parallel = dyn Fn(usize, &(dyn Fn() + Sync)) + Send + Sync;

/// Services of a program for a context; see [`Context::with_host`](crate::Context::with_host).
///
/// The closures are called on the threads that make calls, possibly several at a time, until the context and all its
/// objects have been dropped. In a closure, calls on objects of the same context return [`Status::State`]; the closure
/// may cancel. A panic in a closure continues after the call has returned, and the result of the call is dropped. A
/// closure should not own objects of its context: neither would ever be dropped.
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use xformer::{Context, Corpus, Host, LogLevel};
///
/// let lines = Arc::new(Mutex::new(Vec::new()));
/// let log = Arc::clone(&lines);
/// let host = Host::new().log(LogLevel::Warning, move |level, component, message| {
///     log.lock().unwrap().push(format!("{:?} {}: {}", level, component, message));
/// });
/// let context = Context::with_host(None, host)?;
/// Corpus::from_pairs(&context, [("one", "eins"), ("two", "")], None)?;
/// assert!(lines.lock().unwrap().iter().any(|line| line.starts_with("Warning data: ")));
/// # Ok::<(), xformer::Error>(())
/// ```
#[derive(Default)]
pub struct Host {
    log: Option<(LogLevel, Box<Log>)>,
    parallel: Option<Box<Parallel>>,
    comm: Option<Comm>,
}

debug! { Host, }

impl Host {
    /// No services: nothing is logged, and the context creates its own worker threads.
    pub fn new() -> Self {
        Host::default()
    }

    /// Receives log lines of at least this severity: level, component, and message.
    pub fn log(mut self, level: LogLevel, closure: impl Fn(LogLevel, &str, &str) + Send + Sync + 'static) -> Self {
        self.log = Some((level, Box::new(closure)));
        self
    }

    /// Runs the parallel work of the context, which then creates no threads. The closure calls the task as many times as
    /// its first argument says, on any threads, and returns after all calls have returned. Calls that it omits are made
    /// after it returns. Results do not depend on how the tasks are run.
    ///
    /// ```
    /// # use xformer::Host;
    /// Host::new().parallel(|count, task| {
    ///     std::thread::scope(|threads| (0..count).for_each(|_| drop(threads.spawn(task))));
    /// });
    /// ```
    pub fn parallel(mut self, closure: impl Fn(usize, &(dyn Fn() + Sync)) + Send + Sync + 'static) -> Self {
        self.parallel = Some(Box::new(closure));
        self
    }

    /// Makes the context a rank of a training job. Experimental.
    pub fn comm(mut self, comm: Comm) -> Self {
        self.comm = Some(comm);
        self
    }

    /// Creates a context with the C struct of this host.
    pub(crate) fn pass<T>(self: &Arc<Self>, create: impl FnOnce(*const sys::xf_host) -> Result<T>) -> Result<T> {
        let user = Arc::as_ptr(self) as *mut c_void;
        let raw = sys::xf_host {
            log_user: user,
            log: self.log.is_some().then_some(line),
            log_level: self.log.as_ref().map_or(0, |(level, _)| *level as i32),
            parallel_user: user,
            parallel: self.parallel.is_some().then_some(parallel),
            comm: self.comm.as_ref().map_or(null(), Comm::raw),
            ..sys::XF_HOST_INIT
        };
        match &self.comm {
            Some(comm) => comm.give(|| create(&raw)),
            None => create(&raw),
        }
    }

    /// Refuses what a callback of this host must not do.
    pub(crate) fn check(&self) -> Result<()> {
        if !self.is_called() {
            return Ok(());
        }
        Err(Error::new(Status::State, "a callback used an object of the context that called it; it may only cancel"))
    }

    fn is_called(&self) -> bool {
        let is_this = |host: &*const Host| host.is_null() || std::ptr::eq(*host, self);
        NOTES.try_with(|notes| notes.borrow().called.iter().any(is_this)).unwrap_or(false)
    }
}

/// State of this thread. It is borrowed only briefly, never while other code runs.
#[derive(Default)]
struct Notes {
    /// The hosts whose callbacks are running; NULL: a callback that must not use any context.
    called: Vec<*const Host>,
    panic: Option<Box<dyn Any + Send>>,
    deferred: Vec<Box<dyn FnOnce()>>,
}

thread_local! {
    static NOTES: RefCell<Notes> = RefCell::default();
}

/// Runs a closure for the library and keeps its panic. Returns `None` after a panic, without running the closure if a
/// panic is already kept, and at the end of a thread, when its state is gone.
///
/// With a host, the closure must not use objects of that host's context; with NULL, of any context.
fn keep_panic<T>(host: Option<*const Host>, closure: impl FnOnce() -> T) -> Option<T> {
    let entered = NOTES.try_with(|notes| {
        let mut notes = notes.borrow_mut();
        let free = notes.panic.is_none();
        notes.called.extend(host.filter(|_| free));
        free
    });
    if !matches!(entered, Ok(true)) {
        return None;
    }
    let suspended = call::suspend();
    let outcome = catch_unwind(AssertUnwindSafe(closure));
    drop(suspended);
    let _ = NOTES.try_with(|notes| host.and_then(|_| notes.borrow_mut().called.pop()));
    outcome.map_err(|panic| NOTES.try_with(|notes| notes.borrow_mut().panic = Some(panic))).ok()
}

/// Runs a callback of one call, which must not use any context. Returns `None` after a panic.
pub(crate) fn run_callback<T>(closure: impl FnOnce() -> T) -> Option<T> {
    keep_panic(Some(null()), closure)
}

/// Runs a constraint, which may use other objects. Returns `None` after a panic.
pub(crate) fn run_constraint<T>(closure: impl FnOnce() -> T) -> Option<T> {
    keep_panic(None, closure)
}

fn take_panic() -> Option<Box<dyn Any + Send>> {
    NOTES.try_with(|notes| notes.borrow_mut().panic.take()).ok().flatten()
}

fn free_deferred() {
    let next = |notes: &mut Notes| if notes.called.is_empty() { notes.deferred.pop() } else { None };
    while let Ok(Some(free)) = NOTES.try_with(|notes| next(&mut notes.borrow_mut())) {
        free();
    }
}

/// After each call of the library: frees objects that a callback dropped, and continues the panic of a callback.
pub(crate) fn after_call() {
    free_deferred();
    if let Some(panic) = take_panic() {
        if !std::thread::panicking() {
            resume_unwind(panic);
        }
    }
}

/// Frees an object of a context: now, or, in a callback of the context, after the call has returned.
pub(crate) fn free(context: Option<&Arc<Shared>>, free: impl FnOnce() + 'static) {
    if let Some(context) = context.filter(|context| context.host.is_called()) {
        let context = Arc::clone(context); // the library may log while it frees
        let later = move || {
            free();
            drop(context);
        };
        let _ = NOTES.try_with(|notes| notes.borrow_mut().deferred.push(Box::new(later)));
        return;
    }
    free();
    free_deferred();
    drop(take_panic()); // a drop cannot continue the panic; the panic hook has already reported it
}

/// Calls a closure of the host that was passed to the library.
///
/// # Safety
///
/// `user` is from [`Host::pass`], and that host lives during the call.
unsafe fn within<T>(user: *mut c_void, closure: impl FnOnce(&Host) -> T) -> Option<T> {
    let host = user as *const Host;
    // SAFETY: as the caller promises.
    keep_panic(Some(host), || closure(unsafe { &*host }))
}

unsafe extern "C" fn line(user: *mut c_void, line: *const sys::xf_log_line) {
    // SAFETY: the host lives as long as the context, and the line and its strings are valid during this call.
    unsafe {
        let line = &*line;
        let level = match line.level {
            sys::XF_LOG_ERROR => LogLevel::Error,
            sys::XF_LOG_WARNING => LogLevel::Warning,
            sys::XF_LOG_INFO => LogLevel::Info,
            _ => LogLevel::Debug,
        };
        let (component, message) = (lossy(line.component), lossy(line.message));
        within(user, |host| host.log.as_ref().map(|(_, closure)| closure(level, &component, &message)));
    }
}

unsafe extern "C" fn parallel(user: *mut c_void, job: *const sys::xf_job) {
    // SAFETY: the job is valid during this call.
    let job = unsafe { &*job };
    let (next, count, arg, run) = (AtomicUsize::new(0), job.count.max(0) as usize, AtomicPtr::new(job.arg), job.run);
    let run_next = || {
        let index = next.fetch_add(1, Ordering::Relaxed);
        if let Some(run) = run.filter(|_| index < count) {
            // SAFETY: each index is run once, before the call returns; any thread may run it.
            unsafe { run(arg.load(Ordering::Relaxed), index as i32) }
        }
    };
    // SAFETY: the host lives as long as the context.
    unsafe { within(user, |host| host.parallel.as_ref().map(|closure| closure(count, &run_next))) };
    while next.load(Ordering::Relaxed) < count {
        run_next(); // the closure omitted it, or panicked
    }
}
