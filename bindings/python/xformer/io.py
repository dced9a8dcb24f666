"""Sources and sinks: where models, tokenizers, and checkpoints are loaded from and saved to.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import ctypes
import io
import os
import stat
import sys
from typing import IO, Any, Callable, Optional, Tuple, Union

from ._abi import abi
from ._buffer import Path, integer, path_bytes, wrong
from .call import Call
from .errors import BufferTooSmallError

__all__ = ["CallbackSink", "CallbackSource", "Sink", "Source"]


class CallbackSource:
    """A source of ``size`` bytes: ``read(offset, count)`` returns the bytes [offset, offset + count).

    Offsets come in any order. An exception of ``read`` is raised by the call that loads.
    """

    def __init__(self, read: Callable[[int, int], Any], size: int) -> None:
        if not callable(read):
            raise wrong("read", "a function", read)
        self._read, self._size = read, integer(size, "size")

    def _bind(self, call: Call) -> Any:
        def copy(user: object, offset: int, target: int, count: int) -> None:
            data = memoryview(self._read(offset, count)).cast("B")
            if len(data) != count:
                raise ValueError("read(%d, %d) returned %d bytes" % (offset, count, len(data)))
            ctypes.memmove(target, data.tobytes(), count)

        callback = abi.xf_source_read(call.guard(copy))
        return abi.xf_source(kind=abi.XF_IO_CALLBACK, size=self._size, read=callback)


class CallbackSink:
    """A sink that stores bytes with ``write(offset, data)``.

    ``data`` is a bytes object. Bytes at the start are written again at the end. An exception of ``write`` is raised by
    the call that saves.
    """

    def __init__(self, write: Callable[[int, bytes], object]) -> None:
        if not callable(write):
            raise wrong("write", "a function", write)
        self._write = write

    def _bind(self, call: Call) -> Any:
        def store(user: object, offset: int, source: int, count: int) -> None:
            self._write(offset, ctypes.string_at(source, count))

        return abi.xf_sink(kind=abi.XF_IO_CALLBACK, write=abi.xf_sink_write(call.guard(store)))


#: A file to load. A str or os.PathLike is a file name. An object with the buffer protocol (bytes, bytearray,
#: memoryview, mmap) is the content. An int is the descriptor of a regular file. An open regular file is read whole,
#: whatever its position. Any other object with read(), such as io.BytesIO or a gzip file, is read from its position to
#: its end.
Source = Union[Path, int, bytes, bytearray, memoryview, IO[Any], CallbackSource, Any]
#: The destination of a file to save. A str or os.PathLike is a file name; the file is replaced atomically, and the old one
#: remains as "<name>.prev". An int is the descriptor of a regular file, which is replaced in place; so is the content
#: of an open regular file. Any other object with write(), such as io.BytesIO, receives the bytes.
Sink = Union[Path, int, IO[bytes], CallbackSink, Any]

_SOURCE = "a file name, bytes, an open file, or a CallbackSource"
_SINK = "a file name, an open file, or a CallbackSink"


def _content(source: Any) -> Optional[bytes]:
    """Returns the bytes of a source with the buffer protocol. Copies them if they could change during the call."""
    if isinstance(source, bytes):
        return source
    try:
        return memoryview(source).tobytes()
    except TypeError:
        return None


def c_source(source: Any, call: Call, name: str = "source") -> Tuple[Any, Any]:
    """Returns the xf_source of a source, and what must live as long."""
    if isinstance(source, CallbackSource):
        return source._bind(call), source
    if isinstance(source, (str, os.PathLike)):
        return abi.xf_source(kind=abi.XF_IO_PATH, path=path_bytes(source, name)), None
    data = _content(source)
    if data is None:
        descriptor = _descriptor(source, name)
        if descriptor >= 0:
            return abi.xf_source(kind=abi.XF_IO_DESCRIPTOR, fd=descriptor), source
        if not callable(getattr(source, "read", None)):
            raise wrong(name, _SOURCE, source)
        content = source.read()
        data = None if isinstance(content, str) else _content(content)
        if data is None:
            raise TypeError("%s.read() must return bytes: open the file with mode 'rb'" % name)
    address = ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p)
    return abi.xf_source(kind=abi.XF_IO_MEMORY, data=address, size=len(data)), data


def save(function: Any, *args: object, sink: Any, call: Call, name: str = "sink") -> None:
    """Saves with a function whose last parameters are xf_call, xf_sink, and xf_error."""
    if isinstance(sink, CallbackSink):
        c_sink = sink._bind(call)
    elif isinstance(sink, (str, os.PathLike)):
        c_sink = abi.xf_sink(kind=abi.XF_IO_PATH, path=path_bytes(sink, name))
    else:
        descriptor = _descriptor(sink, name)
        if descriptor < 0:
            if not callable(getattr(sink, "write", None)):
                raise wrong(name, _SINK, sink)
            sink.write(save_bytes(function, *args, call=call))
            return
        c_sink = abi.xf_sink(kind=abi.XF_IO_DESCRIPTOR, fd=descriptor)
    call.run(function, *args, call, ctypes.byref(c_sink))
    if hasattr(sink, "seek"):
        sink.seek(0, os.SEEK_END)


def save_bytes(function: Any, *args: object, call: Call) -> bytearray:
    """Like save(), but returns the bytes."""
    size = ctypes.c_uint64()
    buffer = bytearray()
    while True:
        address = (ctypes.c_char * len(buffer)).from_buffer(buffer) if buffer else None
        c_sink = abi.xf_sink(kind=abi.XF_IO_MEMORY, capacity=len(buffer), size=ctypes.pointer(size))
        c_sink.data = None if address is None else ctypes.addressof(address)
        try:
            call.run(function, *args, call, ctypes.byref(c_sink))
        except BufferTooSmallError:
            buffer = bytearray(size.value)
            continue
        del address, c_sink  # otherwise the buffer could not be resized
        del buffer[size.value :]
        return buffer


def _descriptor(file: Any, name: str) -> int:
    """Returns the descriptor of a regular file for the library, which is a handle on Windows, or -1."""
    descriptor = _python_descriptor(file, name)
    if sys.platform == "win32" and descriptor >= 0:
        import msvcrt

        return msvcrt.get_osfhandle(descriptor)
    return descriptor


def _python_descriptor(file: Any, name: str) -> int:
    """Returns the descriptor of a regular file, or -1. A GzipFile has the descriptor of its compressed file, so only
    files of the module io, and objects without read(), are asked for theirs."""
    if isinstance(file, int) and not isinstance(file, bool):
        descriptor = integer(file, name, 32)
        if descriptor < 0:
            raise ValueError("%s is the descriptor %d; a descriptor is not negative" % (name, descriptor))
        return descriptor
    buffered = getattr(file, "buffer", file)  # of a TextIOWrapper
    raw = getattr(buffered, "raw", buffered)
    if isinstance(raw, io.FileIO):
        if file.writable():
            file.flush()
        descriptor = raw.fileno()
        return descriptor if stat.S_ISREG(os.fstat(descriptor).st_mode) else -1
    if not hasattr(file, "read") and not hasattr(file, "write") and hasattr(file, "fileno"):
        return int(file.fileno())
    return -1
