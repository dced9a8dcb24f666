//! What a program does for a context: closures, which the library calls in the midst of calls. A panic in one must not
//! cross C, and it must not use objects of the context that calls it.
//!
//! Both are notes of a thread, as closures are called on the thread that made the call. A panic is kept and goes on
//! when the call has returned. Which hosts are being called just now is known too: calls on objects of their contexts
//! are refused, and what is dropped there is freed when the call has returned.
//
// SPDX-License-Identifier: Apache-2.0

use std::any::Any;
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::os::raw::{c_char, c_void};
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::Arc;

use xformer_sys as sys;

use crate::context::Shared;
use crate::mirror::lossy;
use crate::{Error, Result, Status};

/// Severity of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u32)]
pub enum LogLevel {
    /// Something failed; the call that failed also returns it.
    Error = sys::XF_LOG_ERROR,
    /// Something is not as the caller may think: a skipped line, a backend that could not be used.
    Warning = sys::XF_LOG_WARNING,
    /// What was chosen and done: the device, each load, save and resume.
    Info = sys::XF_LOG_INFO,
    /// Detail for those who look for a fault.
    Debug = sys::XF_LOG_DEBUG,
}

type Log = dyn Fn(LogLevel, &str, &str) + Send + Sync;
type Progress = dyn Fn(&str, i64, i64) -> ControlFlow<()> + Send + Sync;
type Parallel = dyn Fn(usize, &(dyn Fn() + Sync)) + Send + Sync;

/// What a program does for a context, given to [`Context::with_host`](crate::Context::with_host).
///
/// The closures are called within calls, on the threads that make them, perhaps several at a time, until the context
/// and all its objects are gone. Objects of the context can't be used in them, but for a
/// [`CancelHandle`](crate::CancelHandle): their calls are errors of [`Status::State`]. A panic in a closure goes on
/// when the call has returned, what the call made being dropped. A closure should not hold objects of its own context,
/// which would keep it and itself alive for ever.
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
/// Corpus::from_text(&context, "numerals", "one\teins\nno tab\n", None)?;
/// assert!(lines.lock().unwrap().iter().any(|line| line.starts_with("Warning data: numerals")));
/// # Ok::<(), xformer::Error>(())
/// ```
#[derive(Default)]
pub struct Host {
    log: Option<(LogLevel, Box<Log>)>,
    progress: Option<Box<Progress>>,
    parallel: Option<Box<Parallel>>,
}

impl Host {
    /// One that does nothing: no line is printed, and the context starts threads of its own.
    pub fn new() -> Self {
        Host::default()
    }

    /// Hears log lines from that severity on: level, component, message.
    pub fn log(mut self, level: LogLevel, closure: impl Fn(LogLevel, &str, &str) + Send + Sync + 'static) -> Self {
        self.log = Some((level, Box::new(closure)));
        self
    }

    /// Hears how far a long call has come, at most about ten times a second: the task, a word such as "translate", how
    /// much is done, and of how much. `Break` ends the call with [`Status::Callback`].
    pub fn progress(mut self, closure: impl Fn(&str, i64, i64) -> ControlFlow<()> + Send + Sync + 'static) -> Self {
        self.progress = Some(Box::new(closure));
        self
    }

    /// Runs the parallel work of the context, which then starts no threads: calls the task so many times, on whatever
    /// threads, and returns when all calls have returned. What it leaves out is done after it. Results do not depend on
    /// it.
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

    /// What the library is given; it is valid as long as this stays where it is.
    pub(crate) fn raw(self: &Arc<Self>) -> sys::xf_host {
        let user = Arc::as_ptr(self) as *mut c_void;
        sys::xf_host {
            log_user: user,
            log: self.log.is_some().then_some(line),
            log_level: self.log.as_ref().map_or(sys::XF_HOST_INIT.log_level, |(level, _)| *level as i32),
            progress_user: user,
            progress: self.progress.is_some().then_some(progress),
            parallel_user: user,
            parallel: self.parallel.is_some().then_some(parallel),
            ..sys::XF_HOST_INIT
        }
    }

    /// Refuses what a closure of this host may not do.
    pub(crate) fn check(&self) -> Result<()> {
        if !self.is_called() {
            return Ok(());
        }
        Err(Error::new(Status::State, "called in a closure of the same context, in which only cancelling is allowed"))
    }

    fn is_called(&self) -> bool {
        NOTES.try_with(|notes| notes.borrow().called.iter().any(|host| std::ptr::eq(*host, self))).unwrap_or(false)
    }
}

/// What this thread has to remember. It is borrowed for moments only, never while foreign code runs.
#[derive(Default)]
struct Notes {
    called: Vec<*const Host>,
    panic: Option<Box<dyn Any + Send>>,
    deferred: Vec<Box<dyn FnOnce()>>,
}

thread_local! {
    static NOTES: RefCell<Notes> = RefCell::default();
}

/// Runs a closure that the library asks for, and keeps its panic. None after one: the caller hears of it first. None at
/// the end of a thread, too, when its notes are gone.
pub(crate) fn keep_panic<T>(host: Option<*const Host>, closure: impl FnOnce() -> T) -> Option<T> {
    let entered = NOTES.try_with(|notes| {
        let mut notes = notes.borrow_mut();
        let free = notes.panic.is_none();
        notes.called.extend(host.filter(|_| free));
        free
    });
    if !matches!(entered, Ok(true)) {
        return None;
    }
    let outcome = catch_unwind(AssertUnwindSafe(closure));
    let _ = NOTES.try_with(|notes| host.and_then(|_| notes.borrow_mut().called.pop()));
    outcome.map_err(|panic| NOTES.try_with(|notes| notes.borrow_mut().panic = Some(panic))).ok()
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

/// After each call of the library: frees what had to wait, and lets the panic of a closure go on.
pub(crate) fn after_call() {
    free_deferred();
    if let Some(panic) = take_panic() {
        if !std::thread::panicking() {
            resume_unwind(panic);
        }
    }
}

/// Frees an object of a context: now, or when the call has returned in whose closure this is.
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
    drop(take_panic()); // a drop is no place for the panic of a closure; the panic hook has told of it
}

/// Calls a closure of the host that the library was given.
///
/// # Safety
///
/// `user` is from [`Host::raw`], and that host lives during the call.
unsafe fn within<T>(user: *mut c_void, closure: impl FnOnce(&Host) -> T) -> Option<T> {
    let host = user as *const Host;
    // SAFETY: as the caller promises.
    keep_panic(Some(host), || closure(unsafe { &*host }))
}

unsafe extern "C" fn line(user: *mut c_void, level: u32, component: *const c_char, message: *const c_char) {
    let levels = [LogLevel::Error, LogLevel::Warning, LogLevel::Info, LogLevel::Debug];
    let level = levels[levels.len().min(level as usize + 1) - 1];
    // SAFETY: the host lives as long as the context, and so do both C strings during this call.
    unsafe {
        within(user, |host| host.log.as_ref().map(|(_, closure)| closure(level, &lossy(component), &lossy(message))));
    }
}

unsafe extern "C" fn progress(user: *mut c_void, task: *const c_char, done: i64, total: i64) -> i32 {
    // SAFETY: the host lives as long as the context, and so does the C string during this call.
    let flow = unsafe { within(user, |host| host.progress.as_ref().map(|closure| closure(&lossy(task), done, total))) };
    i32::from(!matches!(flow, Some(Some(ControlFlow::Continue(())))))
}

unsafe extern "C" fn parallel(user: *mut c_void, count: i32, task: sys::xf_task_fn, arg: *mut c_void) {
    let (next, count, arg) = (AtomicUsize::new(0), count.max(0) as usize, AtomicPtr::new(arg));
    let run_next = || {
        let index = next.fetch_add(1, Ordering::Relaxed);
        if let Some(task) = task.filter(|_| index < count) {
            // SAFETY: each index once, before the library's call returns, on whatever thread.
            unsafe { task(arg.load(Ordering::Relaxed), index as i32) }
        }
    };
    // SAFETY: the host lives as long as the context.
    unsafe { within(user, |host| host.parallel.as_ref().map(|closure| closure(count, &run_next))) };
    while next.load(Ordering::Relaxed) < count {
        run_next(); // what the closure left out, perhaps by a panic
    }
}
