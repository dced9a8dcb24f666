//! What a failed call gives: a status, the code of the layer below, one sentence.
//
// SPDX-License-Identifier: Apache-2.0

use std::ffi::CStr;
use std::{error, fmt, io};

use xformer_sys as sys;

use crate::mirror::IntoRust;

/// What this crate's functions give.
pub type Result<T, E = Error> = std::result::Result<T, E>;

given! {
    /// Why a call failed. The numbers behind the names never change: -21 is `Corrupt`, "XF_ERROR_CORRUPT" in C.
    pub enum Status {
        /// A value that the parameter can't take.
        InvalidArgument = XF_ERROR_INVALID_ARGUMENT,
        /// The allocator said no, or the budget `context.memory_budget` would be exceeded.
        NoMemory = XF_ERROR_NO_MEMORY,
        /// No option, file, device or tensor of that name.
        NotFound = XF_ERROR_NOT_FOUND,
        /// A number outside its documented bounds.
        OutOfRange = XF_ERROR_OUT_OF_RANGE,
        /// A buffer is too small. This crate sizes its buffers itself, so it is not met in normal use.
        BufferTooSmall = XF_ERROR_BUFFER_TOO_SMALL,
        /// The call is not allowed in the object's present state.
        State = XF_ERROR_STATE,
        /// A call of another thread uses the object in a way that this one can't share. Nothing was done.
        Busy = XF_ERROR_BUSY,
        /// The operating system refused to open, read or write; the native code is its errno.
        Io = XF_ERROR_IO,
        /// The file is damaged: truncated, a wrong checksum, a field that contradicts another.
        Corrupt = XF_ERROR_CORRUPT,
        /// The file or the input asks for more than the documented limits allow.
        Limit = XF_ERROR_LIMIT,
        /// The file, the plugin or this crate was written for another version of the library.
        Version = XF_ERROR_VERSION,
        /// Text is not valid UTF-8, or training data are not of the promised form.
        Data = XF_ERROR_DATA,
        /// This build, backend or device can't do it.
        Unsupported = XF_ERROR_UNSUPPORTED,
        /// A backend failed; the native code is its own.
        Backend = XF_ERROR_BACKEND,
        /// Loss or gradients are not finite; weights and optimizer state are as before the call.
        Nonfinite = XF_ERROR_NONFINITE,
        /// The object belongs to a process from which this one was forked.
        Forked = XF_ERROR_FORKED,
        /// The call was cancelled by a [`CancelHandle`](crate::CancelHandle). The objects stay usable.
        Cancelled = XF_ERROR_CANCELLED,
        /// A closure asked to stop.
        Callback = XF_ERROR_CALLBACK,
        /// "decode.deadline_ms" passed before there was anything to give.
        Deadline = XF_ERROR_DEADLINE,
        /// Another rank of a training job failed, ended or was silent for "context.comm_timeout".
        Peer = XF_ERROR_PEER,
        /// The ranks do not train the same thing: other options, data, versions or parameters.
        Desync = XF_ERROR_DESYNC,
        /// A defect of the library: please report it.
        Internal = XF_ERROR_INTERNAL,
    }
}

impl Status {
    /// The number of this status in `xformer/status.h`.
    pub fn code(self) -> i32 {
        self.into()
    }

    /// The name of this status in C, `"XF_STATUS_UNKNOWN"` for one that the library does not know.
    pub fn name(self) -> &'static str {
        // SAFETY: any number is allowed, the answer is a static string and never NULL.
        let name = unsafe { CStr::from_ptr(sys::xf_status_name(self.code())) };
        name.to_str().unwrap_or("XF_STATUS_UNKNOWN")
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A call failed. Shown, it is one sentence: the value found and the value expected.
///
/// ```
/// use xformer::{Config, Status};
///
/// let error = Config::new()?.set("model.d_modle", 64).unwrap_err();
/// assert_eq!(error.status(), Status::NotFound);
/// assert!(error.to_string().contains("model.d_model")); // the nearest
/// # Ok::<(), xformer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    status: Status,
    native_code: i32,
    message: Box<str>,
}

impl Error {
    /// Why the call failed.
    pub fn status(&self) -> Status {
        self.status
    }

    /// The code of the layer below, such as errno or a `cudaError_t`, or 0.
    pub fn native_code(&self) -> i32 {
        self.native_code
    }

    /// One sentence: the value found and the value expected.
    pub fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn new(status: Status, message: impl Into<Box<str>>) -> Self {
        Error { status, native_code: 0, message: message.into() }
    }

    pub(crate) fn invalid(message: impl Into<Box<str>>) -> Self {
        Error::new(Status::InvalidArgument, message)
    }

    /// From what a call with a negative status has filled.
    pub(crate) fn from_raw(status: sys::xf_status, error: &sys::xf_error) -> Self {
        let message: String = error.message.into_rust();
        Error { status: status.into(), native_code: error.native_code, message: message.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl error::Error for Error {}

/// For programs that speak [`io::Error`]; the [`Error`] is inside.
impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        let kind = match error.status {
            Status::NotFound => io::ErrorKind::NotFound,
            Status::NoMemory => io::ErrorKind::OutOfMemory,
            Status::InvalidArgument | Status::OutOfRange => io::ErrorKind::InvalidInput,
            Status::Corrupt | Status::Limit | Status::Version | Status::Data => io::ErrorKind::InvalidData,
            Status::Unsupported => io::ErrorKind::Unsupported,
            Status::Deadline => io::ErrorKind::TimedOut,
            Status::Io => io::Error::from_raw_os_error(error.native_code).kind(),
            _ => io::ErrorKind::Other,
        };
        io::Error::new(kind, error)
    }
}
