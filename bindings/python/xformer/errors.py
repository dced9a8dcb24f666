"""Errors: one exception class for each status of the library, so that a caller catches what it can mend.

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
    """The statuses of ``xformer/status.h``; their numbers never change."""

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

    ``message`` is one sentence: the value found and the value expected. ``status`` is a :class:`Status`, or an int
    when the library is newer than this module. ``native_code`` is the code of the layer below (errno, a cudaError_t)
    or 0.
    """

    def __init__(self, message: str, status: Union[Status, int] = Status.INTERNAL, native_code: int = 0) -> None:
        # All three go to BaseException, so that pickling (a worker process that fails) makes the same object again; an
        # OSError would take the first for its errno.
        BaseException.__init__(self, message, status, native_code)
        self.message = message
        self.status = status
        self.native_code = native_code
        if isinstance(self, OSError):
            named: Any = self  # which is of two kinds, as mypy sees only in the classes below
            named.errno = native_code or None
            named.strerror = os.strerror(native_code) if native_code else message

    def __init_subclass__(cls, status: Optional[Status] = None) -> None:
        """status: that of which this is the exception."""
        if status is not None:
            BY_STATUS[status] = cls

    def __str__(self) -> str:
        return self.message


class InvalidArgumentError(XformerError, ValueError, status=Status.INVALID_ARGUMENT):
    """A value that the parameter can't take."""


class NoMemoryError(XformerError, MemoryError, status=Status.NO_MEMORY):
    """The allocator said no, or the budget "context.memory_budget" would be exceeded."""


class NotFoundError(XformerError, LookupError, status=Status.NOT_FOUND):
    """No option, file, device or tensor of that name."""


class NoFileError(NotFoundError, FileNotFoundError):
    """The NotFoundError of a file or folder: what the operating system called ENOENT."""


class OutOfRangeError(XformerError, ValueError, status=Status.OUT_OF_RANGE):
    """A number outside its documented bounds."""


class BufferTooSmallError(XformerError, status=Status.BUFFER_TOO_SMALL):
    """A buffer is too small. This package sizes its buffers itself, so it is not met in normal use."""


class StateError(XformerError, status=Status.STATE):
    """The call is not allowed in the object's present state."""


class ClosedError(StateError):
    """The object was closed before."""

    def __init__(self, message: str, status: Union[Status, int] = Status.STATE, native_code: int = 0) -> None:
        super().__init__(message, status, native_code)


class BusyError(XformerError, status=Status.BUSY):
    """The object is in another call, of another thread perhaps, that can't run beside this one. Nothing was done."""


class IoError(XformerError, OSError, status=Status.IO):
    """The operating system refused to open, read or write; ``native_code`` is its errno, and so is ``errno``, which is
    None when it was no system call that failed."""


class NoAccessError(IoError, PermissionError):
    """The IoError of a file or folder that may not be read or written: EACCES or EPERM."""


class CorruptError(XformerError, status=Status.CORRUPT):
    """The file is damaged."""


class LimitError(XformerError, status=Status.LIMIT):
    """The file or the input asks for more than the documented limits allow."""


class VersionError(XformerError, status=Status.VERSION):
    """The file or the plugin was written for another version of the library."""


class DataError(XformerError, ValueError, status=Status.DATA):
    """Text is not valid UTF-8, or training data are not of the promised form."""


class UnsupportedError(XformerError, status=Status.UNSUPPORTED):
    """This build, backend or device can't do it."""


class BackendError(XformerError, status=Status.BACKEND):
    """A backend failed; ``native_code`` is its own code."""


class NonfiniteError(XformerError, ArithmeticError, status=Status.NONFINITE):
    """Loss or gradients are not finite; weights and optimizer are as before the call."""


class ForkedError(XformerError, status=Status.FORKED):
    """The object belongs to the process from which this one was forked. Start workers by "spawn"."""


class CancelledError(XformerError, status=Status.CANCELLED):
    """The call was cancelled. The object stays usable."""


class CallbackError(XformerError, status=Status.CALLBACK):
    """A callback asked to stop."""


class DeadlineError(XformerError, status=Status.DEADLINE):
    """"decode.deadline_ms" passed before there was anything to give for a sentence."""


class PeerError(XformerError, status=Status.PEER):
    """Another rank of a training job failed, ended or was silent for "context.comm_timeout"."""


class DesyncError(XformerError, status=Status.DESYNC):
    """The ranks do not train the same thing: other options, data, versions or parameters."""


class InternalError(XformerError, status=Status.INTERNAL):
    """A defect of the library: please report it."""


#: What the operating system said that Python has an exception of its own for.
_BY_ERRNO: Dict[Tuple[int, int], Type[XformerError]] = {
    (Status.NOT_FOUND, errno.ENOENT): NoFileError,
    (Status.IO, errno.EACCES): NoAccessError,
    (Status.IO, errno.EPERM): NoAccessError,
}


def make(status: int, native_code: int, message: str) -> XformerError:
    """The exception for a negative status; XformerError itself for one that this module does not know."""
    kind = _BY_ERRNO.get((status, native_code)) or BY_STATUS.get(status)
    if kind is None:
        return XformerError(message, status, native_code)
    return kind(message, Status(status), native_code)
