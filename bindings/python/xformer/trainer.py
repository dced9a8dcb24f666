"""Training: loss, gradients, Adam, checkpoints.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import ctypes
from typing import Any, Iterable, Iterator, NamedTuple, Optional, Tuple, Union

from . import _buffer
from ._abi import call, lib, xf_batch, xf_step_stats
from ._buffer import Path
from ._handle import Guard, Handle, Use
from .config import Config, ConfigLike, using
from .context import Context
from .data import Batch, Batcher
from .model import Model, info_of, room, shaped


class StepStats(NamedTuple):
    """What a training step did. Losses are nats per target token, under dropout."""

    step: int
    sentences: int
    src_tokens: int
    tgt_tokens: int
    loss: float
    nll: float
    learning_rate: float
    gradient_norm: float


Batches = Union[Batch, Iterable[Batch]]


def batch_array(batches: Batches) -> Tuple[Any, int]:
    """One batch or several as a C array, which keeps the buffers alive, and its length."""
    rows = [batches._c()] if isinstance(batches, Batch) else [batch._c() for batch in batches]
    return (xf_batch * len(rows))(*rows), len(rows)


def _stats(stats: xf_step_stats) -> StepStats:
    return StepStats(*(getattr(stats, name) for name in StepStats._fields))


class Trainer(Handle):
    """The state of an optimization: gradients, Adam's moments, step.

    Reads the options of the group "train.". After any error, also CancelledError, parameters, moments and step are as
    before the call.
    """

    _kind = "trainer"
    _free = lib.xf_trainer_free

    def __init__(self, model: Model, config: ConfigLike = None) -> None:
        self._begin(model._context, model._guard, model)
        with model._write() as m, using(config) as options:
            call(lib.xf_trainer_create, m, options, ctypes.byref(self._pointer))

    def _begin(self, context: Context, model_guard: Guard, model: Optional[Model]) -> None:
        self._setup(keep=(context,) if model is None else (context, model), guards=(context._guard,))
        self._context = context
        self._model_guard = model_guard
        self._model = model

    @classmethod
    def resume(cls, context: Context, path: Path) -> "Trainer":
        """Continues from a checkpoint: trainer and model are as they were when :meth:`save` was called."""
        self = cls.__new__(cls)
        self._begin(context, Guard(Model._kind), None)
        with context._read() as c:
            call(lib.xf_trainer_resume, c, _buffer.path_bytes(path), ctypes.byref(self._pointer))
        return self

    def _write(self) -> Use:
        # "A trainer has exclusive use of its model while one of its calls runs."
        return Use(self, ((self._guard, True), (self._model_guard, True), (self._context._guard, False)))

    @property
    def model(self) -> Model:
        """The model that is trained. After :meth:`resume`, or when the model was closed, it is the trainer's and ends
        with it; decoders made from it go on."""
        if self._model is not None and not self._model.closed:
            self._check_open()
            return self._model
        with self._read() as trainer:
            return Model._borrow(self, self._context, lib.xf_trainer_model(trainer), self._model_guard)

    @property
    def config(self) -> Config:
        """A copy of the "train." options the trainer works with, also after a resume."""
        with self._read() as trainer:
            return Config._copy_of(lib.xf_trainer_config(trainer))

    @property
    def steps(self) -> int:
        """Number of updates made."""
        with self._read() as trainer:
            return int(lib.xf_trainer_step_count(trainer))

    def step(self, batches: Batches) -> StepStats:
        """Makes one update from a batch, or from several whose gradients are added."""
        rows, count = batch_array(batches)
        stats = xf_step_stats()
        with self._write() as trainer:
            call(lib.xf_train_step, trainer, rows, count, ctypes.byref(stats))
        return _stats(stats)

    def train(self, batcher: Batcher, steps: Optional[int] = None) -> Iterator[StepStats]:
        """Yields the stats of each of ``steps`` updates (None: without an end), over as many epochs as that takes.

        Works as it is iterated: stop when you like. Ctrl-C takes effect between two steps, and the trainer can be
        saved then.
        """
        made = 0
        for batch in batcher.forever() if steps is None or steps > 0 else ():
            yield self.step(batch)
            made += 1
            if made == steps:
                return

    def accumulate(self, batch: Batch) -> StepStats:
        """First half of a step: adds a batch's gradients to those that wait for :meth:`update`; stats of this batch."""
        stats = xf_step_stats()
        with self._write() as trainer:
            call(lib.xf_train_accumulate, trainer, ctypes.byref(batch._c()), ctypes.byref(stats))
        return _stats(stats)

    def update(self) -> StepStats:
        """Second half of a step: updates the parameters from the gradients that wait."""
        stats = xf_step_stats()
        with self._write() as trainer:
            call(lib.xf_train_update, trainer, ctypes.byref(stats))
        return _stats(stats)

    def gradient(self, param: Union[int, str], out: Any = None) -> memoryview:
        """A copy of a waiting gradient, as in :meth:`Model.read`."""
        with self._write() as trainer:
            index, info = info_of(lib.xf_trainer_model(trainer), param)
            values, count = room(info, out)
            call(lib.xf_trainer_read_gradient, trainer, index, _buffer.address(values), count)
        return shaped(values, info)

    def save(self, path: Path, batcher: Optional[Batcher] = None) -> None:
        """Saves a checkpoint: model, tokenizer, options, moments, step, and a batcher's position. The old file is
        replaced at once or not at all and stays as "<path>.prev"; :meth:`Model.load` reads it too."""
        name = _buffer.path_bytes(path)
        with self._write() as trainer:
            if batcher is None:
                call(lib.xf_trainer_save, trainer, None, name)
            else:
                with batcher._read() as position:
                    call(lib.xf_trainer_save, trainer, position, name)

    @property
    def position(self) -> Tuple[int, int]:
        """(epoch, batch) of the batcher saved with the checkpoint; (0, 0) when none was."""
        epoch, batch = ctypes.c_int64(), ctypes.c_int64()
        with self._read() as trainer:
            call(lib.xf_trainer_get_position, trainer, ctypes.byref(epoch), ctypes.byref(batch))
        return epoch.value, batch.value

    def seek(self, batcher: Batcher) -> None:
        """Moves a batcher, made from the same corpus, tokenizer and options, to the saved position."""
        with self._read() as trainer, batcher._write() as moved:
            call(lib.xf_trainer_seek, trainer, moved)
