"""The base class of all objects: a pointer of the library that is freed after its last use.

ctypes lets other threads run during a call. Each call holds a reference to its Native, so close() in another thread
frees the object only after the last call has returned. Python's reference counting does this.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import ctypes
from typing import Any, Optional, Type, TypeVar

from ._abi import call
from ._buffer import wrong
from .errors import ClosedError

_Self = TypeVar("_Self", bound="Handle")


class Native:
    """A pointer with the function that frees it, and objects that must live as long. ctypes accepts it as a void *."""

    __slots__ = ("_as_parameter_", "_free", "_keep")

    def __init__(self, free: Any, keep: Any = None, pointer: Optional[int] = None) -> None:
        self._as_parameter_ = ctypes.c_void_p(pointer)
        self._free = free
        self._keep = keep

    def out(self) -> Any:
        """Returns the address to which a function writes the pointer."""
        return ctypes.byref(self._as_parameter_)

    def __del__(self) -> None:
        # At the end of the interpreter globals may be gone, so this uses only members.
        if self._free is not None and self._as_parameter_:
            self._free(self._as_parameter_)


class Handle:
    """An object of the library. It is freed at the end of a ``with`` statement, by :meth:`close`, or when it is
    collected."""

    _kind = "object"
    _free: Any = None
    _native: Optional[Native] = None  # an object whose constructor failed is closed

    def _create(self, function: Any, *args: object, keep: Any = None, by: Any = call) -> None:
        """Creates this object with a function whose last parameter before the error is the pointer."""
        native = Native(self._free, keep)
        by(function, *args, native.out())
        self._native = native

    @classmethod
    def _make(cls: Type[_Self], function: Any, *args: object, keep: Any = None, by: Any = call) -> _Self:
        """Like _create(), for a new object. The first argument, or keep, lives as long as the object."""
        self = cls.__new__(cls)
        self._create(function, *args, keep=keep or args[0], by=by)
        return self

    @classmethod
    def _borrow(cls: Type[_Self], pointer: int, owner: Native) -> _Self:
        """Returns an object that another one owns. It keeps its owner alive."""
        self = cls.__new__(cls)
        self._native = Native(None, owner, pointer)
        return self

    @classmethod
    def _of(cls, value: object, name: str) -> Native:
        """Returns what is passed to the library for an argument, or raises a TypeError with its name."""
        if not isinstance(value, cls):
            raise wrong(name, "a %s" % cls.__name__, value)
        return value._c

    @property
    def _c(self) -> Native:
        """The Native, which is passed to the library."""
        native = self._native
        if native is None:
            raise ClosedError("the %s is closed" % self._kind)
        return native

    @property
    def closed(self) -> bool:
        """True after :meth:`close`."""
        return self._native is None

    def close(self) -> None:
        """Closes this object; closing it again has no effect.

        Objects that were created from it remain usable, because the library keeps what they need. If a call of another
        thread is using it, it is freed when that call returns.
        """
        self._native = None

    def __enter__(self: _Self) -> _Self:
        self._c
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _refuse(self, *args: object) -> Any:
        raise TypeError("a %s cannot be copied or pickled; save it to a file" % self._kind)

    __copy__ = __deepcopy__ = __reduce__ = _refuse
