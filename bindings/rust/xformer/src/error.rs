//! What a failed call gives: a status, the code of the layer below, one sentence.
//
// SPDX-License-Identifier: Apache-2.0

use std::ffi::CStr;
use std::{error, fmt, io};

use xformer_sys as sys;

/// What this crate's functions give.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The enum, and both directions between it and the numbers of `xformer/status.h`.
macro_rules! statuses {
    ($($(#[$doc:meta])* $name:ident = $code:ident,)*) => {
        /// Why a call failed. The numbers behind the names never change.
        ///
        /// ```
        /// use xformer::Status;
        ///
        /// assert_eq!(Status::from(-21), Status::Corrupt);
        /// assert_eq!(Status::Corrupt.code(), -21);
        /// assert_eq!(Status::Corrupt.name(), "XF_ERROR_CORRUPT");
        /// assert_eq!(Status::from(-12345), Status::Unknown(-12345));
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Status {
            $($(#[$doc])* $name,)*
            /// A status of a library newer than this crate.
            Unknown(i32),
        }

        impl Status {
            /// The number of this status in `xformer/status.h`.
            pub fn code(self) -> i32 {
                match self {
                    $(Status::$name => sys::$code,)*
                    Status::Unknown(code) => code,
                }
            }
        }

        impl From<i32> for Status {
            fn from(code: i32) -> Self {
                match code {
                    $(sys::$code => Status::$name,)*
                    _ => Status::Unknown(code),
                }
            }
        }
    };
}

statuses! {
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
    /// [`CancelHandle::cancel`](crate::CancelHandle::cancel) was called. The objects stay usable.
    Cancelled = XF_ERROR_CANCELLED,
    /// A callback asked to stop.
    Callback = XF_ERROR_CALLBACK,
    /// A defect of the library: please report it.
    Internal = XF_ERROR_INTERNAL,
}

impl Status {
    /// The name of this status in C, `"XF_STATUS_UNKNOWN"` for one that the library does not know.
    pub fn name(self) -> &'static str {
        // SAFETY: any number is allowed, the answer is a static string and never NULL.
        let name = unsafe { CStr::from_ptr(sys::xf_status_name(self.code())) };
        name.to_str().unwrap_or("XF_STATUS_UNKNOWN")
    }
}

impl From<Status> for i32 {
    fn from(status: Status) -> Self {
        status.code()
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
    busy: bool,
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

    /// Whether the model was in a call of another thread that can't run beside this one; nothing was done. The status
    /// is [`Status::State`]. See [`Trainer`](crate::Trainer).
    pub fn is_busy(&self) -> bool {
        self.busy
    }

    pub(crate) fn new(status: Status, message: impl Into<Box<str>>) -> Self {
        Error { status, native_code: 0, message: message.into(), busy: false }
    }

    pub(crate) fn invalid(message: impl Into<Box<str>>) -> Self {
        Error::new(Status::InvalidArgument, message)
    }

    pub(crate) fn busy(message: &str) -> Self {
        Error { busy: true, ..Error::new(Status::State, message) }
    }

    /// From what a call with a negative status has filled.
    pub(crate) fn from_raw(status: sys::xf_status, error: &sys::xf_error) -> Self {
        let message = crate::strings::lossy_array(&error.message);
        Error { native_code: error.native_code, ..Error::new(Status::from(status), message) }
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
            Status::Io => io::Error::from_raw_os_error(error.native_code).kind(),
            _ => io::ErrorKind::Other,
        };
        io::Error::new(kind, error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_of_a_status_and_its_name() {
        let mut known = 0;
        for code in -200..=0 {
            let status = Status::from(code);
            assert_eq!(i32::from(status), code);
            match status {
                Status::Unknown(number) => assert_eq!(number, code),
                _ => {
                    known += 1;
                    // "XF_ERROR_INVALID_ARGUMENT" is InvalidArgument here.
                    let c_name = status.name().strip_prefix("XF_ERROR_").expect("an error").replace('_', "");
                    assert_eq!(c_name.to_lowercase(), format!("{:?}", status).to_lowercase());
                }
            }
        }
        assert_eq!(known, 18);
        for code in [i32::MIN, -100, -7, 0, 1, 7, i32::MAX] {
            assert_eq!(Status::from(code), Status::Unknown(code));
        }
        assert_eq!(Status::Unknown(-100).to_string(), "XF_STATUS_UNKNOWN");
    }

    #[test]
    fn an_error_as_an_io_error() {
        let raw = |status: Status, native_code| {
            let mut raw = sys::xf_error { status: status.code(), native_code, message: [0; 248] };
            raw.message[0] = b'm' as std::os::raw::c_char;
            Error::from_raw(raw.status, &raw)
        };
        let permission = io::Error::from(raw(Status::Io, 13));
        assert_eq!((permission.kind(), permission.to_string()), (io::ErrorKind::PermissionDenied, "m".to_string()));
        for (status, kind) in [
            (Status::NotFound, io::ErrorKind::NotFound),
            (Status::NoMemory, io::ErrorKind::OutOfMemory),
            (Status::OutOfRange, io::ErrorKind::InvalidInput),
            (Status::Corrupt, io::ErrorKind::InvalidData),
            (Status::Unsupported, io::ErrorKind::Unsupported),
            (Status::Internal, io::ErrorKind::Other),
        ] {
            assert_eq!(io::Error::from(raw(status, 0)).kind(), kind);
        }
    }

    #[test]
    fn a_message_that_fills_its_room() {
        let raw = sys::xf_error { status: -99, native_code: 7, message: [b'x' as std::os::raw::c_char; 248] };
        let error = Error::from_raw(raw.status, &raw);
        assert_eq!((error.message().len(), error.native_code(), error.status()), (248, 7, Status::Internal));
    }
}
