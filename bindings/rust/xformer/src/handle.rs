//! What all objects share: calling the library, freeing what it made, and text and buffers on their way to it.
//
// SPDX-License-Identifier: Apache-2.0

use std::any::Any;
use std::ffi::CString;
use std::fmt;
use std::os::raw::c_char;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;

use xformer_sys as sys;

use crate::context::Shared;
use crate::{host, Error, Result, Status};

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
    xf_context xf_context_free,
    xf_corpus xf_corpus_free,
    xf_tokenizer xf_tokenizer_free,
    xf_batcher xf_batcher_free,
    xf_model xf_model_free,
    xf_trainer xf_trainer_free,
    xf_decoder xf_decoder_free,
    xf_hypotheses xf_hypotheses_free,
}

/// An object of the library: one of its own, or a part of another, which it keeps.
pub(crate) struct Handle<T: Foreign> {
    pointer: NonNull<T>,
    /// Keeps what is here of its context, which the library may call.
    context: Option<Arc<Shared>>,
    whole: Option<Arc<dyn Any + Send + Sync>>,
}

// SAFETY: the library ties no handle to a thread, and distinct handles may be used from distinct threads.
unsafe impl<T: Foreign> Send for Handle<T> {}
// SAFETY: one handle may be used by several threads: what can't be shared is refused by the library. What it lends, and
// the next call may change, is taken by `&mut` or under a lock, see `Model::metadata`.
unsafe impl<T: Foreign> Sync for Handle<T> {}

impl<T: Foreign> Handle<T> {
    /// What the library made, that nobody else frees.
    pub(crate) fn new(pointer: *mut T, context: Option<&Arc<Shared>>) -> Result<Self> {
        let none = || Error::new(Status::Internal, "the library gave no object");
        Ok(Handle { pointer: NonNull::new(pointer).ok_or_else(none)?, context: context.cloned(), whole: None })
    }

    /// A part of another object, as long as which it lives; none of NULL.
    pub(crate) fn part<W: Foreign>(pointer: *const T, whole: &Arc<Handle<W>>) -> Option<Self> {
        let (context, whole) = (whole.context.clone(), Arc::clone(whole));
        NonNull::new(pointer as *mut T).map(|pointer| Handle { pointer, context, whole: Some(whole) })
    }

    /// The pointer for a call; refused in a closure of the object's context.
    pub(crate) fn enter(&self) -> Result<*mut T> {
        self.context.as_ref().map_or(Ok(()), |context| context.host.check())?;
        Ok(self.pointer.as_ptr())
    }

    /// The pointer, for cancelling, which may be done anywhere, and for what was just made.
    pub(crate) fn get(&self) -> *mut T {
        self.pointer.as_ptr()
    }

    /// The context of an object that has one.
    pub(crate) fn context(&self) -> Option<&Arc<Shared>> {
        self.context.as_ref()
    }
}

impl<T: Foreign> Drop for Handle<T> {
    fn drop(&mut self) {
        if self.whole.is_some() {
            return;
        }
        let pointer = self.pointer.as_ptr();
        // SAFETY: the pointer came from the function that makes such objects, it is freed once, and nothing refers to
        // the object any more, as this owns it. Other objects of the library keep what they need of it.
        host::free(self.context.as_ref(), move || unsafe { T::FREE(pointer) });
    }
}

impl<T: Foreign> fmt::Debug for Handle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:p}", self.pointer)
    }
}

/// What a call that failed fills.
pub(crate) const NO_ERROR: sys::xf_error =
    sys::xf_error { status: 0, native_code: 0, message: [0; sys::XF_ERROR_MESSAGE_SIZE] };

/// The status of a call that has returned, when it is no error.
pub(crate) fn returned(status: sys::xf_status, error: &sys::xf_error) -> Result<sys::xf_status> {
    host::after_call();
    if status < 0 {
        return Err(Error::from_raw(status, error));
    }
    Ok(status)
}

/// What a call has made that has returned. It has its owner before a panic of a closure goes on.
pub(crate) fn made<T: Foreign>(
    status: sys::xf_status,
    error: &sys::xf_error,
    out: *mut T,
    context: Option<&Arc<Shared>>,
) -> Result<Handle<T>> {
    let handle = Handle::new(out, context);
    returned(status, error)?;
    handle
}

/// Calls a function of the library, which takes an error behind these arguments; gives its status when it is no error.
///
/// This is the one place where it is called with pointers. They are of objects, texts and arrays that the caller has by
/// a borrow until the call has returned: objects by `Handle::enter`, arrays with their own lengths, outputs by `&mut`
/// or with their capacity; and NULL where the headers allow it.
macro_rules! call {
    ($function:ident($($argument:expr),* $(,)?)) => {{
        let mut error = crate::handle::NO_ERROR;
        // SAFETY: as said above.
        let status = unsafe { xformer_sys::$function($($argument,)* &mut error) };
        crate::handle::returned(status, &error)
    }};
}

/// The same with a function that makes an object, in a context or in none, and puts it out behind these arguments.
macro_rules! make {
    ($context:expr, $function:ident($($argument:expr),* $(,)?)) => {{
        let (mut out, mut error) = (std::ptr::null_mut(), crate::handle::NO_ERROR);
        // SAFETY: as said above.
        let status = unsafe { xformer_sys::$function($($argument,)* &mut out, &mut error) };
        crate::handle::made(status, &error, out, $context)
    }};
}

/// The same with a function that fills a structure behind these arguments, of which there is a mirror here.
macro_rules! read {
    ($mirror:ident, $function:ident($($argument:expr),* $(,)?)) => {{
        let mut raw = $mirror::RAW;
        call!($function($($argument,)* &mut raw)).map(|_| $mirror::from_raw(raw))
    }};
}

/// A C string; `what` names it in the error about a NUL in it.
pub(crate) fn c_string(what: &str, text: impl AsRef<[u8]>) -> Result<CString> {
    CString::new(text.as_ref())
        .map_err(|error| Error::invalid(format!("{} has a NUL at byte {}, expected none", what, error.nul_position())))
}

pub(crate) fn c_path(path: impl AsRef<Path>) -> Result<CString> {
    c_string("the path", path.as_ref().as_os_str().as_bytes())
}

/// The pointers to C strings; they are to the heap, and so as good as the strings.
pub(crate) fn pointers(texts: &[CString]) -> Vec<*const c_char> {
    texts.iter().map(|text| text.as_ptr()).collect()
}

/// Texts with their lengths, as the library takes them; NULL where there is none.
pub(crate) struct Texts {
    pub(crate) data: Vec<*const c_char>,
    pub(crate) lengths: Vec<usize>,
}

impl Texts {
    /// They are valid as long as the texts.
    pub(crate) fn new<S: AsRef<[u8]>>(texts: &[S]) -> Self {
        let bytes = || texts.iter().map(AsRef::as_ref);
        Texts { data: bytes().map(|text| text.as_ptr().cast()).collect(), lengths: bytes().map(<[u8]>::len).collect() }
    }
}

/// What the library lends.
///
/// # Safety
///
/// There are `len` values that live for `'a`, and nothing writes them.
pub(crate) unsafe fn borrowed<'a, T>(values: *const T, len: usize) -> &'a [T] {
    match len {
        0 => &[], // of which the pointer may be NULL
        // SAFETY: as the caller promises.
        _ => unsafe { std::slice::from_raw_parts(values, len) },
    }
}

/// Makes a call that fills a buffer, a second time when the first buffer was too small.
pub(crate) fn fill<T: Clone + Default>(
    mut capacity: usize,
    mut call: impl FnMut(*mut T, usize, &mut usize) -> Result<sys::xf_status>,
) -> Result<Vec<T>> {
    loop {
        let (mut values, mut count) = (vec![T::default(); capacity], 0);
        match call(values.as_mut_ptr(), capacity, &mut count) {
            Ok(_) => {
                values.truncate(count);
                return Ok(values);
            }
            // One more: of a text the NUL is not counted.
            Err(error) if error.status() == Status::BufferTooSmall && count >= capacity => capacity = count + 1,
            Err(error) => return Err(error),
        }
    }
}
