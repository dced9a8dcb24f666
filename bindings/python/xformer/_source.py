"""Where a model or a corpus is taken from: the name of a file, its content, or an object that reads it.

str and os.PathLike are names. bytes, bytearray, memoryview and what else has the buffer protocol (mmap) are content. Of
an open file of the system the library takes the descriptor: it is read whole, wherever it stands. Any other object
with read() (io.BytesIO, gzip, zipfile, a socket's file) is read from where it stands to its end.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import ctypes
import io
import os
import stat
from typing import IO, Any, Optional, Tuple, Union

from ._abi import structs
from ._buffer import Path, integer, path_bytes, wrong

Source = Union[Path, int, bytes, bytearray, memoryview, IO[Any], Any]

_WANTED = "a file name, bytes or an open file"


def content(source: Any) -> Optional[bytes]:
    """The bytes of a source that is them; None of one that is not. Copied, unless nobody can change them meanwhile."""
    if isinstance(source, bytes):
        return source
    try:
        return memoryview(source).tobytes()
    except TypeError:
        return None


def is_name(source: Any) -> bool:
    """Whether a source is the name of a file."""
    return isinstance(source, (str, os.PathLike))


def read_all(source: Any) -> Any:
    """What an object with read() gives: bytes, or str of one that was opened for text."""
    if not callable(getattr(source, "read", None)):
        raise wrong("source", _WANTED, source)
    given = source.read()
    return given if isinstance(given, str) else content(given)


def c_source(source: Source) -> Tuple[Any, Any]:
    """The C form of a source, and what it points to."""
    given, held = structs.xf_source(), content(source)
    given.fd = -1
    if is_name(source):
        given.path = path_bytes(source)
    elif held is None:
        given.fd = _descriptor(source)
        if given.fd < 0:
            held = read_all(source)
            if not isinstance(held, bytes):
                raise TypeError("source.read() must give bytes: a file is opened in mode 'rb'")
    if held is not None:
        given.data, given.size = ctypes.cast(ctypes.c_char_p(held), ctypes.c_void_p), len(held)
    return given, held


def _descriptor(source: Any) -> int:
    """The descriptor of a regular file that gives the content of a source; -1 when that has none. A GzipFile has one as
    well, but of what it decompresses: only a file of io itself, and what has no read(), is asked."""
    if isinstance(source, int) and not isinstance(source, bool):
        descriptor = integer(source, "source", 32)
        if descriptor < 0:
            raise ValueError("source is the descriptor %d" % descriptor)
        return descriptor
    buffered = getattr(source, "buffer", source)  # of a TextIOWrapper
    raw = getattr(buffered, "raw", buffered)
    if isinstance(raw, io.FileIO):
        if source.writable():
            source.flush()  # what was written to it is in the file
        descriptor = raw.fileno()
        return descriptor if stat.S_ISREG(os.fstat(descriptor).st_mode) else -1
    if not hasattr(source, "read") and hasattr(source, "fileno"):
        return int(source.fileno())
    return -1
