"""Cancellation, deadline, and progress of a single call.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import asyncio
import contextvars
import ctypes
import math
import sys
import threading
from contextlib import contextmanager
from typing import Any, Callable, Iterator, List, Optional, Union

from ._abi import abi, call, text
from ._buffer import wrong
from .errors import XformerError

__all__ = ["CancelToken", "Deadline", "Progress"]

#: Receives the progress of a call: the task, the units that are done, and the units in all.
Progress = Callable[[str, int, int], object]
#: Seconds from the start of the call.
Deadline = Union[int, float]


class CancelToken:
    """Cancels calls from another thread or from a signal handler.

    Pass it to any number of calls as ``cancel=token``. After :meth:`cancel`, they raise :class:`CancelledError` soon, and
    calls that begin later raise it immediately. Objects remain usable after a cancelled call.
    """

    def __init__(self) -> None:
        self._value = ctypes.c_int32(0)

    def cancel(self) -> None:
        """Cancels the calls that have this token."""
        self._value.value = 1

    def reset(self) -> None:
        """Clears the token for later calls."""
        self._value.value = 0

    def is_cancelled(self) -> bool:
        """Returns whether :meth:`cancel` was called."""
        return self._value.value != 0


class Call:
    """The xf_call of one call. Also collects the exception that a callback of the call raised.

    Python runs signal handlers, for example that of Ctrl-C, when a callback begins. The progress callback is always
    set, so a long call can be interrupted ten times a second.
    """

    def __init__(
        self,
        progress: Optional[Progress] = None,
        deadline: Optional[Deadline] = None,
        cancel: Optional[CancelToken] = None,
    ) -> None:
        if progress is not None and not callable(progress):
            raise wrong("progress", "a function or None", progress)
        if cancel is not None and not isinstance(cancel, CancelToken):
            raise wrong("cancel", "a CancelToken or None", cancel)

        def report(user: object, state: Any) -> None:
            if progress is not None:
                progress(text(state.contents.task), state.contents.done, state.contents.total)

        self._error: Optional[BaseException] = None
        self._own = CancelToken() if cancel is None else None
        flag = (cancel or self._own)._value  # type: ignore[union-attr]
        callback = abi.xf_progress_fn(self.guard(report))
        struct = abi.xf_call(ctypes.pointer(flag), milliseconds(deadline), callback)
        self._as_parameter_ = ctypes.pointer(struct)

    def guard(self, function: Callable[..., object]) -> Callable[..., int]:
        """Returns a callback that returns 0, or 1 if the function raised, now or before."""

        def _xformer_callback(*args: object) -> int:
            if self._error is None:
                try:
                    function(*args)
                    return 0
                except BaseException as error:  # raised again by run()
                    self._fail(error)
            return 1

        return _xformer_callback

    def run(self, function: Any, *args: object) -> int:
        """Calls a function with this object among its arguments. Raises what a callback raised."""
        status = 0
        try:
            with self._hook():
                status = call(function, *args)
        except XformerError:
            if self._error is None:
                raise
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        return status

    def _fail(self, error: BaseException) -> None:
        self._error = error
        if self._own is not None:
            self._own.cancel()

    @contextmanager
    def _hook(self) -> Iterator[None]:
        """Catches what a signal handler raises before the first line of a callback. ctypes passes it only to
        sys.unraisablehook. Signal handlers run only in the main thread, so only that thread changes the hook."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = sys.unraisablehook

        def hook(report: Any) -> None:
            # From Python 3.13 on, the callback is named only in the message.
            named = getattr(report.object, "__name__", "") + (report.err_msg or "")
            if "_xformer_callback" in named and report.exc_value is not None:
                self._fail(report.exc_value)
            else:
                before(report)

        sys.unraisablehook = hook
        try:
            yield
        finally:
            sys.unraisablehook = before


def milliseconds(deadline: Optional[Deadline]) -> int:
    """Returns a deadline for xf_call. One that has already passed becomes 1 ms, because 0 means no deadline."""
    if deadline is None:
        return 0
    if not isinstance(deadline, (int, float)) or isinstance(deadline, bool):
        raise wrong("deadline", "a number of seconds or None", deadline)
    if math.isnan(deadline):
        raise ValueError("deadline is not a number")
    return max(1, math.ceil(1000 * min(deadline, 1e9)))


async def in_thread(function: Callable[..., Any], *args: object, **kwargs: object) -> Any:
    """Runs function(*args, cancel=token, **kwargs) in a new thread.

    If the task is cancelled, the token is cancelled and the call is awaited, so its objects are usable afterwards. A new
    thread, unlike one of an executor, never waits for other calls.
    """
    token = CancelToken()
    loop = asyncio.get_running_loop()
    done: "asyncio.Future[None]" = loop.create_future()
    results: List[Any] = []
    errors: List[BaseException] = []

    def finish() -> None:
        if not done.done():
            done.set_result(None)

    def run() -> None:
        try:
            results.append(function(*args, cancel=token, **kwargs))
        except BaseException as error:  # raised again by the task
            errors.append(error)
        try:
            loop.call_soon_threadsafe(finish)
        except RuntimeError:
            pass  # the loop is closed

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(run,), name="xformer").start()
    try:
        await asyncio.shield(done)
    except asyncio.CancelledError:
        token.cancel()
        while not done.done():
            try:
                await asyncio.shield(done)
            except asyncio.CancelledError:
                pass  # cancelled again
        raise
    if errors:
        try:
            raise errors[0]
        finally:
            errors.clear()  # or the traceback and the list would refer to each other
    return results[0]
