"""Functions of Python that the library calls within a call: what they raise ends that call and is raised there.

Python runs the handlers of signals, Ctrl-C's among them, when one of them begins: so each long call, which tells how
far it has come ten times a second, can be interrupted.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from typing import Any, Callable, Iterator, Optional

from ._abi import call
from .errors import CallbackError


class _Raised(threading.local):
    error: Optional[BaseException] = None


_raised = _Raised()


def heard(function: Callable[..., object]) -> Callable[..., int]:
    """A callback that answers 0, or 1 when the function raised, now or before in this call."""

    def _xformer_callback(*args: object) -> int:
        if _raised.error is None:
            try:
                function(*args)
                return 0
            except BaseException as error:  # of any kind: it goes on where the library was called
                _raised.error = error
        return 1

    return _xformer_callback


@contextmanager
def _listening() -> Iterator[None]:
    """What a signal's handler raises before the first line of a callback ctypes gives to sys.unraisablehook alone, and
    tells the library nothing of use. Handlers run in the main thread only, so the hook is changed by one thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = sys.unraisablehook

    def hook(report: Any) -> None:
        # Since Python 3.13 the callback is named in the message and no longer given.
        named = getattr(report.object, "__name__", "") + (report.err_msg or "")
        if "_xformer_callback" in named and report.exc_value is not None:
            _raised.error = report.exc_value
        else:
            before(report)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before


def long_call(function: Any, *args: object) -> None:
    """call() of a function that takes long or asks back."""
    outer, _raised.error = _raised.error, None  # a callback may call the library itself
    try:
        with _listening():
            call(function, *args)
    except CallbackError:
        if _raised.error is None:
            raise
    finally:
        error, _raised.error = _raised.error, outer
    if error is not None:
        raise error
