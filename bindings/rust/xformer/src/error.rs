//! Errors: a status, the code of the layer below, and one sentence.
//
// SPDX-License-Identifier: Apache-2.0

use std::ffi::CStr;
use std::{error, fmt, io};

use xformer_sys as sys;

use crate::mirror::IntoRust;

/// The result of a call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

given! {
    /// The reason for a failure. The numbers never change: `Corrupt` is -21, `XF_ERROR_CORRUPT` in C.
    pub enum Status {
        /// A value that the parameter does not accept.
        InvalidArgument = XF_ERROR_INVALID_ARGUMENT,
        /// An allocation failed, or the budget "context.memory_budget" would be exceeded.
        NoMemory = XF_ERROR_NO_MEMORY,
        /// No option, file, backend, tensor, or metadata of that name exists.
        NotFound = XF_ERROR_NOT_FOUND,
        /// A number is outside the documented bounds, or a word is not one of the allowed words.
        OutOfRange = XF_ERROR_OUT_OF_RANGE,
        /// The buffer is too small. Functions of this crate enlarge their buffers instead.
        BufferTooSmall = XF_ERROR_BUFFER_TOO_SMALL,
        /// The current state of the object does not allow the call.
        State = XF_ERROR_STATE,
        /// Another call is using the object. Nothing was done.
        Busy = XF_ERROR_BUSY,
        /// The operating system failed to open, read, or write; the native code is errno.
        Io = XF_ERROR_IO,
        /// The file is damaged: truncated, a wrong checksum, or contradicting fields.
        Corrupt = XF_ERROR_CORRUPT,
        /// The file or the input exceeds a documented limit.
        Limit = XF_ERROR_LIMIT,
        /// The file, the plugin, or this crate was written for another version of the library.
        Version = XF_ERROR_VERSION,
        /// Text is not valid UTF-8, or training data do not have the documented form.
        Data = XF_ERROR_DATA,
        /// This build, backend, or device does not support the request.
        Unsupported = XF_ERROR_UNSUPPORTED,
        /// A backend failed; the native code is the backend's own.
        Backend = XF_ERROR_BACKEND,
        /// The loss or the gradient is not finite. Parameters and optimizer state are unchanged.
        Nonfinite = XF_ERROR_NONFINITE,
        /// The object was created in a process from which this process was forked.
        Forked = XF_ERROR_FORKED,
        /// The call was cancelled. The objects remain usable.
        Cancelled = XF_ERROR_CANCELLED,
        /// A callback requested to stop.
        Callback = XF_ERROR_CALLBACK,
        /// The deadline passed before the call had a result.
        Deadline = XF_ERROR_DEADLINE,
        /// Another rank of a training job failed, ended, or did not respond within "context.comm_timeout".
        Peer = XF_ERROR_PEER,
        /// The ranks do not train the same model: options, data, versions, or parameters differ.
        Desync = XF_ERROR_DESYNC,
        /// A defect of the library. Please report it.
        Internal = XF_ERROR_INTERNAL,
    }
}

impl Status {
    /// Returns the number of this status in `xformer/status.h`.
    pub fn code(self) -> i32 {
        self.into()
    }

    /// Returns the name of this status in C; `"XF_STATUS_UNKNOWN"` if the library does not know it.
    pub fn name(self) -> &'static str {
        // SAFETY: any number is allowed; the result is a static string and never NULL.
        let name = unsafe { CStr::from_ptr(sys::xf_status_name(self.code())) };
        name.to_str().unwrap_or("XF_STATUS_UNKNOWN")
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A failed call. Its text is one sentence: what was found, what was expected, and what to do.
///
/// ```
/// use xformer::{Config, Status};
///
/// let error = Config::new()?.set("model.d_modle", 64).unwrap_err();
/// assert_eq!(error.status(), Status::NotFound);
/// assert!(error.to_string().contains("model.d_model")); // the nearest key
/// # Ok::<(), xformer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    status: Status,
    native_code: i32,
    message: Box<str>,
}

impl Error {
    /// Returns the reason.
    pub fn status(&self) -> Status {
        self.status
    }

    /// Returns the code of the layer below: errno, a `cudaError_t`, or 0.
    pub fn native_code(&self) -> i32 {
        self.native_code
    }

    /// Returns the sentence.
    pub fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn new(status: Status, message: impl Into<Box<str>>) -> Self {
        Error { status, native_code: 0, message: message.into() }
    }

    /// Adds the error of a callback that caused this one.
    pub(crate) fn caused_by(&self, cause: &io::Error) -> Self {
        let native_code = cause.raw_os_error().unwrap_or(self.native_code);
        Error { native_code, message: format!("{}: {}", self.message, cause).into(), ..*self }
    }

    pub(crate) fn invalid(message: impl Into<Box<str>>) -> Self {
        Error::new(Status::InvalidArgument, message)
    }

    /// Converts the struct that a failed call has filled.
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

/// The [`Error`] is the inner error of the result.
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
