"""Numbers and strings of Python as arrays of C.

Anything with the buffer protocol is taken without a copy when its numbers already are what C wants (array.array,
ctypes arrays, numpy arrays: numpy itself is never imported); other numbers, and sequences, are copied.

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
#: A file name. Bytes are none: where a file can be given by its content, that is what they are.
Path = Union[str, "os.PathLike[str]", "os.PathLike[bytes]"]

# Each function that is given a name raises a TypeError, ValueError or OverflowError with it, for an argument so called.

# Formats of the struct module that are a code of the array module, given the right size: "l" is either.
_FORMATS = {"i": ("i", "l"), "q": ("q", "l"), "f": ("f",)}
_SIZES = {"i": 4, "q": 8, "f": 4}
_NATIVE = "@=" + ("<" if sys.byteorder == "little" else ">")


def wrong(name: str, wanted: str, value: object) -> TypeError:
    """The error for an argument, or an option, of a wrong type."""
    return TypeError("%s must be %s, not %s" % (name, wanted, type(value).__name__))


def each(values: Any, name: str, wanted: str) -> Iterator[Any]:
    """The elements of an argument that must have some."""
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
    """An object with the buffer protocol that holds values in row-major order as C numbers of a code of the array
    module ("i", "q", "f"), and how many they are."""
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
        copied.frombytes(view.tobytes())  # read-only, strided, or of ctypes, whose formats memoryview can't index
    else:
        try:
            copied.extend(_flat(view.tolist()))
        except NotImplementedError:  # a format of ctypes once more: its arrays are sequences as well
            copied.extend(_flat(values))
    return copied, len(copied)


def writable(values: Any, code: str, name: str) -> Tuple[memoryview, int]:
    """A view of a caller's buffer that C may fill, and how many numbers it holds."""
    try:
        view = memoryview(values)
    except TypeError:
        raise wrong(name, "a buffer of %r" % code, values) from None
    if view.readonly or not _fits(view, code):
        raise TypeError("%s must be a writable contiguous buffer of %r, this is %r" % (name, code, view.format))
    return view, view.nbytes // view.itemsize


def address(buffer: Any) -> Any:
    """What ctypes passes as a pointer to a writable buffer; it keeps the buffer from being resized while it lives."""
    size = memoryview(buffer).nbytes
    return (ctypes.c_char * size).from_buffer(buffer) if size else None


def integer(value: Any, name: str, bits: int = 64) -> int:
    """An integer that C can take as it is: ctypes would cut off what does not fit, this is an OverflowError."""
    try:
        number = operator.index(value)
    except TypeError:
        raise wrong(name, "an int", value) from None
    if not -(1 << bits - 1) <= number < 1 << bits - 1:
        raise OverflowError("%s does not fit in %d bits" % (name, bits))
    return number


def utf8(text: Optional[Text], name: str = "text") -> bytes:
    """Text as UTF-8, which the library checks: bytes are taken as they are, and a lone surrogate becomes what is no
    UTF-8 either, so that of several texts it is the one with it that the library refuses."""
    if isinstance(text, str):
        return text.encode("utf-8", "surrogatepass")
    if isinstance(text, (bytes, bytearray, memoryview)):
        return bytes(text)
    raise wrong(name, "str or bytes", text)


def utf8s(texts: Iterable[Optional[Text]], name: str, nothing: Optional[bytes] = None) -> List[bytes]:
    """The same of several texts; nothing is what stands for None, when that is allowed."""
    if isinstance(texts, (str, bytes, bytearray, memoryview)):
        raise TypeError("%s must be several texts, [text] for one, not %s" % (name, type(texts).__name__))
    several = each(texts, name, "several texts")
    filled = (nothing if text is None else text for text in several)
    return [utf8(text, "%s[%d]" % (name, index)) for index, text in enumerate(filled)]


def no_nul(data: bytes, name: str) -> bytes:
    """Bytes for a parameter that ends at the first NUL, in which a NUL can't be passed on."""
    if b"\0" in data:
        raise ValueError("%s holds a NUL character" % name)
    return data


def c_string(text: Text, name: str) -> bytes:
    """A name or a value for such a parameter; the whole call fails with it, so a lone surrogate is refused here."""
    try:
        data = text.encode("utf-8") if isinstance(text, str) else utf8(text, name)
    except UnicodeEncodeError as error:
        raise ValueError("%s: %s" % (name, error)) from None
    return no_nul(data, name)


def path_bytes(path: Union[Path, Any], name: str = "path") -> bytes:
    """A file name as open(2) takes it."""
    if not isinstance(path, (str, os.PathLike)):
        raise wrong(name, "str or os.PathLike", path)
    return no_nul(os.fsencode(path), name)


def strings(texts: Sequence[bytes]) -> Any:
    """An array of char *, which keeps the bytes alive."""
    return (ctypes.c_char_p * len(texts))(*texts)


def texts(values: Sequence[bytes]) -> Tuple[Any, Any]:
    """An array of char * and one of their lengths, for texts that may hold a NUL."""
    return strings(values), (ctypes.c_size_t * len(values))(*map(len, values))
