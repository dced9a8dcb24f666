"""What all objects share: a pointer of the library that is freed when nobody uses it any more.

ctypes lets other threads run during a call. Each call holds a reference to the Native it was given, so that close()
in another thread frees only when the last call has let go of it: the interpreter's own counting is all that needs.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import ctypes
from typing import Any, Optional, Type, TypeVar

from ._abi import call
from ._buffer import wrong
from ._callback import long_call
from .errors import ClosedError

_Self = TypeVar("_Self", bound="Handle")


class Native:
    """A pointer with the function that frees it, and what must live as long. ctypes takes it for a void *."""

    __slots__ = ("_as_parameter_", "_free", "_keep")

    def __init__(self, free: Any, keep: Any = None, pointer: Optional[int] = None) -> None:
        self._as_parameter_ = ctypes.c_void_p(pointer)
        self._free = free
        self._keep = keep

    def out(self) -> Any:
        """Where a function writes the pointer."""
        return ctypes.byref(self._as_parameter_)

    def __del__(self) -> None:
        # At the end of the interpreter globals may be gone: all that is needed is reached through this object.
        if self._free is not None and self._as_parameter_:
            self._free(self._as_parameter_)


class Handle:
    """An object of the library. Use it in a ``with`` statement, or call :meth:`close`, or leave it to the collector."""

    _kind = "object"
    _free: Any = None
    _native: Optional[Native] = None  # an object whose constructor failed is as good as closed

    def _create(self, function: Any, *args: object, keep: Any = None, by: Any = call) -> None:
        """Fills this object by a function whose last argument but the error is where the pointer goes."""
        native = Native(self._free, keep)
        by(function, *args, native.out())
        self._native = native

    @classmethod
    def _make(cls: Type[_Self], function: Any, first: Any, *args: object, keep: Any = None) -> _Self:
        """An object made by a function that may take long; what that takes first lives as long, or else keep."""
        self = cls.__new__(cls)
        self._create(function, first, *args, keep=keep or first, by=long_call)
        return self

    @classmethod
    def _borrow(cls, pointer: int, owner: Native) -> Any:
        """An object that belongs to another one, which lives on as long as this."""
        self = cls.__new__(cls)
        self._native = Native(None, owner, pointer)
        return self

    @classmethod
    def _of(cls, value: object, name: str) -> Native:
        """What is passed to the library for the argument of this name; a TypeError when it is of another class."""
        if not isinstance(value, cls):
            raise wrong(name, "a %s" % cls.__name__, value)
        return value._c

    @property
    def _c(self) -> Native:
        """What is passed to the library."""
        native = self._native
        if native is None:
            raise ClosedError("the %s is closed" % self._kind)
        return native

    @property
    def closed(self) -> bool:
        """Whether :meth:`close` was called."""
        return self._native is None

    def close(self) -> None:
        """Gives up this object; again is allowed. Objects made from it go on: the library keeps what they need. A call
        of another thread on it goes on as well; its end frees."""
        self._native = None

    def __enter__(self: _Self) -> _Self:
        self._c
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _refuse(self, *args: object) -> Any:
        raise TypeError("a %s can't be copied or pickled: save it to a file" % self._kind)

    __copy__ = __deepcopy__ = __reduce__ = _refuse
