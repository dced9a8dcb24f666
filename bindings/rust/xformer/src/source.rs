//! Where the bytes of a model come from, and what is told of them before it is loaded.
//
// SPDX-License-Identifier: Apache-2.0

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::raw::c_void;
use std::os::unix::io::AsRawFd;
use std::path::Path;
use std::slice;

use xformer_sys as sys;

use crate::handle::c_path;
use crate::host::keep_panic;
use crate::Result;
#[cfg(doc)]
use crate::Status;

mirror! {
    /// What a model file holds and needs, told without loading it.
    pub struct ModelSummary = xf_model_summary XF_MODEL_SUMMARY_INIT {
        /// Numbers in all parameter tensors.
        parameters: i64,
        /// V.
        vocab_size: i64,
        /// Bytes of the file.
        file_bytes: i64,
        /// Bytes to load it and to translate one group of "decode.batch_sentences" sentences of "data.max_tokens"
        /// tokens: an upper estimate.
        decode_bytes: i64,
        /// Bytes to train it with batches of "data.batch_tokens": an upper estimate.
        train_bytes: i64,
        /// Updates made, of a checkpoint; -1 of a model.
        step: i64,
        /// Whether a tokenizer is inside.
        has_tokenizer: bool,
        /// Type of the matrices in the file: "fp32", "fp16", "bf16" or "int8".
        precision: String,
    }
}

/// Where the bytes of a model come from. They are checked before they are used.
#[non_exhaustive]
pub enum Source<'a> {
    /// A file of this name.
    Path(&'a Path),
    /// Memory.
    Bytes(&'a [u8]),
    /// An open file; its position is neither used nor changed.
    File(&'a File),
    /// So many bytes, which a closure copies: from an offset on, in any order. Its error ends the call with
    /// [`Status::Io`].
    Reader(u64, &'a mut Reader<'a>),
}

/// What a [`Source::Reader`] copies with: an offset, and where the bytes go.
pub type Reader<'a> = dyn FnMut(u64, &mut [u8]) -> io::Result<()> + 'a;

impl Source<'_> {
    /// Makes a call with what the library is given.
    pub(crate) fn pass<T>(mut self, function: impl FnOnce(*const sys::xf_source) -> Result<T>) -> Result<T> {
        let mut raw = sys::XF_SOURCE_INIT;
        let path = match self {
            Source::Path(path) => c_path(path)?,
            _ => CString::default(),
        };
        match &mut self {
            Source::Path(_) => raw.path = path.as_ptr(),
            Source::Bytes(bytes) => {
                raw.data = bytes.as_ptr().cast();
                raw.size = bytes.len() as u64;
            }
            Source::File(file) => raw.fd = file.as_raw_fd(),
            Source::Reader(size, reader) => {
                raw.size = *size;
                raw.read = Some(read);
                raw.read_user = (reader as *mut &mut Reader<'_>).cast();
            }
        }
        function(&raw)
    }
}

/// The function that the library calls.
///
/// # Safety
///
/// `user` is from [`Source::pass`]; there is room for the bytes.
unsafe extern "C" fn read(user: *mut c_void, offset: u64, dst: *mut c_void, bytes: usize) -> i32 {
    // SAFETY: the closure is asked once at a time, by the call that borrows it.
    let reader = unsafe { &mut *user.cast::<&mut Reader<'_>>() };
    // SAFETY: as the caller promises; zeroed, as the closure may look at them.
    let room = unsafe {
        dst.cast::<u8>().write_bytes(0, bytes);
        slice::from_raw_parts_mut(dst.cast::<u8>(), bytes)
    };
    i32::from(!matches!(keep_panic(None, || reader(offset, room)), Some(Ok(()))))
}
