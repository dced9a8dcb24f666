"""Numbers and strings of Python as C arrays.

Objects with the buffer protocol (array.array, ctypes arrays, NumPy arrays) are passed without a copy if their numbers
already have the C type. Other numbers, and sequences, are copied. NumPy is never imported.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import ctypes
import operator
import os
import sys
from array import array
from typing import Any, Iterable, Iterator, List, Optional, Sequence, Tuple, Union

Text = Union[str, bytes]
#: A file name. Bytes are not file names, because they can be the content of a file.
Path = Union[str, "os.PathLike[str]", "os.PathLike[bytes]"]

# Functions with a parameter "name" raise a TypeError, ValueError, or OverflowError that names the argument.

# Formats of the struct module for each type code of the array module. The size of "l" depends on the platform.
_FORMATS = {"i": ("i", "l"), "q": ("q", "l"), "f": ("f",)}
_SIZES = {"i": 4, "q": 8, "f": 4}
_NATIVE = "@=" + ("<" if sys.byteorder == "little" else ">")


def wrong(name: str, wanted: str, value: object) -> TypeError:
    """Returns the error for an argument or an option of a wrong type."""
    return TypeError("%s must be %s, not %s" % (name, wanted, type(value).__name__))


def each(values: Any, name: str, wanted: str) -> Iterator[Any]:
    """Returns an iterator over an argument."""
    try:
        return iter(values)
    except TypeError:
        raise wrong(name, wanted, values) from None


def _fits(view: memoryview, code: str) -> bool:
    return view.itemsize == _SIZES[code] and view.format in _FORMATS[code] and view.c_contiguous


def _flat(values: Any) -> Iterable[Any]:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _flat(value)
        else:
            yield value


def numbers(values: Any, code: str, name: str) -> Tuple[Any, int]:
    """Returns an object with the buffer protocol that contains the numbers in row-major order, and their number. code
    is a type code of the array module: "i", "q", or "f"."""
    try:
        return _numbers(values, code)
    except (TypeError, OverflowError) as error:
        raise type(error)("%s: %s" % (name, error)) from error


def _numbers(values: Any, code: Any) -> Tuple[Any, int]:
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
        copied.frombytes(view.tobytes())  # read-only, strided, or of ctypes, whose formats memoryview cannot index
    else:
        try:
            copied.extend(_flat(view.tolist()))
        except NotImplementedError:  # a format of ctypes, whose arrays are also sequences
            copied.extend(_flat(values))
    return copied, len(copied)


def writable(values: Any, code: str, name: str) -> Tuple[memoryview, int]:
    """Returns a view of a buffer that C may fill, and the number of its elements."""
    try:
        view = memoryview(values)
    except TypeError:
        raise wrong(name, "a buffer of %r" % code, values) from None
    if view.readonly or not _fits(view, code):
        raise TypeError("%s must be a writable contiguous buffer of %r, not of %r" % (name, code, view.format))
    return view, view.nbytes // view.itemsize


def address(buffer: Any) -> Any:
    """Returns the address of a writable buffer. The buffer cannot be resized while the returned object exists."""
    size = memoryview(buffer).nbytes
    return (ctypes.c_char * size).from_buffer(buffer) if size else None


def integer(value: Any, name: str, bits: int = 64) -> int:
    """Returns an integer that fits in a C type; ctypes would truncate others."""
    try:
        number = operator.index(value)
    except TypeError:
        raise wrong(name, "an int", value) from None
    if not -(1 << bits - 1) <= number < 1 << bits - 1:
        raise OverflowError("%s does not fit in %d bits" % (name, bits))
    return number


def utf8(text: Optional[Text], name: str = "text") -> bytes:
    """Returns text as UTF-8. The library validates it. A lone surrogate becomes invalid UTF-8, so that the library
    rejects only that text and not the others of the call."""
    if isinstance(text, str):
        return text.encode("utf-8", "surrogatepass")
    if isinstance(text, (bytes, bytearray, memoryview)):
        return bytes(text)
    raise wrong(name, "str or bytes", text)


def utf8s(texts: Iterable[Optional[Text]], name: str, nothing: Optional[bytes] = None) -> List[bytes]:
    """Returns several texts as UTF-8. nothing replaces None if that is allowed."""
    if isinstance(texts, (str, bytes, bytearray, memoryview)):
        raise TypeError("%s must be several texts (use [text] for one), not %s" % (name, type(texts).__name__))
    encoded = []
    for index, text in enumerate(each(texts, name, "several texts")):
        if isinstance(text, str):
            encoded.append(text.encode("utf-8", "surrogatepass"))
        elif text is None and nothing is not None:
            encoded.append(nothing)
        else:
            encoded.append(utf8(text, "%s[%d]" % (name, index)))
    return encoded


def no_nul(data: bytes, name: str) -> bytes:
    """Returns bytes for a NUL-terminated parameter."""
    if b"\0" in data:
        raise ValueError("%s contains a NUL character" % name)
    return data


def c_string(text: Text, name: str) -> bytes:
    """Returns a name or a value for a NUL-terminated parameter."""
    try:
        data = text.encode("utf-8") if isinstance(text, str) else utf8(text, name)
    except UnicodeEncodeError as error:
        raise ValueError("%s: %s" % (name, error)) from None
    return no_nul(data, name)


def path_bytes(path: Union[Path, Any], name: str = "path") -> bytes:
    """Returns a file name in the form of open(2)."""
    if not isinstance(path, (str, os.PathLike)):
        raise wrong(name, "str or os.PathLike", path)
    return no_nul(os.fsencode(path), name)


def texts(values: Sequence[bytes]) -> Tuple[Any, Any]:
    """Returns an array of char * and an array of their lengths."""
    return (ctypes.c_char_p * len(values))(*values), (ctypes.c_size_t * len(values))(*map(len, values))
