//! Cancellation, deadline, and progress of calls.
//
// SPDX-License-Identifier: Apache-2.0

use std::cell::Cell;
use std::ops::ControlFlow;
use std::os::raw::c_void;
use std::ptr::null;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use xformer_sys as sys;

use crate::host::run_callback;
use crate::mirror::lossy;
#[cfg(doc)]
use crate::{Decoder, Status};

/// A cancel flag. Clones share the flag.
///
/// Calls that use the token (see [`Call::cancel_token`]) return [`Status::Cancelled`] when the flag is set, also if it
/// was set before the call began. All objects remain usable.
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<AtomicI32>);

impl CancelToken {
    /// Creates a flag that is not set.
    pub fn new() -> Self {
        CancelToken::default()
    }

    /// Sets the flag. May be called from any thread, from callbacks, and in a signal handler.
    pub fn cancel(&self) {
        self.0.store(1, Ordering::Release);
    }

    /// Clears the flag, so that the token can be used again.
    pub fn reset(&self) {
        self.0.store(0, Ordering::Release);
    }

    /// Returns whether the flag is set.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Acquire) != 0
    }
}

/// Progress of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress<'a> {
    /// "tokenizer", "encode", "load", "save", "average", "translate", "score", or "evaluate".
    pub task: &'a str,
    /// Units of the task that are done. The unit depends on the task: bytes, sentences, or merges.
    pub done: i64,
    /// Units in all.
    pub total: i64,
}

type ProgressFn<'a> = dyn FnMut(&Progress<'_>) -> ControlFlow<()> + 'a;

/// Cancellation, deadline, and progress of the library calls that a closure makes.
///
/// ```
/// # use std::time::Duration;
/// # use xformer::{Call, CancelToken, Decoder, Result};
/// # fn serve(decoder: &mut Decoder) -> Result<()> {
/// let token = CancelToken::new(); // another thread has a clone and may cancel
/// let call = Call::new().cancel_token(&token).deadline(Duration::from_millis(200));
/// let found = call.run(|| decoder.translate(&["one two"]))?;
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
#[must_use = "it has no effect before run() is called"]
pub struct Call<'a> {
    token: Option<CancelToken>,
    deadline: Option<Duration>,
    progress: Option<Box<ProgressFn<'a>>>,
}

debug! { Call<'_>, }

impl<'a> Call<'a> {
    /// No token, no deadline, no progress.
    pub fn new() -> Self {
        Call::default()
    }

    /// Ends calls with [`Status::Cancelled`] when the token is cancelled.
    pub fn cancel_token(mut self, token: &CancelToken) -> Self {
        self.token = Some(token.clone());
        self
    }

    /// Ends calls when this time has passed since [`run`](Call::run) began. [`Decoder::translate`] and
    /// [`Decoder::decode`] then return the best hypotheses found so far; other calls return [`Status::Deadline`] and
    /// change nothing.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Calls a closure about ten times a second during a long call, and once at its end. `Break` ends the call with
    /// [`Status::Callback`]. Objects of the library cannot be used in the closure ([`Status::State`]); it may cancel. A
    /// panic in it continues after the call has returned.
    pub fn progress(mut self, closure: impl FnMut(&Progress<'_>) -> ControlFlow<()> + 'a) -> Self {
        self.progress = Some(Box::new(closure));
        self
    }

    /// Runs a closure. Every library call that it makes on this thread has these parameters, except in an inner `run`,
    /// which replaces them.
    pub fn run<T>(self, closure: impl FnOnce() -> T) -> T {
        let mut progress = self.progress;
        let raw = sys::xf_call {
            cancelled: self.token.as_ref().map_or(null(), |token| Arc::as_ptr(&token.0).cast()),
            progress: progress.is_some().then_some(report),
            user: (&mut progress as *mut Option<Box<ProgressFn<'a>>>).cast(),
            ..sys::XF_CALL_INIT
        };
        let end = self.deadline.and_then(|deadline| Instant::now().checked_add(deadline));
        let running = Running { raw: Cell::new(raw), end };
        let _outer = replace(&running);
        closure()
    }
}

/// The parameters within [`Call::run`].
struct Running {
    raw: Cell<sys::xf_call>,
    end: Option<Instant>,
}

thread_local! {
    static CURRENT: Cell<*const Running> = const { Cell::new(null()) };
}

/// Restores the parameters of this thread when it is dropped.
pub(crate) struct Outer(*const Running);

impl Drop for Outer {
    fn drop(&mut self) {
        let _ = CURRENT.try_with(|current| current.set(self.0));
    }
}

fn replace(running: *const Running) -> Outer {
    Outer(CURRENT.try_with(|current| current.replace(running)).unwrap_or(null()))
}

/// Selects the defaults for the calls of a callback.
pub(crate) fn suspend() -> Outer {
    replace(null())
}

/// The parameters for the next call of this thread; NULL outside of [`Call::run`].
pub(crate) fn current() -> *const sys::xf_call {
    let running = CURRENT.try_with(Cell::get).unwrap_or(null());
    if running.is_null() {
        return null();
    }
    // SAFETY: `run` keeps it until its closure returns, and sets the pointer back before that.
    let running = unsafe { &*running };
    if let Some(end) = running.end {
        let left = end.saturating_duration_since(Instant::now()).as_millis();
        // 0 would mean no deadline.
        let deadline_ms = i64::try_from(left).unwrap_or(i64::MAX).max(1);
        running.raw.set(sys::xf_call { deadline_ms, ..running.raw.get() });
    }
    running.raw.as_ptr()
}

/// # Safety
///
/// `user` is from [`Call::run`], and `progress` is valid during the call.
unsafe extern "C" fn report(user: *mut c_void, progress: *const sys::xf_progress) -> i32 {
    // SAFETY: as the caller promises. The library calls this once at a time, on the thread of `run`.
    let (closure, raw) = unsafe { (&mut *user.cast::<Option<Box<ProgressFn<'_>>>>(), &*progress) };
    // SAFETY: a static string.
    let task = unsafe { lossy(raw.task) };
    let progress = Progress { task: &task, done: raw.done, total: raw.total };
    let flow = run_callback(|| closure.as_mut().map(|closure| closure(&progress)));
    i32::from(!matches!(flow, Some(Some(ControlFlow::Continue(())))))
}
