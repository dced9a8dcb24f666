//! Text, paths and buffers on their way to C and back.
//
// SPDX-License-Identifier: Apache-2.0

use std::ffi::{CStr, CString};
use std::os::raw::c_char;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use xformer_sys::{xf_error, xf_status};

use crate::handle::call;
use crate::{Error, Result, Status};

/// A C string; `what` names it in the error about a NUL in it.
pub(crate) fn c_string(what: &str, text: &[u8]) -> Result<CString> {
    CString::new(text)
        .map_err(|error| Error::invalid(format!("{} has a NUL at byte {}, expected none", what, error.nul_position())))
}

pub(crate) fn c_path(path: &Path) -> Result<CString> {
    c_string("the path", path.as_os_str().as_bytes())
}

/// C strings of many texts, and the pointers to them.
pub(crate) struct CStrings {
    pub(crate) pointers: Vec<*const c_char>,
    _texts: Vec<CString>,
}

impl CStrings {
    pub(crate) fn new(texts: Vec<CString>) -> Self {
        // The pointers are to the heap, so they stay right when the vector moves.
        CStrings { pointers: texts.iter().map(|text| text.as_ptr()).collect(), _texts: texts }
    }
}

/// A copy of a C string, "" of NULL.
///
/// # Safety
///
/// `text` is NULL or a C string that lives during the call.
pub(crate) unsafe fn lossy(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: as the caller promises.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// A C string of static memory.
///
/// # Safety
///
/// `text` is NULL or a C string that is never freed.
pub(crate) unsafe fn fixed(text: *const c_char) -> Result<Option<&'static str>> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: as the caller promises.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map(Some).map_err(|_| Error::new(Status::Internal, "a text of the library is not UTF-8"))
}

/// The text in a fixed array, up to its first NUL.
pub(crate) fn lossy_array(array: &[c_char]) -> String {
    let bytes: Vec<u8> = array.iter().take_while(|c| **c != 0).map(|c| *c as u8).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Calls a function that fills a buffer, a second time when the first buffer was too small.
pub(crate) fn fill<T: Clone + Default>(
    mut capacity: usize,
    mut function: impl FnMut(*mut T, usize, *mut usize, *mut xf_error) -> xf_status,
) -> Result<Vec<T>> {
    loop {
        let (mut values, mut count) = (vec![T::default(); capacity], 0);
        match call(|error| function(values.as_mut_ptr(), capacity, &mut count, error)) {
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
