"""Errors: one exception class for each status of the library.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import errno
import os
from enum import IntEnum
from typing import Any, Dict, Optional, Tuple, Type, Union

__all__ = [  # fmt: skip
    "BackendError", "BufferTooSmallError", "BusyError", "CallbackError", "CancelledError", "ClosedError",
    "CorruptError", "DataError", "DeadlineError", "DesyncError", "ForkedError", "InternalError",
    "InvalidArgumentError", "IoError", "LimitError", "NoAccessError", "NoFileError", "NoMemoryError", "NonfiniteError",
    "NotFoundError", "OutOfRangeError", "PeerError", "StateError", "Status", "UnsupportedError", "VersionError",
    "XformerError",
]


class Status(IntEnum):
    """The status codes of ``xformer/status.h``. Their numbers never change."""

    OK = 0
    DONE = 1
    INVALID_ARGUMENT = -1
    NO_MEMORY = -2
    NOT_FOUND = -3
    OUT_OF_RANGE = -4
    BUFFER_TOO_SMALL = -5
    STATE = -6
    BUSY = -7
    IO = -20
    CORRUPT = -21
    LIMIT = -22
    VERSION = -23
    DATA = -24
    UNSUPPORTED = -40
    BACKEND = -41
    NONFINITE = -42
    FORKED = -43
    CANCELLED = -60
    CALLBACK = -61
    DEADLINE = -62
    PEER = -80
    DESYNC = -81
    INTERNAL = -99


#: Filled by the classes below.
BY_STATUS: Dict[int, Type["XformerError"]] = {}


class XformerError(Exception):
    """A call of the library failed.

    ``message`` is one sentence: what was found, what was expected, and what to do. ``status`` is a :class:`Status`, or
    an int if this module does not define it. ``native_code`` is the code of the layer below (errno, a cudaError_t), or
    0.
    """

    def __init__(self, message: str, status: Union[Status, int] = Status.INTERNAL, native_code: int = 0) -> None:
        # BaseException receives all arguments, so that pickling (in worker processes) restores the object. OSError
        # would interpret the first one as errno.
        BaseException.__init__(self, message, status, native_code)
        self.message = message
        self.status = status
        self.native_code = native_code
        if isinstance(self, OSError):
            named: Any = self  # mypy does not know that a subclass is also an OSError
            named.errno = native_code or None
            named.strerror = os.strerror(native_code) if native_code else message

    def __init_subclass__(cls, status: Optional[Status] = None) -> None:
        """status: the status that raises this class."""
        if status is not None:
            BY_STATUS[status] = cls

    def __str__(self) -> str:
        return self.message


class InvalidArgumentError(XformerError, ValueError, status=Status.INVALID_ARGUMENT):
    """An argument that the parameter does not accept."""


class NoMemoryError(XformerError, MemoryError, status=Status.NO_MEMORY):
    """An allocation failed, or "context.memory_budget" would be exceeded."""


class NotFoundError(XformerError, LookupError, status=Status.NOT_FOUND):
    """No option, file, device, tensor, or metadata of that name exists."""


class NoFileError(NotFoundError, FileNotFoundError):
    """A file or folder does not exist (ENOENT)."""


class OutOfRangeError(XformerError, ValueError, status=Status.OUT_OF_RANGE):
    """A number is outside its documented bounds."""


class BufferTooSmallError(XformerError, status=Status.BUFFER_TOO_SMALL):
    """A buffer is too small. This package chooses the sizes of its buffers, so this does not occur in normal use."""


class StateError(XformerError, status=Status.STATE):
    """The current state of the object does not allow the call."""


class ClosedError(StateError):
    """The object is closed."""

    def __init__(self, message: str, status: Union[Status, int] = Status.STATE, native_code: int = 0) -> None:
        super().__init__(message, status, native_code)


class BusyError(XformerError, status=Status.BUSY):
    """Another call is using the object. Nothing was done."""


class IoError(XformerError, OSError, status=Status.IO):
    """The operating system failed to open, read, or write. ``errno`` is None if the failure was not a system call."""


class NoAccessError(IoError, PermissionError):
    """A file or folder may not be read or written (EACCES or EPERM)."""


class CorruptError(XformerError, status=Status.CORRUPT):
    """The file is damaged."""


class LimitError(XformerError, status=Status.LIMIT):
    """The file or the input exceeds a documented limit."""


class VersionError(XformerError, status=Status.VERSION):
    """The file or the plugin was written for another version of the library."""


class DataError(XformerError, ValueError, status=Status.DATA):
    """Text is not valid UTF-8, or training data do not have the documented form."""


class UnsupportedError(XformerError, status=Status.UNSUPPORTED):
    """This build, backend, or device does not support the request."""


class BackendError(XformerError, status=Status.BACKEND):
    """A backend failed; ``native_code`` is its own code."""


class NonfiniteError(XformerError, ArithmeticError, status=Status.NONFINITE):
    """The loss or the gradient is not finite. Parameters and optimizer state are unchanged."""


class ForkedError(XformerError, status=Status.FORKED):
    """The object was created in the process from which this one was forked. Start workers with "spawn"."""


class CancelledError(XformerError, status=Status.CANCELLED):
    """The call was cancelled. The object remains usable."""


class CallbackError(XformerError, status=Status.CALLBACK):
    """A callback requested to stop."""


class DeadlineError(XformerError, status=Status.DEADLINE):
    """The deadline passed before the call, or a sentence, had a result."""


class PeerError(XformerError, status=Status.PEER):
    """Another rank of a training job failed, ended, or did not respond within "context.comm_timeout"."""


class DesyncError(XformerError, status=Status.DESYNC):
    """The ranks do not train the same model: options, data, versions, or parameters differ."""


class InternalError(XformerError, status=Status.INTERNAL):
    """A defect of the library. Please report it."""


#: Errors of the operating system for which Python has an exception class.
_BY_ERRNO: Dict[Tuple[int, int], Type[XformerError]] = {
    (Status.NOT_FOUND, errno.ENOENT): NoFileError,
    (Status.IO, errno.EACCES): NoAccessError,
    (Status.IO, errno.EPERM): NoAccessError,
}


def make(status: int, native_code: int, message: str) -> XformerError:
    """Returns the exception for a negative status; XformerError if this module does not define the status."""
    kind = _BY_ERRNO.get((status, native_code)) or BY_STATUS.get(status)
    if kind is None:
        return XformerError(message, status, native_code)
    return kind(message, Status(status), native_code)
