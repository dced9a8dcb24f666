"""Numbers and strings of Python as arrays of C.

Anything with the buffer protocol is taken without a copy when its numbers already are what C wants (array.array,
ctypes arrays, numpy arrays: numpy itself is never imported); other numbers, and sequences, are copied.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import ctypes
import os
import sys
from array import array
from typing import Any, Iterable, Sequence, Tuple, Union

Text = Union[str, bytes]
Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]

# Formats of the struct module that are a code of the array module, given the right size: "l" is either.
_FORMATS = {"i": ("i", "l"), "q": ("q", "l"), "f": ("f",)}
_SIZES = {"i": 4, "q": 8, "f": 4}
_NATIVE = "@=" + ("<" if sys.byteorder == "little" else ">")


def _fits(view: memoryview, code: str) -> bool:
    return view.itemsize == _SIZES[code] and view.format in _FORMATS[code] and view.c_contiguous


def _flat(values: Any) -> Iterable[Any]:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _flat(value)
        else:
            yield value


def numbers(values: Any, code: Any) -> Tuple[Any, int]:
    """An object with the buffer protocol that holds values in row-major order as C numbers of a code of the array
    module ("i", "q", "f"), and how many they are."""
    try:
        view = memoryview(values)
    except TypeError:
        copied = array(code, _flat(values))
        return copied, len(copied)
    if view.nbytes == 0:
        return array(code), 0
    if _fits(view, code) and not view.readonly:
        flat = view.cast("B").cast(code)
        return flat, len(flat)
    copied = array(code)
    if view.itemsize == _SIZES[code] and view.format.lstrip(_NATIVE) in _FORMATS[code]:
        copied.frombytes(view.tobytes())  # read-only, strided, or of ctypes, whose formats memoryview can't index
    else:
        try:
            copied.extend(_flat(view.tolist()))
        except NotImplementedError:  # a format of ctypes once more: its arrays are sequences as well
            copied.extend(_flat(values))
    return copied, len(copied)


def writable(values: Any, code: str) -> Tuple[memoryview, int]:
    """A view of a caller's buffer that C may fill, and how many numbers it holds."""
    view = memoryview(values)
    if view.readonly or not _fits(view, code):
        raise TypeError("a writable contiguous buffer of %r is needed, this is %r" % (code, view.format))
    return view, view.nbytes // view.itemsize


def address(buffer: Any) -> Any:
    """What ctypes passes as a pointer to a writable buffer; it keeps the buffer from being resized while it lives."""
    size = memoryview(buffer).nbytes
    return (ctypes.c_char * size).from_buffer(buffer) if size else None


def int64(value: int) -> int:
    """An integer that C can take as it is: ctypes would cut off what does not fit, this is an OverflowError."""
    return array("q", [value])[0]


def utf8(text: Text) -> bytes:
    """Text as UTF-8; bytes are taken as they are, and the library checks them."""
    if isinstance(text, bytes):
        return text
    if isinstance(text, str):
        return text.encode("utf-8")
    raise TypeError("text is str or bytes, not %s" % type(text).__name__)


def c_string(text: Text) -> bytes:
    """Text for a parameter that ends at the first NUL, in which a NUL can't be passed on."""
    data = utf8(text)
    if b"\0" in data:
        raise ValueError("the text holds a NUL character")
    return data


def path_bytes(path: Path) -> bytes:
    """A file name as open(2) takes it."""
    data = os.fsencode(path)
    if b"\0" in data:
        raise ValueError("the file name holds a NUL character")
    return data


def strings(texts: Sequence[bytes]) -> Any:
    """An array of char *, which keeps the bytes alive."""
    return (ctypes.c_char_p * len(texts))(*texts)


def texts(values: Sequence[bytes]) -> Tuple[Any, Any]:
    """An array of char * and one of their lengths, for texts that may hold a NUL."""
    return strings(values), (ctypes.c_size_t * len(values))(*map(len, values))
