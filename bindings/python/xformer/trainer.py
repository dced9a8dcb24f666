"""Training: loss, gradients, Adam, checkpoints.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import ctypes
from enum import IntEnum
from typing import Any, Iterable, Iterator, NamedTuple, Optional, Tuple, Union

from . import _buffer
from ._abi import call, lib, structs, told
from ._buffer import Path
from ._callback import long_call
from ._handle import Handle
from .batch import Batch
from .config import Config, ConfigLike, pointer_of
from .context import Context
from .data import Batcher
from .errors import Status
from .model import Model, info_of, room, shaped

__all__ = ["Outcome", "StepStats", "Trainer"]


class Outcome(IntEnum):
    """What became of a step: SKIPPED and ROLLED_BACK only as "train.on_nonfinite" says."""

    UPDATED = 0
    SKIPPED = 1
    ROLLED_BACK = 2


class StepStats(NamedTuple):
    """What a training step did. Losses are nats per target token, under dropout; the norm is that before clipping."""

    step: int
    sentences: int
    src_tokens: int
    tgt_tokens: int
    loss: float
    nll: float
    learning_rate: float
    gradient_norm: float
    outcome: Outcome


Batches = Union[Batch, Iterable[Batch]]


def batch_array(batches: Batches) -> Tuple[Any, int]:
    """One batch or several as a C array, which keeps the buffers alive, and its length."""
    if isinstance(batches, Batch):
        batches = [batches]
    several = enumerate(_buffer.each(batches, "batches", "a Batch or several"))
    rows = [Batch._struct_of(batch, "batches[%d]" % index) for index, batch in several]
    return (structs.xf_batch * len(rows))(*rows), len(rows)


class Trainer(Handle):
    """The state of an optimization: gradients, Adam's moments, step.

    Reads the options of the group "train.". After any error, also CancelledError, parameters, moments and step are as
    before the call.
    """

    _kind = "trainer"
    _free = lib.xf_trainer_free

    def __init__(self, model: Model, config: ConfigLike = None) -> None:
        native = Model._of(model, "model")
        self._create(lib.xf_trainer_create, native, pointer_of(config), keep=native)

    @classmethod
    def resume(cls, context: Context, path: Path, config: ConfigLike = None) -> "Trainer":
        """Continues from a checkpoint: trainer and model are as they were when :meth:`save` was called, but for the
        options "train." that ``config`` sets. StateError names one that can't change."""
        where = Context._of(context, "context")
        return cls._make(lib.xf_trainer_resume, where, _buffer.path_bytes(path), pointer_of(config))

    @property
    def model(self) -> Model:
        """The trainer's model."""
        trainer = self._c
        model: Model = Model._borrow(lib.xf_trainer_model(trainer), trainer)
        return model

    @property
    def config(self) -> Config:
        """A copy of the "train." options it works with, also after a resume."""
        trainer = self._c
        return Config._copy_of(lib.xf_trainer_config(trainer))

    @property
    def steps(self) -> int:
        """Updates made."""
        return int(lib.xf_trainer_step_count(self._c))

    def _stats(self, function: Any, *args: object) -> Optional[StepStats]:
        stats = structs.xf_step_stats()
        if call(function, self._c, *args, ctypes.byref(stats)) == Status.DONE:
            return None
        return told(StepStats, stats, outcome=Outcome)

    def step(self, batches: Batches) -> StepStats:
        """One update from one batch, or from several whose gradients are added."""
        return self._stats(lib.xf_train_step, *batch_array(batches))  # type: ignore[return-value]

    def next(self, batcher: Batcher) -> Optional[StepStats]:
        """One update from the next batches of a batcher, "train.accumulate" of them; None at the end of an epoch. After
        an error the batcher stands where it stood."""
        return self._stats(lib.xf_train_next, Batcher._of(batcher, "batcher"))

    def train(self, batcher: Batcher, steps: Optional[int] = None) -> Iterator[StepStats]:
        """Yields the stats of ``steps`` updates (None: without an end) by :meth:`next`, over any number of epochs.

        Works as it is iterated: stop when you like. Ctrl-C takes effect between two steps; then it can be saved.
        """
        made, steps = 0, None if steps is None else _buffer.integer(steps, "steps")
        while steps is None or made < steps:
            stats = self.next(batcher)
            if stats is not None:
                made += 1
                yield stats

    def cancel(self) -> None:
        """Ends the call that runs in another thread on this trainer in CancelledError."""
        lib.xf_trainer_cancel(self._c)

    def accumulate(self, batch: Batch) -> StepStats:
        """First half of a step: adds a batch's gradients to those that wait for :meth:`update`; stats of this batch."""
        return self._stats(lib.xf_train_accumulate, Batch._of(batch, "batch"))  # type: ignore[return-value]

    def update(self) -> StepStats:
        """Second half of a step: updates the parameters from the gradients that wait."""
        return self._stats(lib.xf_train_update)  # type: ignore[return-value]

    def gradient(self, tensor: Union[int, str], out: Any = None) -> memoryview:
        """A copy of a waiting gradient, as in :meth:`Model.read`."""
        trainer = self._c
        index, info = info_of(lib.xf_trainer_model(trainer), tensor)
        values, count = room(info, out)
        call(lib.xf_trainer_read_gradient, trainer, index, _buffer.address(values), count)
        return shaped(values, info)

    def ema(self) -> Model:
        """The exponential moving average of the parameters ("train.ema") as a model of its own."""
        return Model._make(lib.xf_trainer_ema, self._c)

    def save(self, path: Path, batcher: Optional[Batcher] = None) -> None:
        """Saves a checkpoint: model, tokenizer, options, moments, step, and a batcher's position. The old file is
        replaced at once or not at all and stays as "<path>.prev"; :meth:`Model.load` reads it too."""
        position = None if batcher is None else Batcher._of(batcher, "batcher")
        long_call(lib.xf_trainer_save, self._c, position, _buffer.path_bytes(path))

    @property
    def position(self) -> Tuple[int, int]:
        """(epoch, batch) of the batcher saved with the checkpoint; (0, 0) when none was."""
        epoch, batch = ctypes.c_int64(), ctypes.c_int64()
        call(lib.xf_trainer_get_position, self._c, ctypes.byref(epoch), ctypes.byref(batch))
        return epoch.value, batch.value

    def seek(self, batcher: Batcher) -> None:
        """Moves a batcher, made from the same corpus, tokenizer and options, to the saved position."""
        call(lib.xf_trainer_seek, self._c, Batcher._of(batcher, "batcher"))
