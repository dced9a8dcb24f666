"""The context: device, threads, memory, log.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import ctypes
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Optional, Tuple

from ._abi import abi, lib, read, text
from ._buffer import wrong
from ._handle import Handle
from .config import ConfigLike, pointer_of

if TYPE_CHECKING:
    from .experimental import Comm

__all__ = ["BackendInfo", "BackendState", "Context", "ContextInfo", "LogCallback", "LogLevel", "MemoryStats"]


class LogLevel(IntEnum):
    """Severity of a log line."""

    ERROR = abi.XF_LOG_ERROR
    WARNING = abi.XF_LOG_WARNING
    INFO = abi.XF_LOG_INFO
    DEBUG = abi.XF_LOG_DEBUG


class BackendState(IntEnum):
    """State of a backend in a context. FOUND: not opened, because it is not needed. ACTIVE: the context uses it."""

    ABSENT = abi.XF_BACKEND_ABSENT
    FOUND = abi.XF_BACKEND_FOUND
    UNUSABLE = abi.XF_BACKEND_UNUSABLE
    USABLE = abi.XF_BACKEND_USABLE
    ACTIVE = abi.XF_BACKEND_ACTIVE


#: Receives log lines: level, part of the library, and message.
LogCallback = Callable[[LogLevel, str, str], object]

_TYPES = {abi.XF_TYPE_FP32: "fp32", abi.XF_TYPE_FP16: "fp16", abi.XF_TYPE_BF16: "bf16", abi.XF_TYPE_INT8: "int8"}


def type_name(type_: int) -> str:
    """Returns the name of a number type, as in the option "model.weights"."""
    return _TYPES.get(type_, "type %d" % type_)


class ContextInfo(NamedTuple):
    """Properties of a context. ``description`` is one line for people. ``arithmetic`` says what the bits of results
    depend on besides backend and precision."""

    description: str
    backend: str
    device: str
    arithmetic: str
    precision: str
    threads: int
    rank: int
    rank_count: int


class MemoryStats(NamedTuple):
    """Memory account of a context in bytes: tensors, workspaces, and corpora. A budget of 0 means no limit."""

    current: int
    peak: int
    budget: int
    allocations: int


class BackendInfo(NamedTuple):
    """A backend of the library, available or not. ``reason`` says why it cannot be used."""

    name: str
    version: str
    path: str
    kind: str
    state: BackendState
    device_count: int
    reason: str


class Context(Handle):
    """The root of all objects: an open device with its threads, memory account, and log.

    Reads the options of the group "context." from ``config``, a :class:`Config` or a mapping:
    ``Context({"context.threads": 2, "context.device": "cpu"})``.

    ``log(level, component, message)`` receives lines up to ``log_level``. It must not use objects of this context. Its
    exceptions do not stop the call; they are passed to :func:`sys.unraisablehook`. ``comm`` connects the ranks of a
    training job; see :mod:`xformer.experimental`.

    Distinct objects may be used from several threads at the same time. A call that finds its object in use raises
    :class:`BusyError`, unless both calls only read it. After ``os.fork()`` the child cannot use the contexts of its
    parent (:class:`ForkedError`); :mod:`multiprocessing` must start workers with "spawn".
    """

    _kind = "context"
    _free = lib.xf_context_free

    def __init__(
        self,
        config: ConfigLike = None,
        *,
        log: Optional[LogCallback] = None,
        log_level: LogLevel = LogLevel.WARNING,
        comm: Optional["Comm"] = None,
    ) -> None:
        if log is not None and not callable(log):
            raise wrong("log", "a function or None", log)

        def log_line(user: object, line: Any) -> None:
            level, component, message = line.contents.level, line.contents.component, line.contents.message
            log(LogLevel(level), text(component), text(message))  # type: ignore[misc]

        host = abi.xf_host(log_level=LogLevel(log_level))
        if log is not None:
            host.log = abi.xf_log_fn(log_line)
        if comm is not None:
            from .experimental import Comm  # which imports this module

            host.comm = Comm._pointer(comm)
        # The library calls the log while any object of the context exists. All of them keep the context's Native alive.
        self._create(lib.xf_context_create, pointer_of(config), ctypes.byref(host), keep=host)
        if comm is not None:
            comm._release()

    def cancel(self) -> None:
        """Cancels all calls that are running on the context and its objects. Later calls are not affected.

        To cancel one call, pass a :class:`CancelToken` to it.
        """
        lib.xf_context_cancel(self._c)

    @property
    def info(self) -> ContextInfo:
        """Device, precision, threads, and rank."""
        return read(ContextInfo, abi.xf_context_info, lib.xf_context_get_info, self._c, precision=type_name)

    @property
    def memory(self) -> MemoryStats:
        """The memory account. It may be read while calls are running."""
        return read(MemoryStats, abi.xf_memory_stats, lib.xf_context_get_memory, self._c)

    @property
    def backends(self) -> Tuple[BackendInfo, ...]:
        """The backends of the library, available or not."""
        context = self._c
        first = (BackendInfo, abi.xf_backend_info, lib.xf_context_get_backend, context)
        return tuple(read(*first, index, state=BackendState) for index in range(lib.xf_context_backend_count(context)))
