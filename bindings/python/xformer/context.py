"""The context: device, threads, memory, log, cancel.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import ctypes
from enum import IntEnum
from typing import Any, Callable, NamedTuple, Optional, Tuple

from ._abi import call, lib, xf_backend_info, xf_log_fn, xf_memory_stats
from ._buffer import Path, path_bytes
from ._handle import Handle
from .config import ConfigLike, using


class LogLevel(IntEnum):
    """Weight of a log line."""

    ERROR = 0
    WARNING = 1
    INFO = 2
    DEBUG = 3


LogCallback = Callable[[LogLevel, str, str], object]


class MemoryStats(NamedTuple):
    """Memory of a context's tensors in bytes; budget is 0 when there is none."""

    current: int
    peak: int
    budget: int
    allocations: int


class BackendInfo(NamedTuple):
    """A backend, present or not; reason says why it is not available, "" when it is."""

    name: str
    version: str
    path: str
    kind: str
    device_count: int
    active: bool
    reason: str


def _text(value: Optional[bytes]) -> str:
    return (value or b"").decode("utf-8", "replace")


class Context(Handle):
    """The root of all objects: an opened device with its threads, memory account and log.

    ``config`` is a :class:`Config` or a mapping of options, of which those of the group "context." are read here:
    ``Context({"context.threads": 2, "context.device": "cpu"})``.

    Objects of distinct contexts may be used from distinct threads at will; objects of one context as well, but for one
    object in two calls at once, which is a BusyError unless both calls only read it. After ``os.fork()`` the child
    can't use the contexts of its parent (ForkedError): let :mod:`multiprocessing` start its workers by "spawn".
    """

    _kind = "context"
    _free = lib.xf_context_free

    def __init__(self, config: ConfigLike = None) -> None:
        self._setup()
        self._log: Any = None
        with using(config) as options:
            call(lib.xf_context_create, options, None, ctypes.byref(self._pointer))

    def set_log(self, callback: Optional[LogCallback], level: LogLevel = LogLevel.WARNING) -> None:
        """Sends log lines up to ``level`` to ``callback(level, component, message)``; None is silence, the beginning.

        It is called within calls, on their threads, and must not use this context but for :meth:`cancel`. An exception
        in it does not stop the call: it goes to :func:`sys.unraisablehook`.
        """
        level = LogLevel(level)
        function = xf_log_fn(0)
        if callback is not None:
            wanted = callback

            def log_line(user: object, weight: int, component: bytes, message: bytes) -> None:
                wanted(LogLevel(weight), _text(component), _text(message))

            function = xf_log_fn(log_line)
        with self._write() as context:
            call(lib.xf_context_set_log, context, function, None, level)
            # The library calls it as long as an object of this context lives; all of them hold this object.
            self._log = function

    def cancel(self) -> None:
        """Asks the long call that runs on this context in another thread, or the next one, to end in CancelledError."""
        with self._any() as context:
            lib.xf_context_cancel(context)

    @property
    def device(self) -> str:
        """What this context computes with, one line for people."""
        with self._read() as context:
            return _text(lib.xf_context_device(context))

    @property
    def memory(self) -> MemoryStats:
        """The memory account; may be read while calls run."""
        stats = xf_memory_stats()
        with self._any() as context:
            call(lib.xf_context_get_memory, context, ctypes.byref(stats))
        return MemoryStats(stats.current, stats.peak, stats.budget, stats.allocations)

    @property
    def backends(self) -> Tuple[BackendInfo, ...]:
        """The backends known here, available or not."""
        found = []
        with self._read() as context:
            for index in range(lib.xf_backend_count(context)):
                info = xf_backend_info()
                call(lib.xf_backend_get, context, index, ctypes.byref(info))
                found.append(
                    BackendInfo(
                        _text(info.name),
                        _text(info.version),
                        _text(info.path),
                        _text(info.kind),
                        info.device_count,
                        bool(info.active),
                        _text(info.reason),
                    )
                )
        return tuple(found)

    def load_backend(self, path: Path) -> None:
        """Loads a plugin from a file, to look it over: it is listed in :attr:`backends` afterwards."""
        with self._write() as context:
            call(lib.xf_backend_load, context, path_bytes(path))
