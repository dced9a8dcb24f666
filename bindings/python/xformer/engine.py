"""Decoding for servers and editors: requests that arrive at any time, partial results, and a replaceable model.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import asyncio
import atexit
import ctypes
import functools
import math
import os
import threading
import time
from collections import deque
from typing import Any, Callable, Deque, Dict, Iterable, List, NamedTuple, Optional, Sequence, Union
from weakref import WeakSet

from . import _buffer
from ._abi import abi, call, lib, read
from ._buffer import Text
from ._constraint import Constraint, c_constraint
from ._handle import Handle, Native
from .call import Call, Deadline, milliseconds
from .config import ConfigLike, pointer_of
from .decoder import Hypotheses, c_models, hypotheses_of
from .errors import BusyError, Status, XformerError
from .model import Model

__all__ = ["Engine", "EngineInfo", "Event", "Stream"]

#: Seconds after which a wait checks whether the engine was closed and runs signal handlers.
_SLICE = 0.02
_POLL = 0.002  # seconds between polls of asyncio without a descriptor


class EngineInfo(NamedTuple):
    """State and counters of an engine; see ``xf_engine_info``. ``descriptor`` is readable while the library has an
    event."""

    waiting: int
    active: int
    events: int
    submitted: int
    completed: int
    cancelled: int
    failed: int
    steps: int
    rows: int
    encoder_passes: int
    restarts: int
    model_hash: int
    model_count: int
    descriptor: int


class Event(NamedTuple):
    """An event of a request.

    A partial event (``last`` is False) has one hypothesis: the tokens that are certain, and their text. Later events of
    the request begin with them. ``model_hash`` identifies the model that decodes the request (:class:`EngineInfo`).
    """

    id: int
    hypotheses: Hypotheses
    last: bool
    model_hash: int

    @property
    def text(self) -> Optional[str]:
        """Text of the best hypothesis. Raises the error of a request that failed."""
        text: Optional[str] = self.hypotheses[0].text
        return text


class _Request:
    """A request until its last event. Other threads use it with the lock of the engine."""

    def __init__(self, constraint: Optional[Constraint], events: Optional[Deque[Event]]) -> None:
        self.id = 0
        # xf_request::constraint points to them.
        self.call = None if constraint is None else Call()
        self.constraint = None if constraint is None else ctypes.pointer(c_constraint(constraint, self.call))
        self.events = events  # of Engine.next(); None: the request keeps its newest event
        self.event: Optional[Event] = None
        self.ended = self.dropped = False
        self.loop: Optional[asyncio.AbstractEventLoop] = None

    def take(self) -> Optional[Event]:
        event, self.event = self.event, None
        return event

    def attach(self) -> None:
        """Wakes the running task after each event."""
        if self.loop is None:
            self.signal = asyncio.Event()
            self.loop = asyncio.get_running_loop()

    def wake(self) -> None:
        if self.loop is not None:
            try:
                self.loop.call_soon_threadsafe(self.signal.set)
            except RuntimeError:
                pass  # the loop is closed


def _free(
    keep: Any,
    pointer: Any,
    free: Any = lib.xf_engine_free,
    current: Any = threading.current_thread,
    foreign: Any = threading._DummyThread,  # type: ignore[attr-defined]
    thread: Any = threading.Thread,
) -> None:
    """Frees an engine, which uses keep until then. The garbage collector may run in a constraint, on the thread of the
    engine, which cannot wait for itself."""
    if isinstance(current(), foreign):
        thread(target=lambda pointer, keep: free(pointer), args=(pointer, keep)).start()
    else:
        free(pointer)


class Engine(Handle):
    """Decodes requests as they arrive, with one copy of the weights. Results are those of :class:`Decoder`.

    Reads the options of the groups "engine.", "decode.", and "text.". All methods may be called from any thread.
    :meth:`translate` waits for one result, :meth:`translate_async` does so in asyncio, and :meth:`stream` also reports
    partial results. :meth:`submit` returns immediately; :meth:`next` then returns the events.

    With the option "engine.thread" False, the engine computes in :meth:`step`, :meth:`translate`, and :meth:`stream`.
    While an engine uses a model, the model cannot be trained: train a copy, and pass it to :meth:`set_model`.
    ``ensemble`` and ``draft`` are those of :class:`Decoder`.
    """

    _kind = "engine"

    def __init__(
        self,
        model: Model,
        config: ConfigLike = None,
        *,
        ensemble: Iterable[Model] = (),
        draft: Optional[Model] = None,
    ) -> None:
        self._condition = threading.Condition()
        self._requests: Dict[int, _Request] = {}
        self._events: Deque[Event] = deque()
        self._keys = 0
        self._dropped = 0  # requests without a last event, for whose results no caller waits
        self._leading = False  # a thread receives events, also those of other threads
        self._readers: Dict[asyncio.AbstractEventLoop, int] = {}
        native = Model._of(model, "model")
        self._free = functools.partial(_free, (native, self._requests))
        more, held = c_models(ensemble, draft)
        self._create(lib.xf_engine_create, native, ctypes.byref(more), pointer_of(config))
        self._threadless = lib.xf_engine_step(self._c, None) == Status.DONE
        self._descriptor = self.info.descriptor
        _engines.add(self)

    def submit(
        self,
        source: Union[Text, Sequence[int]],
        config: ConfigLike = None,
        *,
        prefix: Union[Text, Sequence[int], None] = None,
        constraint: Optional[Constraint] = None,
        priority: int = 0,
        deadline: Optional[Deadline] = None,
        stream: bool = False,
    ) -> int:
        """Submits a text, or ids with the end symbol, and returns the id of the request. Never waits.

        The events of the request are returned by :meth:`next`; with ``stream`` also partial ones. Options of the groups
        "decode." and "text." in ``config`` override those of the engine. The translation begins with ``prefix``.
        Requests with a higher ``priority`` (-1000 to 1000) begin earlier. After ``deadline`` seconds, the request ends
        with its best hypothesis so far, or with a :class:`DeadlineError` if it has not begun. For ``constraint`` see
        :mod:`xformer.experimental`; it runs on the thread that computes, and its exception ends only this request.

        Raises :class:`BusyError` if the engine has "engine.max_requests" requests.
        """
        options = (prefix, constraint, priority, deadline, stream)
        return self._submit(source, config, options, self._events).id

    def cancel(self, id: int) -> bool:
        """Cancels a request: its last event has a :class:`CancelledError`. Returns False if it has already ended."""
        number = _buffer.integer(id, "id")
        return call(lib.xf_engine_cancel, self._c, number) == Status.OK

    def next(self, timeout: Optional[float] = None) -> Optional[Event]:
        """Returns the next event of a request of :meth:`submit`, or None after ``timeout`` seconds (None: no limit).
        The ``hypotheses.error`` of a request that failed is the reason.

        If a request has several events that were not received, only the newest one is kept.
        """
        return self._wait(lambda: self._events.popleft() if self._events else None, timeout)

    def step(self) -> bool:
        """Computes one step in this thread. Returns whether requests are left. Requires "engine.thread" False."""
        return call(lib.xf_engine_step, self._c) == Status.OK

    def set_model(self, model: Model, *, ensemble: Iterable[Model] = (), draft: Optional[Model] = None) -> None:
        """Replaces the model, and the ensemble or the draft. Requests that begin later use the new ones; active requests
        end with theirs.

        Raises :class:`BusyError` if a model is being trained, or if requests use seven earlier models;
        :class:`InvalidArgumentError` for a model of another context or with another "model.vocab_size", or for models
        that cannot decode together (:class:`Decoder`).
        """
        native = Model._of(model, "model")
        more, held = c_models(ensemble, draft)
        call(lib.xf_engine_set_model, self._c, native, ctypes.byref(more))

    @property
    def info(self) -> EngineInfo:
        """State and counters."""
        return read(EngineInfo, abi.xf_engine_info, lib.xf_engine_get_info, self._c)

    def translate(
        self,
        source: Union[Text, Sequence[int]],
        config: ConfigLike = None,
        *,
        prefix: Union[Text, Sequence[int], None] = None,
        constraint: Optional[Constraint] = None,
        priority: int = 0,
        deadline: Optional[Deadline] = None,
    ) -> Hypotheses:
        """Submits a request and waits for its hypotheses, best first. Raises the error of a request that failed, also
        what the constraint raised. Parameters are those of :meth:`submit`."""
        request = self._submit(source, config, (prefix, constraint, priority, deadline, False))
        with Stream(self, request) as events:
            return next(events).hypotheses

    async def translate_async(
        self,
        source: Union[Text, Sequence[int]],
        config: ConfigLike = None,
        *,
        prefix: Union[Text, Sequence[int], None] = None,
        constraint: Optional[Constraint] = None,
        priority: int = 0,
        deadline: Optional[Deadline] = None,
    ) -> Hypotheses:
        """Like :meth:`translate`, in asyncio, without a thread. Cancelling the task cancels the request."""
        request = self._submit(source, config, (prefix, constraint, priority, deadline, False))
        with Stream(self, request) as events:
            return (await events.__anext__()).hypotheses

    def stream(
        self,
        source: Union[Text, Sequence[int]],
        config: ConfigLike = None,
        *,
        prefix: Union[Text, Sequence[int], None] = None,
        constraint: Optional[Constraint] = None,
        priority: int = 0,
        deadline: Optional[Deadline] = None,
    ) -> "Stream":
        """Submits a request and returns an iterator of its events, for ``for`` and ``async for``: partial events, then
        the last one. An iterator that is closed or collected before its end cancels the request."""
        return Stream(self, self._submit(source, config, (prefix, constraint, priority, deadline, True)))

    def close(self) -> None:
        """Closes the engine. Calls that wait raise :class:`ClosedError`; other requests get no event."""
        super().close()
        with self._condition:
            self._condition.notify_all()
            for request in self._requests.values():
                request.wake()

    def _submit(self, source: Any, config: Any, options: Any, events: Optional[Deque[Event]] = None) -> _Request:
        prefix, constraint, priority, deadline, stream = options
        c, held, settings = abi.xf_request(), [], pointer_of(config)

        def put(value: Any, name: str, text: str, ids: str) -> None:
            if isinstance(value, (str, bytes, bytearray)):
                data = _buffer.utf8(value, name)
                held.append(data)
                setattr(c, text, ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p))
                setattr(c, text + "_length", len(data))
            else:
                numbers, count = _buffer.numbers(value, "i", name)
                setattr(c, ids + "s", (ctypes.c_int32 * max(1, count))(*numbers))
                setattr(c, ids + "_count", count)

        put(source, "source", "text", "source_id")
        if prefix is not None:
            put(prefix, "prefix", "prefix", "prefix_id")
        c.config = None if settings is None else settings._as_parameter_
        c.deadline_ms = milliseconds(deadline)
        c.priority, c.stream = _buffer.integer(priority, "priority", 32), bool(stream)
        request = _Request(constraint, events)
        if request.constraint is not None:
            c.constraint = request.constraint
        while self._dropped and self._receive(0):
            pass  # makes room
        with self._condition:
            self._keys += 1
            c.user = key = self._keys
            self._requests[key] = request
        id = ctypes.c_uint64()
        try:
            call(lib.xf_engine_submit, self._c, ctypes.byref(c), ctypes.byref(id))
        except BaseException:
            del self._requests[key]
            raise
        request.id = id.value
        return request

    def _receive(self, timeout: float) -> bool:
        """Receives an event for any waiting call, and waits at most timeout seconds for it."""
        c, native = abi.xf_event(), self._c
        if call(lib.xf_engine_next, native, math.ceil(1000 * timeout), None, ctypes.byref(c)) == Status.DONE:
            return False
        found = Native(lib.xf_hypotheses_free, pointer=c.hypotheses)
        request = self._requests[c.user]
        hypotheses = hypotheses_of(found, 0)
        if hypotheses.error is not None and request.call is not None and request.call._error is not None:
            hypotheses.error = request.call._error  # type: ignore[assignment]
        event = Event(c.id, hypotheses, bool(c.last), c.model_hash)
        with self._condition:
            if event.last:
                request.ended = True
                del self._requests[c.user]
                self._dropped -= request.dropped
            if request.dropped:
                return True
            if request.events is None:
                request.event = event
            else:
                request.events.append(event)
            request.wake()
            if request.loop is None:
                self._condition.notify_all()
        return True

    def _wait(
        self, take: Callable[[], Optional[Event]], timeout: Optional[float], step: bool = False
    ) -> Optional[Event]:
        """Waits until take() returns an event. One of the waiting threads receives the events of all."""
        end = math.inf if timeout is None else time.monotonic() + timeout
        leading = False
        try:
            while True:
                with self._condition:
                    event = take()
                    if event is not None:
                        return event
                    self._c  # raises an error if the engine is closed
                    left = end - time.monotonic()
                    if left <= 0 and self._leading:
                        return None
                    if self._leading and not leading:
                        self._condition.wait(None if left == math.inf else left)
                        continue
                    self._leading = leading = True
                self._receive(0 if step and self._step() else max(0, min(left, _SLICE)))
        finally:
            with self._condition:
                self._leading = self._leading and not leading
                self._condition.notify()  # another thread receives

    def _step(self) -> bool:
        """Computes a step if the engine has no thread. Returns whether requests are left."""
        try:
            return self._threadless and self.step()
        except BusyError:
            return False  # another thread computes

    async def _wait_async(self, request: _Request) -> Event:
        request.attach()
        loop, native = asyncio.get_running_loop(), self._c  # the descriptor must exist until the reader is removed
        polls = self._descriptor < 0  # on Windows
        if loop not in self._readers and not polls:
            loop.add_reader(self._descriptor, self._read)
        self._readers[loop] = self._readers.get(loop, 0) + 1
        try:
            while True:
                with self._condition:
                    event = request.take()
                if event is not None:
                    return event
                self._c
                if self._threadless:
                    self._step()
                    self._receive(0)
                    await asyncio.sleep(0)
                elif polls:
                    self._read()
                    await asyncio.sleep(0 if request.signal.is_set() else _POLL)
                    request.signal.clear()
                else:
                    await request.signal.wait()
                    request.signal.clear()
        finally:
            self._readers[loop] -= 1
            if self._readers[loop] == 0:
                del self._readers[loop]
                if not polls:
                    loop.remove_reader(self._descriptor)
            del native  # a traceback would keep it

    def _read(self) -> None:
        while not self.closed and self._receive(0):
            pass

    def _drop(self, request: _Request) -> None:
        """Cancels a request whose events no caller receives."""
        with self._condition:
            if request.ended or request.dropped or self.closed:
                return
            request.dropped = True
            self._dropped += 1
        try:
            self.cancel(request.id)
        except XformerError:
            pass  # closed or forked


class Stream:
    """Events of one request: an iterator and an asynchronous iterator, created by :meth:`Engine.stream`. Raises the
    error of a request that failed."""

    def __init__(self, engine: Engine, request: _Request) -> None:
        self._engine = engine
        self._request: Optional[_Request] = request

    @property
    def id(self) -> int:
        """Identifies the request; 0 after the end."""
        return 0 if self._request is None else self._request.id

    def close(self) -> None:
        """Cancels the request if it has not ended."""
        request, self._request = self._request, None
        if request is not None:
            self._engine._drop(request)

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def __iter__(self) -> "Stream":
        return self

    def __aiter__(self) -> "Stream":
        return self

    def __next__(self) -> Event:
        if self._request is None:
            raise StopIteration
        event = self._engine._wait(self._request.take, None, step=True)
        assert event is not None
        return self._checked(event)

    async def __anext__(self) -> Event:
        if self._request is None:
            raise StopAsyncIteration
        return self._checked(await self._engine._wait_async(self._request))

    def _checked(self, event: Event) -> Event:
        if event.last:
            self._request = None
        if event.hypotheses.error is not None:
            raise event.hypotheses.error
        return event


_engines: "WeakSet[Engine]" = WeakSet()


def _close_all() -> None:
    """Ends the threads of all engines, which could otherwise call a constraint after the end of the interpreter."""
    engines: List[Engine] = list(_engines)
    for engine in engines:
        engine.close()
    if any(engine._leading for engine in engines):
        time.sleep(2 * _SLICE)  # the waiting threads free them


def _after_fork() -> None:
    for engine in list(_engines):
        engine._condition = threading.Condition()  # a thread that does not exist here may hold the old one
        engine._leading = False


atexit.register(_close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
