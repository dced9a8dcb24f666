//! What all objects share: calling the library, and freeing what it made.
//
// SPDX-License-Identifier: Apache-2.0

use std::fmt;
use std::mem::MaybeUninit;
use std::ptr::{null_mut, NonNull};
use std::sync::Arc;

use xformer_sys as sys;

use crate::callback;
use crate::context::Shared;
use crate::{Error, Result, Status};

/// The opaque types of the library, and how each is freed.
pub(crate) trait Foreign: 'static {
    const FREE: unsafe extern "C" fn(*mut Self);
}

macro_rules! foreign {
    ($($name:ident $free:ident,)*) => {$(
        impl Foreign for sys::$name {
            const FREE: unsafe extern "C" fn(*mut Self) = sys::$free;
        }
    )*};
}

foreign! {
    xf_config xf_config_free,
    xf_corpus xf_corpus_free,
    xf_tokenizer xf_tokenizer_free,
    xf_batcher xf_batcher_free,
    xf_model xf_model_free,
    xf_trainer xf_trainer_free,
    xf_decoder xf_decoder_free,
    xf_hypotheses xf_hypotheses_free,
}

/// An object of the library that this one owns. It keeps what is here of its context alive, which the library may call.
pub(crate) struct Handle<T: Foreign> {
    pointer: NonNull<T>,
    context: Option<Arc<Shared>>,
}

// SAFETY: the library ties no handle to a thread: distinct handles may be used from distinct threads, and one handle
// from one thread after another.
unsafe impl<T: Foreign> Send for Handle<T> {}
// SAFETY: through a shared reference this crate makes calls that the headers mark "shared-read" or "any", or hands the
// handle to a parameter that is a pointer to const; all others take the owner of the handle by `&mut`, or the model's
// `Usage` for writing.
unsafe impl<T: Foreign> Sync for Handle<T> {}

impl<T: Foreign> Handle<T> {
    /// The pointer, for calls that read the object.
    pub(crate) fn get(&self) -> *const T {
        self.pointer.as_ptr()
    }

    /// The pointer, for calls that need the object for themselves.
    pub(crate) fn get_mut(&mut self) -> *mut T {
        self.pointer.as_ptr()
    }

    /// The pointer, where something else than `&mut` proves that no other call uses the object.
    pub(crate) fn as_ptr(&self) -> *mut T {
        self.pointer.as_ptr()
    }

    /// The context of an object that has one.
    pub(crate) fn context(&self) -> &Arc<Shared> {
        self.context.as_ref().expect("all but a config have a context")
    }
}

impl<T: Foreign> Drop for Handle<T> {
    fn drop(&mut self) {
        let pointer = self.pointer.as_ptr();
        // SAFETY: the pointer came from the function that makes such objects, it is freed once, and nothing refers to
        // the object any more, as this owns it. Other objects of the library keep what they need of it.
        let free = move || unsafe { T::FREE(pointer) };
        match &self.context {
            Some(context) => callback::free_of(context, free),
            None => free(),
        }
    }
}

impl<T: Foreign> fmt::Debug for Handle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:p}", self.pointer)
    }
}

fn run(function: impl FnOnce(*mut sys::xf_error) -> sys::xf_status) -> Result<sys::xf_status> {
    let mut error = MaybeUninit::<sys::xf_error>::zeroed();
    let status = function(error.as_mut_ptr());
    if status >= 0 {
        return Ok(status);
    }
    // SAFETY: zero bits are a value of each member, and the library fills all of it on an error.
    Err(Error::from_raw(status, unsafe { error.assume_init_ref() }))
}

/// Makes a call; gives its status when that is no error.
pub(crate) fn call(function: impl FnOnce(*mut sys::xf_error) -> sys::xf_status) -> Result<sys::xf_status> {
    let result = run(function);
    callback::after_call();
    result
}

/// Makes a call that makes an object.
pub(crate) fn create<T: Foreign>(
    context: Option<&Arc<Shared>>,
    function: impl FnOnce(*mut *mut T, *mut sys::xf_error) -> sys::xf_status,
) -> Result<Handle<T>> {
    let mut out = null_mut();
    let result = run(|error| function(&mut out, error));
    // The object has its owner before a panic of a log closure goes on.
    let handle = NonNull::new(out).map(|pointer| Handle { pointer, context: context.cloned() });
    callback::after_call();
    result?;
    handle.ok_or_else(|| Error::new(Status::Internal, "the library made no object and gave no error"))
}
