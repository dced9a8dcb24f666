//! Common to all objects: calls of the library, ownership of its handles, and conversion of texts and buffers.
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

/// The opaque types of the library and the functions that free them.
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
    xf_engine xf_engine_free,
}

/// A handle of the library. It is owned by this value, or by another handle, which this value keeps alive.
pub(crate) struct Handle<T: Foreign> {
    pointer: NonNull<T>,
    /// Keeps the host of the context, which the library may call.
    context: Option<Arc<Shared>>,
    owner: Option<Arc<dyn Any + Send + Sync>>,
}

// SAFETY: handles are not tied to a thread, and distinct handles may be used from distinct threads.
unsafe impl<T: Foreign> Send for Handle<T> {}
// SAFETY: several threads may use one handle: the library refuses calls that conflict. Functions that return memory which
// a later call may change are called with `&mut`.
unsafe impl<T: Foreign> Sync for Handle<T> {}

impl<T: Foreign> Handle<T> {
    /// Takes ownership of a handle that the library created.
    pub(crate) fn new(pointer: *mut T, context: Option<&Arc<Shared>>) -> Result<Self> {
        let none = || Error::new(Status::Internal, "the library returned no object");
        Ok(Handle { pointer: NonNull::new(pointer).ok_or_else(none)?, context: context.cloned(), owner: None })
    }

    /// Wraps a handle that another one owns; `None` for NULL.
    pub(crate) fn borrowed<W: Foreign>(pointer: *const T, owner: &Arc<Handle<W>>) -> Option<Self> {
        let (context, owner) = (owner.context.clone(), Arc::clone(owner));
        NonNull::new(pointer as *mut T).map(|pointer| Handle { pointer, context, owner: Some(owner) })
    }

    /// The pointer for a call; an error in a callback of the object's context.
    pub(crate) fn enter(&self) -> Result<*mut T> {
        self.context.as_ref().map_or(Ok(()), |context| context.host.check())?;
        Ok(self.pointer.as_ptr())
    }

    /// The pointer, without the check: for objects that were just created and for functions that may always be called.
    pub(crate) fn get(&self) -> *mut T {
        self.pointer.as_ptr()
    }

    /// The context, if the object has one.
    pub(crate) fn context(&self) -> Option<&Arc<Shared>> {
        self.context.as_ref()
    }
}

impl<T: Foreign> Drop for Handle<T> {
    fn drop(&mut self) {
        if self.owner.is_some() {
            return;
        }
        let pointer = self.pointer.as_ptr();
        // SAFETY: the pointer is from the function that creates such objects, this value owns it, and it is freed once.
        // Objects of the library that use it keep what they need.
        host::free(self.context.as_ref(), move || unsafe { T::FREE(pointer) });
    }
}

impl<T: Foreign> fmt::Debug for Handle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:p}", self.pointer)
    }
}

/// The struct that a failed call fills.
pub(crate) const NO_ERROR: sys::xf_error =
    sys::xf_error { status: 0, native_code: 0, message: [0; sys::XF_ERROR_MESSAGE_SIZE] };

/// The status of a call that has returned, or its error.
pub(crate) fn returned(status: sys::xf_status, error: &sys::xf_error) -> Result<sys::xf_status> {
    host::after_call();
    if status < 0 {
        return Err(Error::from_raw(status, error));
    }
    Ok(status)
}

/// The object that a call has created. It has an owner before the panic of a callback continues.
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

/// Calls a function of the library and appends an error to the arguments. Returns the status, or the error.
///
/// All pointers are passed in these macros. They point to objects, texts, and arrays that the caller borrows until the
/// call has returned: objects from `Handle::enter`, arrays with their lengths, outputs from `&mut` or with their
/// capacity, and NULL where the headers allow it.
macro_rules! call {
    ($function:ident($($argument:expr),* $(,)?)) => {{
        let mut error = crate::handle::NO_ERROR;
        // SAFETY: see above.
        let status = unsafe { xformer_sys::$function($($argument,)* &mut error) };
        crate::handle::returned(status, &error)
    }};
}

/// As `call!`, for a function that creates an object; appends the output, too. The object belongs to the context.
macro_rules! make {
    ($context:expr, $function:ident($($argument:expr),* $(,)?)) => {{
        let (mut out, mut error) = (std::ptr::null_mut(), crate::handle::NO_ERROR);
        // SAFETY: see `call!`.
        let status = unsafe { xformer_sys::$function($($argument,)* &mut out, &mut error) };
        crate::handle::made(status, &error, out, $context)
    }};
}

/// As `call!`, for a function that fills a struct; appends it, too. Returns the mirror of the struct.
macro_rules! read {
    ($mirror:ident, $function:ident($($argument:expr),* $(,)?)) => {{
        let mut raw = $mirror::RAW;
        call!($function($($argument,)* &mut raw)).map(|_| $mirror::from_raw(raw))
    }};
}

/// A C string; `what` names it in the error if it contains NUL.
pub(crate) fn c_string(what: &str, text: impl AsRef<[u8]>) -> Result<CString> {
    CString::new(text.as_ref()).map_err(|error| {
        Error::invalid(format!("{} contains NUL at byte {}; expected a text without NUL", what, error.nul_position()))
    })
}

pub(crate) fn c_path(path: impl AsRef<Path>) -> Result<CString> {
    c_string("the path", path.as_ref().as_os_str().as_bytes())
}

/// Pointers to texts and their lengths.
pub(crate) struct Texts {
    pub(crate) data: Vec<*const c_char>,
    pub(crate) lengths: Vec<usize>,
}

impl Texts {
    /// They are valid while the texts live.
    pub(crate) fn new<S: AsRef<[u8]>>(texts: &[S]) -> Self {
        let bytes = || texts.iter().map(AsRef::as_ref);
        Texts { data: bytes().map(|text| text.as_ptr().cast()).collect(), lengths: bytes().map(<[u8]>::len).collect() }
    }
}

/// A slice of memory that the library owns.
///
/// # Safety
///
/// `values` points to `len` values that live for `'a` and do not change. It may be NULL if `len` is 0.
pub(crate) unsafe fn borrowed<'a, T>(values: *const T, len: usize) -> &'a [T] {
    match len {
        0 => &[],
        // SAFETY: as the caller promises.
        _ => unsafe { std::slice::from_raw_parts(values, len) },
    }
}

/// Makes a call that fills a buffer, and repeats it with a larger buffer if the first was too small.
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
            // One more, because the count of a text does not include its NUL.
            Err(error) if error.status() == Status::BufferTooSmall && count >= capacity => capacity = count + 1,
            Err(error) => return Err(error),
        }
    }
}

/// Text from bytes; invalid UTF-8 becomes U+FFFD.
pub(crate) fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}
