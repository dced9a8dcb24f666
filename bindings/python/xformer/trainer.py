"""Training: loss, gradients, Adam, checkpoints.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import ctypes
from enum import IntEnum
from typing import Any, Iterable, Iterator, NamedTuple, Optional, Tuple, Union

from . import _buffer
from ._abi import abi, call, lib, to_tuple
from ._handle import Handle
from .batch import Batch
from .call import Call, CancelToken, Deadline, Progress, in_thread
from .config import Config, ConfigLike, pointer_of
from .context import Context
from .data import Batcher
from .errors import Status
from .io import Sink, Source, c_source, save
from .model import Model

__all__ = ["Outcome", "StepStats", "Trainer"]


class Outcome(IntEnum):
    """Outcome of a training step. SKIPPED and ROLLED_BACK occur only if "train.on_nonfinite" selects them."""

    UPDATED = abi.XF_STEP_UPDATED
    SKIPPED = abi.XF_STEP_SKIPPED
    ROLLED_BACK = abi.XF_STEP_ROLLED_BACK


class StepStats(NamedTuple):
    """Statistics of a training step. Losses are in nats per target token, with dropout. ``gradient_norm`` is the norm
    before clipping."""

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


def _batch_array(batches: Batches) -> Tuple[Any, int]:
    """Returns a C array of batches, which keeps their buffers alive, and its length."""
    if isinstance(batches, Batch):
        batches = [batches]
    several = enumerate(_buffer.each(batches, "batches", "a Batch or several"))
    rows = [Batch._struct_of(batch, "batches[%d]" % index) for index, batch in several]
    return (abi.xf_batch * len(rows))(*rows), len(rows)


class Trainer(Handle):
    """The state of an optimization: gradients, moments, step.

    Reads the options of the group "train.". After any error, including :class:`CancelledError`, parameters, moments,
    and step are as before the call.
    """

    _kind = "trainer"
    _free = lib.xf_trainer_free

    def __init__(self, model: Model, config: ConfigLike = None) -> None:
        native = Model._of(model, "model")
        self._create(lib.xf_trainer_create, native, pointer_of(config), keep=native)

    @classmethod
    def resume(
        cls,
        context: Context,
        source: Source,
        config: ConfigLike = None,
        *,
        progress: Optional[Progress] = None,
        deadline: Optional[Deadline] = None,
        cancel: Optional[CancelToken] = None,
    ) -> "Trainer":
        """Creates a trainer and its model from a checkpoint, in the state in which they were saved.

        Options of the group "train." that are set in ``config`` replace the saved ones; a StateError names one that
        cannot change. See also :meth:`Batcher.resume`.
        """
        call, native = Call(progress, deadline, cancel), Context._of(context, "context")
        c, held = c_source(source, call)
        return cls._make(lib.xf_trainer_resume, native, c, pointer_of(config), call, by=call.run)

    @property
    def model(self) -> Model:
        """The trainer's model."""
        trainer = self._c
        return Model._borrow(lib.xf_trainer_model(trainer), trainer)

    @property
    def config(self) -> Config:
        """A copy of the options of the group "train." that are in effect, also after a resume."""
        trainer = self._c
        return Config._copy_of(lib.xf_trainer_config(trainer))

    @property
    def steps(self) -> int:
        """The number of updates so far."""
        return int(lib.xf_trainer_step_count(self._c))

    def _stats(self, run: Any, function: Any, *args: object) -> Optional[StepStats]:
        stats = abi.xf_step_stats()
        if run(function, self._c, *args, ctypes.byref(stats)) == Status.DONE:
            return None
        return to_tuple(StepStats, stats, outcome=Outcome)

    def step(
        self,
        batches: Batches,
        *,
        progress: Optional[Progress] = None,
        deadline: Optional[Deadline] = None,
        cancel: Optional[CancelToken] = None,
    ) -> StepStats:
        """Updates the model once, from one batch or from the sum of the gradients of several."""
        call = Call(progress, deadline, cancel)
        return self._stats(call.run, lib.xf_train_step, *_batch_array(batches), call)  # type: ignore[return-value]

    def next(
        self,
        batcher: Batcher,
        *,
        progress: Optional[Progress] = None,
        deadline: Optional[Deadline] = None,
        cancel: Optional[CancelToken] = None,
    ) -> Optional[StepStats]:
        """Updates the model once from the next "train.accumulate" batches. Returns None at the end of an epoch.

        After an error the batcher keeps its position.
        """
        call = Call(progress, deadline, cancel)
        return self._stats(call.run, lib.xf_train_next, Batcher._of(batcher, "batcher"), call)

    def train(
        self,
        batcher: Batcher,
        steps: Optional[int] = None,
        *,
        progress: Optional[Progress] = None,
        deadline: Optional[Deadline] = None,
        cancel: Optional[CancelToken] = None,
    ) -> Iterator[StepStats]:
        """Yields the statistics of ``steps`` updates with :meth:`next`; None: without end.

        Each update is made when the iterator advances. Ctrl-C takes effect between two updates. ``progress`` and
        ``deadline`` apply to each update.
        """
        made, steps = 0, None if steps is None else _buffer.integer(steps, "steps")
        while steps is None or made < steps:
            stats = self.next(batcher, progress=progress, deadline=deadline, cancel=cancel)
            if stats is not None:
                made += 1
                yield stats

    async def step_async(
        self, batches: Batches, *, progress: Optional[Progress] = None, deadline: Optional[Deadline] = None
    ) -> StepStats:
        """Like :meth:`step`, in a thread. Cancelling the task cancels the step."""
        stats: StepStats = await in_thread(self.step, batches, progress=progress, deadline=deadline)
        return stats

    async def next_async(
        self, batcher: Batcher, *, progress: Optional[Progress] = None, deadline: Optional[Deadline] = None
    ) -> Optional[StepStats]:
        """Like :meth:`next`, in a thread. Cancelling the task cancels the step."""
        stats: Optional[StepStats] = await in_thread(self.next, batcher, progress=progress, deadline=deadline)
        return stats

    def accumulate(
        self,
        batch: Batch,
        *,
        progress: Optional[Progress] = None,
        deadline: Optional[Deadline] = None,
        cancel: Optional[CancelToken] = None,
    ) -> StepStats:
        """First half of a step: adds the gradients of a batch to the pending ones. Returns statistics of this batch."""
        call = Call(progress, deadline, cancel)
        batch_ = Batch._of(batch, "batch")
        return self._stats(call.run, lib.xf_train_accumulate, batch_, call)  # type: ignore[return-value]

    def update(self) -> StepStats:
        """Second half of a step: updates the parameters from the pending gradients."""
        return self._stats(call, lib.xf_train_update)  # type: ignore[return-value]

    def copy_average(
        self,
        *,
        progress: Optional[Progress] = None,
        deadline: Optional[Deadline] = None,
        cancel: Optional[CancelToken] = None,
    ) -> Model:
        """Copies the exponential moving average of the parameters ("train.ema") to a new model."""
        call = Call(progress, deadline, cancel)
        return Model._make(lib.xf_trainer_copy_average, self._c, call, by=call.run)

    def save(
        self,
        sink: Sink,
        batcher: Optional[Batcher] = None,
        *,
        progress: Optional[Progress] = None,
        deadline: Optional[Deadline] = None,
        cancel: Optional[CancelToken] = None,
    ) -> None:
        """Saves a checkpoint: model, tokenizer, options, moments, step, and the position of a batcher.

        A file name is replaced atomically, as in :meth:`Model.save`. :meth:`Model.load` can also read the file.
        """
        position = None if batcher is None else Batcher._of(batcher, "batcher")
        save(lib.xf_trainer_save, self._c, position, sink=sink, call=Call(progress, deadline, cancel))
