//! Where files are loaded from and saved to.
//
// SPDX-License-Identifier: Apache-2.0

use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::raw::c_void;
use std::os::unix::io::{AsRawFd, RawFd};
use std::path::{Path, PathBuf};
use std::slice;

use xformer_sys as sys;

use crate::handle::{borrowed, c_path};
use crate::host::run_callback;
use crate::{Result, Status};

/// A callback of a source or a sink, and its error.
struct Callback<F: ?Sized> {
    error: Option<io::Error>,
    function: Box<F>,
}

impl<F: ?Sized> Callback<F> {
    fn new(function: Box<F>) -> Self {
        Callback { error: None, function }
    }

    fn user(&mut self) -> *mut c_void {
        (self as *mut Self).cast()
    }

    /// Runs the callback within a call of the library. Returns 0 for success.
    fn run(&mut self, call: impl FnOnce(&mut F) -> io::Result<()>) -> i32 {
        match run_callback(|| call(&mut self.function)) {
            Some(Ok(())) => 0,
            Some(Err(error)) => {
                self.error = Some(error);
                1
            }
            None => 1,
        }
    }
}

/// Adds the error of a callback, if any, to the error of the call that failed because of it.
fn explained<T>(result: Result<T>, cause: Option<io::Error>) -> Result<T> {
    match (result, cause) {
        (Err(error), Some(cause)) if error.status() == Status::Io => Err(error.caused_by(&cause)),
        (result, _) => result,
    }
}

type ReadFn<'a> = dyn FnMut(u64, &mut [u8]) -> io::Result<()> + 'a;
type WriteFn<'a> = dyn FnMut(u64, &[u8]) -> io::Result<()> + 'a;

enum Input<'a> {
    Path(Result<CString>),
    Bytes(&'a [u8]),
    File(RawFd),
    Callback(u64, Callback<ReadFn<'a>>),
}

/// The bytes of a model, a tokenizer, or a checkpoint to load: a path, a byte slice, an open [`File`], a reader, or a
/// callback. They are validated before they are used.
///
/// Functions that load accept `impl Into<Source>`, so paths, slices, and files need no conversion.
///
/// ```no_run
/// use std::fs::File;
/// use xformer::{Context, Model, Source};
///
/// let context = Context::new(None)?;
/// let from_path = Model::load(&context, "en-de.xf", None)?;
/// let from_bytes = Model::load(&context, &std::fs::read("en-de.xf").unwrap(), None)?;
/// let file = File::open("en-de.xf").unwrap();
/// let from_file = Model::load(&context, &file, None)?;
/// let from_reader = Model::load(&context, Source::reader(&mut &file).unwrap(), None)?;
/// # Ok::<(), xformer::Error>(())
/// ```
pub struct Source<'a>(Input<'a>);

impl<'a> Source<'a> {
    /// A reader with random access, from its beginning to its end.
    pub fn reader<R: Read + Seek>(reader: &'a mut R) -> io::Result<Self> {
        let size = reader.seek(SeekFrom::End(0))?;
        Ok(Source::callback(size, move |offset, bytes| {
            reader.seek(SeekFrom::Start(offset))?;
            reader.read_exact(bytes)
        }))
    }

    /// A file of `size` bytes, for example an encrypted one or an object in a store. The callback fills its slice with
    /// the bytes at an offset. The ranges lie within the file and come in any order.
    pub fn callback(size: u64, read: impl FnMut(u64, &mut [u8]) -> io::Result<()> + 'a) -> Self {
        Source(Input::Callback(size, Callback::new(Box::new(read))))
    }

    /// The C struct, which is valid while the source is neither moved nor dropped.
    fn raw(&mut self) -> Result<sys::xf_source> {
        let raw = sys::XF_SOURCE_INIT;
        Ok(match &mut self.0 {
            Input::Path(path) => {
                let path = path.as_ref().map_err(Clone::clone)?;
                sys::xf_source { kind: sys::XF_IO_PATH, path: path.as_ptr(), ..raw }
            }
            Input::Bytes(bytes) => {
                let (data, size) = (bytes.as_ptr().cast(), bytes.len() as u64);
                sys::xf_source { kind: sys::XF_IO_MEMORY, data, size, ..raw }
            }
            Input::File(fd) => sys::xf_source { kind: sys::XF_IO_DESCRIPTOR, fd: *fd, ..raw },
            Input::Callback(size, callback) => {
                let (size, user) = (*size, callback.user());
                sys::xf_source { kind: sys::XF_IO_CALLBACK, size, read: Some(read), user, ..raw }
            }
        })
    }

    fn cause(self) -> Option<io::Error> {
        match self.0 {
            Input::Callback(_, callback) => callback.error,
            _ => None,
        }
    }

    /// Makes a call that loads.
    pub(crate) fn pass<T>(mut self, call: impl FnOnce(*const sys::xf_source) -> Result<T>) -> Result<T> {
        let raw = self.raw()?;
        explained(call(&raw), self.cause())
    }

    /// Makes a call that loads several files.
    pub(crate) fn pass_all<T>(mut sources: Vec<Self>, call: impl FnOnce(&[sys::xf_source]) -> Result<T>) -> Result<T> {
        let raws = sources.iter_mut().map(Source::raw).collect::<Result<Vec<_>>>()?;
        explained(call(&raws), sources.into_iter().find_map(Source::cause))
    }
}

/// # Safety
///
/// `user` is from [`Source::raw`], and `dst` has room for the bytes.
unsafe extern "C" fn read(user: *mut c_void, offset: u64, dst: *mut c_void, bytes: usize) -> i32 {
    // SAFETY: the library calls this once at a time, during the call that borrows the source.
    let callback = unsafe { &mut *user.cast::<Callback<ReadFn<'_>>>() };
    // SAFETY: as the caller promises. The bytes are zeroed because the callback may read them.
    let room = unsafe {
        dst.cast::<u8>().write_bytes(0, bytes);
        slice::from_raw_parts_mut(dst.cast::<u8>(), bytes)
    };
    callback.run(|read| read(offset, room))
}

enum Output<'a> {
    Path(Result<CString>),
    File(RawFd),
    Callback(Callback<WriteFn<'a>>),
}

/// The destination of a model, a tokenizer, or a checkpoint to save: a path, an open [`File`], a `Vec<u8>`, a writer, or
/// a callback.
///
/// A file that is named by its path is replaced atomically, and the old file remains as `<path>.prev`. The other
/// destinations are written in place, so their content is undefined after an error. Functions that save accept
/// `impl Into<Sink>`, so paths, files, and `&mut Vec<u8>` need no conversion.
pub struct Sink<'a>(Output<'a>);

impl<'a> Sink<'a> {
    /// A writer with random access. It is written from its beginning and not flushed.
    pub fn writer<W: Write + Seek>(writer: &'a mut W) -> Self {
        Sink::callback(move |offset, bytes| {
            writer.seek(SeekFrom::Start(offset))?;
            writer.write_all(bytes)
        })
    }

    /// The callback stores the bytes at an offset. It receives every byte of the file; bytes at the start are written
    /// again at the end, when the checksum is known.
    pub fn callback(write: impl FnMut(u64, &[u8]) -> io::Result<()> + 'a) -> Self {
        Sink(Output::Callback(Callback::new(Box::new(write))))
    }

    /// Makes a call that saves.
    pub(crate) fn pass<T>(mut self, call: impl FnOnce(*const sys::xf_sink) -> Result<T>) -> Result<T> {
        let raw = sys::XF_SINK_INIT;
        let raw = match &mut self.0 {
            Output::Path(path) => {
                let path = path.as_ref().map_err(Clone::clone)?;
                sys::xf_sink { kind: sys::XF_IO_PATH, path: path.as_ptr(), ..raw }
            }
            Output::File(fd) => sys::xf_sink { kind: sys::XF_IO_DESCRIPTOR, fd: *fd, ..raw },
            Output::Callback(callback) => {
                sys::xf_sink { kind: sys::XF_IO_CALLBACK, write: Some(write), user: callback.user(), ..raw }
            }
        };
        let result = call(&raw);
        match self.0 {
            Output::Callback(callback) => explained(result, callback.error),
            _ => result,
        }
    }
}

/// # Safety
///
/// `user` is from [`Sink::pass`], and `src` points to the bytes.
unsafe extern "C" fn write(user: *mut c_void, offset: u64, src: *const c_void, bytes: usize) -> i32 {
    // SAFETY: the library calls this once at a time, during the call that borrows the sink.
    let callback = unsafe { &mut *user.cast::<Callback<WriteFn<'_>>>() };
    // SAFETY: as the caller promises.
    let bytes = unsafe { borrowed(src.cast::<u8>(), bytes) };
    callback.run(|write| write(offset, bytes))
}

debug! { Source<'_>, Sink<'_>, }

macro_rules! paths {
    ($($type:ty,)*) => {$(
        impl<'a> From<$type> for Source<'a> {
            fn from(path: $type) -> Self {
                let path: &OsStr = path.as_ref();
                Source(Input::Path(c_path(path)))
            }
        }

        impl<'a> From<$type> for Sink<'a> {
            fn from(path: $type) -> Self {
                let path: &OsStr = path.as_ref();
                Sink(Output::Path(c_path(path)))
            }
        }
    )*};
}

paths! { &Path, PathBuf, &PathBuf, &str, String, &String, &OsStr, OsString, &OsString, }

impl<'a> From<&'a [u8]> for Source<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Source(Input::Bytes(bytes))
    }
}

impl<'a> From<&'a Vec<u8>> for Source<'a> {
    fn from(bytes: &'a Vec<u8>) -> Self {
        Source(Input::Bytes(bytes))
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for Source<'a> {
    fn from(bytes: &'a [u8; N]) -> Self {
        Source(Input::Bytes(bytes))
    }
}

/// The file must be a regular file. Its position is neither used nor changed.
impl<'a> From<&'a File> for Source<'a> {
    fn from(file: &'a File) -> Self {
        Source(Input::File(file.as_raw_fd()))
    }
}

/// The file must be a regular file. It is truncated and written; its position is neither used nor changed.
impl<'a> From<&'a File> for Sink<'a> {
    fn from(file: &'a File) -> Self {
        Sink(Output::File(file.as_raw_fd()))
    }
}

/// The vector is replaced by the bytes of the file.
impl<'a> From<&'a mut Vec<u8>> for Sink<'a> {
    fn from(file: &'a mut Vec<u8>) -> Self {
        file.clear();
        Sink::callback(move |offset, bytes| {
            let begin = usize::try_from(offset).map_err(|_| io::ErrorKind::OutOfMemory)?;
            if file.len() < begin + bytes.len() {
                file.resize(begin + bytes.len(), 0);
            }
            file[begin..begin + bytes.len()].copy_from_slice(bytes);
            Ok(())
        })
    }
}
