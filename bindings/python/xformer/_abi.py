"""The loaded library with the prototypes of its functions, and helpers that call them.

ctypes releases the interpreter lock during each call, so other threads continue to run.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import ctypes
from typing import Any, Tuple, Type, TypeVar

from . import _buffer, _library, errors
from . import _declarations as abi

__all__ = ["abi", "call", "fill", "lib", "read", "text", "to_tuple"]

lib = _library.load()
for _name, (_restype, _argtypes) in abi.PROTOTYPES.items():
    _function = getattr(lib, _name)
    _function.restype = _restype
    _function.argtypes = _argtypes


def call(function: Any, *args: Any) -> int:
    """Calls a function whose last parameter is an xf_error. Returns its status, or raises the error."""
    error = abi.xf_error()
    status: int = function(*args, ctypes.byref(error))
    if status < 0:
        raise errors.make(status, error.native_code, error.message.decode("utf-8", "replace"))
    return status


_Tuple = TypeVar("_Tuple", bound=Tuple[Any, ...])


def to_tuple(kind: Type[_Tuple], struct: Any, **convert: Any) -> _Tuple:
    """Returns a NamedTuple of the members that have the names of its fields. convert has functions for some of them."""

    def value(name: str) -> Any:
        member = getattr(struct, name)
        if name in convert:
            return convert[name](member)
        return text(member) if isinstance(member, (bytes, type(None))) else member

    return kind(*map(value, kind._fields))  # type: ignore[attr-defined]


def read(kind: Type[_Tuple], struct: Any, function: Any, *args: object, **convert: Any) -> _Tuple:
    """Like to_tuple(), for a struct that the function fills: its last parameter before the error."""
    filled = struct()
    call(function, *args, ctypes.byref(filled))
    return to_tuple(kind, filled, **convert)


def fill(capacity: int, create: Any, function: Any, *args: object) -> Any:
    """Returns a buffer that a function with the parameters (..., buffer, capacity, size, error) filled.

    create(n) makes a buffer with room for n elements. If it is too small, the call is repeated with a larger one.
    """
    size = ctypes.c_size_t()
    while True:
        buffer = create(capacity)
        address = _buffer.address(buffer)
        try:
            call(function, *args, address, capacity, ctypes.byref(size))
        except errors.BufferTooSmallError:
            capacity = size.value + 1  # with the NUL of a text
            continue
        del address  # otherwise the buffer could not be resized
        del buffer[size.value :]
        return buffer


def text(value: Any) -> str:
    """Returns a string of the library; NULL becomes ""."""
    return str((value or b"").decode("utf-8", "replace"))
