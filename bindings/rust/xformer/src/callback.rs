//! Log closures, which the library calls in the midst of calls: a panic in one must not cross C, and it must not use
//! objects of the context that calls it.
//!
//! Both are notes of a thread, as lines arrive on the thread that made the call. A panic is kept and goes on when the
//! call has returned. Which contexts are calling a closure just now is known too: calls on their objects are refused,
//! and an object that is dropped there is freed when the call has returned.
//
// SPDX-License-Identifier: Apache-2.0

use std::any::Any;
use std::cell::RefCell;
use std::os::raw::{c_char, c_void};
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::{Arc, PoisonError, RwLock};

use xformer_sys as sys;

use crate::context::Shared;
use crate::strings::lossy;
use crate::{Error, LogLevel, Result, Status};

type Closure = dyn Fn(LogLevel, &str, &str) + Send + Sync;

/// Where the lines of a context go. It has a place of its own in memory, which the library knows.
#[derive(Default)]
pub(crate) struct Sink {
    closure: RwLock<Option<Arc<Closure>>>,
}

impl Sink {
    /// Replaces the closure; the old one is dropped outside of the lock, as its captures may do anything.
    pub(crate) fn set(&self, closure: Option<Arc<Closure>>) {
        let old = {
            let mut place = self.closure.write().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *place, closure)
        };
        drop(old);
    }

    fn get(&self) -> Option<Arc<Closure>> {
        self.closure.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Refuses what a closure of this context may not do.
    pub(crate) fn check(&self) -> Result<()> {
        if !self.is_calling() {
            return Ok(());
        }
        let message = "called in a log closure of the same context, in which only cancelling is allowed";
        Err(Error::new(Status::State, message))
    }

    fn is_calling(&self) -> bool {
        NOTES.try_with(|notes| notes.borrow().calling.iter().any(|sink| std::ptr::eq(*sink, self))).unwrap_or(false)
    }
}

/// Frees an object of a context: now, or when the call has returned in whose log closure this is.
pub(crate) fn free_of(context: &Arc<Shared>, free: impl FnOnce() + 'static) {
    if !context.sink.is_calling() {
        return free_now(free);
    }
    let context = Arc::clone(context); // the library may log while it frees
    let later = move || {
        free();
        drop(context);
    };
    let _ = NOTES.try_with(|notes| notes.borrow_mut().deferred.push(Box::new(later)));
}

/// Frees something in a drop, which is no place for the panic of a log closure: the panic hook has told of it.
pub(crate) fn free_now(free: impl FnOnce()) {
    free();
    drop(take_panic());
    free_deferred();
}

/// What this thread has to remember. It is borrowed for moments only, never while foreign code runs.
#[derive(Default)]
struct Notes {
    calling: Vec<*const Sink>,
    panic: Option<Box<dyn Any + Send>>,
    deferred: Vec<Box<dyn FnOnce()>>,
}

thread_local! {
    static NOTES: RefCell<Notes> = RefCell::default();
}

fn take_panic() -> Option<Box<dyn Any + Send>> {
    NOTES.try_with(|notes| notes.borrow_mut().panic.take()).ok().flatten()
}

fn free_deferred() {
    let next = || {
        NOTES.try_with(|notes| {
            let mut notes = notes.borrow_mut();
            if notes.calling.is_empty() {
                notes.deferred.pop()
            } else {
                None
            }
        })
    };
    while let Ok(Some(free)) = next() {
        free();
    }
}

/// After each call of the library: frees what had to wait, and lets the panic of a log closure go on.
pub(crate) fn after_call() {
    free_deferred();
    if let Some(panic) = take_panic() {
        if !std::thread::panicking() {
            resume_unwind(panic);
        }
    }
}

/// The function that the library calls with a line.
///
/// # Safety
///
/// `user` is a [`Sink`], the other two are C strings; all live during the call.
pub(crate) unsafe extern "C" fn line(
    user: *mut c_void,
    level: sys::xf_log_level,
    component: *const c_char,
    message: *const c_char,
) {
    let sink = user as *const Sink;
    // Before and after the closure nothing in here panics; within, all is caught. At the end of a thread, when its
    // notes are gone, a line is lost rather than called without them.
    let entered = NOTES.try_with(|notes| {
        let mut notes = notes.borrow_mut();
        if notes.panic.is_some() {
            return false; // the caller hears of the first panic; until then the closure is left alone
        }
        notes.calling.push(sink);
        true
    });
    if !matches!(entered, Ok(true)) {
        return;
    }
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the sink lives as long as the context, and so do the strings during this call.
        let (closure, component, message) = unsafe { ((*sink).get(), lossy(component), lossy(message)) };
        if let Some(closure) = closure {
            closure(LogLevel::from_raw(level), &component, &message);
        }
    }));
    let _ = NOTES.try_with(|notes| {
        let mut notes = notes.borrow_mut();
        notes.calling.pop();
        notes.panic = outcome.err();
    });
}
