"""The context: device, threads, memory, log, cancel.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import ctypes
from enum import IntEnum
from typing import Callable, NamedTuple, Optional, Tuple

from ._abi import call, lib, read, structs, text, xf_log_fn, xf_progress_fn
from ._buffer import integer, wrong
from ._callback import heard
from ._handle import Handle
from .config import ConfigLike, pointer_of

__all__ = ["BackendInfo", "BackendState", "Context", "LogLevel", "MemoryStats"]


class LogLevel(IntEnum):
    """Severity of a log line."""

    ERROR = 0
    WARNING = 1
    INFO = 2
    DEBUG = 3


class BackendState(IntEnum):
    """What a context knows of a backend: FOUND was not needed and so not opened; ACTIVE computes here."""

    ABSENT = 0
    FOUND = 1
    UNUSABLE = 2
    USABLE = 3
    ACTIVE = 4


LogCallback = Callable[[LogLevel, str, str], object]
ProgressCallback = Callable[[str, int, int], object]


class MemoryStats(NamedTuple):
    """Memory of a context's tensors and corpora in bytes; budget is 0 when there is none."""

    current: int
    peak: int
    budget: int
    allocations: int


class BackendInfo(NamedTuple):
    """A backend, present or not; reason says why it can't serve, "" when it can or was not asked."""

    name: str
    version: str
    path: str
    kind: str
    state: BackendState
    device_count: int
    reason: str


class Context(Handle):
    """The root of all objects: an opened device with its threads, memory account and log.

    ``config`` is a :class:`Config` or a mapping of options, of which those of the group "context." are read here:
    ``Context({"context.threads": 2, "context.device": "cpu"})``.

    ``log(level, component, message)`` hears lines up to ``log_level``. An exception in it does not stop the call: it goes
    to :func:`sys.unraisablehook`. ``progress(task, done, total)`` hears how far a long call has come, at most ten times
    a second; what it raises ends that call and is raised there. Both run within calls, on their threads, and must not
    use the objects of this context but to cancel.

    Objects may be used from several threads; one object in two calls at once is a BusyError, unless both only read it.
    After ``os.fork()`` the child can't use the contexts of its parent (ForkedError): let :mod:`multiprocessing` start
    its workers by "spawn".
    """

    _kind = "context"
    _free = lib.xf_context_free

    def __init__(
        self,
        config: ConfigLike = None,
        *,
        log: Optional[LogCallback] = None,
        log_level: LogLevel = LogLevel.WARNING,
        progress: Optional[ProgressCallback] = None,
    ) -> None:
        for name, listener in (("log", log), ("progress", progress)):
            if listener is not None and not callable(listener):
                raise wrong(name, "a function or None", listener)

        def log_line(user: object, level: int, component: bytes, message: bytes) -> None:
            log(LogLevel(level), text(component), text(message))  # type: ignore[misc]

        def tick(user: object, task: bytes, done: int, total: int) -> None:
            if progress is not None:
                progress(text(task), done, total)

        host = structs.xf_host()
        host.log = xf_log_fn(log_line) if log is not None else xf_log_fn(0)
        host.log_level = LogLevel(log_level)
        host.progress = xf_progress_fn(heard(tick))  # without a listener too: it lets Ctrl-C in
        # The library calls them as long as an object of this context lives; all of them hold what is kept here.
        self._create(lib.xf_context_create, pointer_of(config), ctypes.byref(host), keep=(host.log, host.progress))

    def cancel(self) -> None:
        """Ends the calls that run in other threads on objects of this context in CancelledError."""
        lib.xf_context_cancel(self._c)

    @property
    def device(self) -> str:
        """What this context computes with, one line for people."""
        return text(lib.xf_context_device(self._c))

    @property
    def memory(self) -> MemoryStats:
        """The memory account; may be read while calls run."""
        return read(MemoryStats, structs.xf_memory_stats, lib.xf_context_get_memory, self._c)

    @property
    def rank(self) -> int:
        """This process's number among the ranks of its training job; 0 for one that is alone."""
        return int(lib.xf_context_rank(self._c))

    @property
    def rank_count(self) -> int:
        """The number of those ranks; 1 for a process that is alone."""
        return int(lib.xf_context_rank_count(self._c))

    def all_gather(self, value: int) -> Tuple[int, ...]:
        """Gives a number to all ranks and gets theirs, in their order. Every rank makes this call, in the same place;
        with it they decide as one, to stop for instance. PeerError when a rank is gone."""
        values = (ctypes.c_int64 * self.rank_count)()
        call(lib.xf_context_all_gather, self._c, integer(value, "value"), values)
        return tuple(values)

    @property
    def backends(self) -> Tuple[BackendInfo, ...]:
        """The backends known here, available or not."""
        context = self._c
        given = (BackendInfo, structs.xf_backend_info, lib.xf_backend_get, context)
        return tuple(read(*given, index, state=BackendState) for index in range(lib.xf_backend_count(context)))
