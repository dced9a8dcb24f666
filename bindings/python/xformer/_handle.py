"""What all objects share: closing, and the rule that one handle is not in two calls at once.

ctypes lets other threads run during a call, and the library adds no locks on handles. So that a mistake is an exception
here and never a crash, each call first notes what it uses: an exclusive call beside any other on the same object raises
BusyError, and close() during a call frees when that call has ended.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import ctypes
import os
import threading
from types import TracebackType
from typing import Any, Optional, Tuple, Type, TypeVar

from .errors import BusyError, ClosedError

_Self = TypeVar("_Self", bound="Handle")


class _Sync:
    """The lock over the notes of all objects, held for a few instructions. Reentrant: a collection within may close
    other objects. A child made by fork() gets a new one, as another thread may have held it."""

    def __init__(self) -> None:
        self.lock = threading.RLock()

    def renew(self) -> None:
        self.lock = threading.RLock()


_SYNC = _Sync()
os.register_at_fork(after_in_child=_SYNC.renew)


class Guard:
    """Who is in a call on one native object: many readers or one writer. It outlives the closing of its object, since
    a trainer goes on with a model that was closed."""

    __slots__ = ("kind", "readers", "writing")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.readers = 0
        self.writing = False

    def check(self, write: bool) -> None:
        if self.writing or (write and self.readers):
            raise BusyError("the %s is in another call" % self.kind)

    def take(self, write: bool) -> None:
        if write:
            self.writing = True
        else:
            self.readers += 1

    def give(self, write: bool) -> None:
        if write:
            self.writing = False
        else:
            self.readers -= 1


class Use:
    """The span of one call on a handle: ``with`` gives the pointer."""

    __slots__ = ("_handle", "_guards")

    def __init__(self, handle: "Handle", guards: Tuple[Tuple[Guard, bool], ...]) -> None:
        self._handle = handle
        self._guards = guards

    def __enter__(self) -> ctypes.c_void_p:
        with _SYNC.lock:
            self._handle._check_open()
            for guard, write in self._guards:
                guard.check(write)
            for guard, write in self._guards:
                guard.take(write)
            self._handle._pin()
            return self._handle._pointer

    def __exit__(self, *exception: object) -> None:
        with _SYNC.lock:
            for guard, write in self._guards:
                guard.give(write)
        self._handle._unpin()


class Handle:
    """An object of the library. Use it in a ``with`` statement, or call :meth:`close`, or leave it to the collector."""

    _kind = "object"
    _free: Any = None
    # An object whose constructor failed early has these, and nothing to free.
    _closed = True
    _pointer = ctypes.c_void_p()

    def _setup(
        self,
        keep: Tuple[object, ...] = (),
        guards: Tuple[Guard, ...] = (),
        owner: Optional["Handle"] = None,
        guard: Optional[Guard] = None,
    ) -> None:
        """keep: objects that must not be collected before this one. guards: of the native objects it stands on,
        which each of its calls touches too. guard: its own, when another object made it. owner: whose the
        pointer is, when it is not this object's to free."""
        self._guard = guard or Guard(self._kind)
        self._others = guards
        self._keep = keep
        self._owner = owner
        self._uses = 0
        # Filled by the call that creates the native object, so that nothing is lost when Ctrl-C comes right after it.
        self._pointer = ctypes.c_void_p()
        self._closed = False

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedError("the %s is closed" % self._kind)
        if self._owner is not None:
            self._owner._check_open()

    def _pin(self) -> None:
        self._uses += 1
        if self._owner is not None:
            self._owner._pin()

    def _unpin(self) -> None:
        with _SYNC.lock:
            self._uses -= 1
            pointer = self._take()
        self._release(pointer)
        if self._owner is not None:
            self._owner._unpin()

    def _read(self) -> Use:
        """A call marked "shared-read" in the headers."""
        return Use(self, ((self._guard, False),) + tuple((guard, False) for guard in self._others))

    def _write(self) -> Use:
        """A call marked "exclusive"; what the object merely stands on is read."""
        return Use(self, ((self._guard, True),) + tuple((guard, False) for guard in self._others))

    def _any(self) -> Use:
        """A call marked "any": beside whatever else runs."""
        return Use(self, ())

    def _take(self, sync: _Sync = _SYNC) -> Optional[ctypes.c_void_p]:
        """The pointer to free, once: when the object is closed and in no call."""
        with sync.lock:
            if not self._closed or self._uses or not self._pointer:
                return None
            pointer, self._pointer = self._pointer, type(self._pointer)()
            return pointer

    def _release(self, pointer: Optional[ctypes.c_void_p]) -> None:
        # Not under the lock: freeing a context waits for its threads.
        if pointer is None:
            return
        if self._owner is None:
            self._free(pointer)
        self._keep = ()

    @property
    def closed(self) -> bool:
        """Whether :meth:`close` was called."""
        return self._closed

    def close(self) -> None:
        """Gives up this object; again is allowed. Objects made from it go on: the library keeps what they need.

        During a call of another thread on this object it only marks it; the end of that call frees."""
        if self._closed:
            return
        self._closed = True
        self._release(self._take())

    def __enter__(self: _Self) -> _Self:
        self._check_open()
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def __del__(self) -> None:
        # At the end of the interpreter globals may be gone: close() reaches all it needs through this object, its
        # class and default arguments.
        self.close()

    def __copy__(self) -> Any:
        raise TypeError("a %s can't be copied" % self._kind)

    def __deepcopy__(self, memo: object) -> Any:
        raise TypeError("a %s can't be copied" % self._kind)

    def __reduce__(self) -> Any:
        raise TypeError("a %s can't be pickled: save it to a file" % self._kind)
