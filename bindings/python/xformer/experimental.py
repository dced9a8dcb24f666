"""Functions outside the stability guarantee: constraints, attention weights, gradients, and ranks.

Everything in this module may change or disappear in any minor version.

A constraint restricts the tokens that may follow each hypothesis. It is passed as ``constraint=`` to
:meth:`Decoder.translate` or :meth:`Decoder.decode`, and called once per step of the search with a
:class:`ConstraintStep`. It returns one element per hypothesis: the allowed ids; a mask in which bit ``id % 8`` of byte
``id // 8`` is set (``numpy.packbits(allowed, bitorder="little").tobytes()``); or None to allow all. A hypothesis can
end only if the end symbol is allowed. Probabilities are not renormalized. If no hypothesis of a sentence has an allowed
token, the sentence has a hypothesis with ``finished`` False and a ``log_probability`` of minus infinity. The constraint
must not use the decoder. The call raises what the constraint raises.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import ctypes
from array import array
from enum import IntEnum
from typing import Any, List, Optional, Tuple, Union

from . import _buffer
from ._abi import abi, call, fill, lib
from ._constraint import Allowed, Constraint, ConstraintStep, Partial
from .batch import Batch
from .call import Call, CancelToken, Deadline
from .context import Context
from .decoder import Decoder
from .errors import StateError, Status
from .model import find_tensor, read_tensor
from .trainer import Trainer

__all__ = [  # fmt: skip
    "Allowed", "AttentionKind", "Comm", "Constraint", "ConstraintStep", "Partial", "all_gather", "attention_weights",
    "gradient", "loopback",
]


class AttentionKind(IntEnum):
    """The three uses of attention (paper s. 3.2.3)."""

    ENCODER = abi.XF_ATTENTION_ENCODER
    DECODER = abi.XF_ATTENTION_DECODER
    CROSS = abi.XF_ATTENTION_CROSS


def attention_weights(decoder: Decoder, pair: Batch, kind: AttentionKind, layer: int) -> memoryview:
    """Computes the attention weights of one layer (0 is the lowest) for a batch of one source and target.

    Returns 32-bit floats of shape (heads, queries, keys). Each row sums to 1. Position i of the decoder predicts target
    token i.
    """
    kind, number = AttentionKind(kind), _buffer.integer(layer, "layer", 32)
    arguments = (Decoder._of(decoder, "decoder"), Batch._of(pair, "pair"), kind, number)
    weights = fill(0, lambda count: array("f", bytes(4 * count)), lib.xf_attention_weights, *arguments)
    source, target = len(pair.src_ids), len(pair.tgt_ids or ())
    queries = source if kind == AttentionKind.ENCODER else target
    keys = target if kind == AttentionKind.DECODER else source
    data: Any = memoryview(weights).cast("B")
    shaped: memoryview = data.cast("f", (len(weights) // (queries * keys), queries, keys))
    return shaped


def gradient(trainer: Trainer, tensor: Union[int, str], out: Any = None) -> memoryview:
    """Copies a pending gradient, as :meth:`Model.read` copies a tensor."""
    native = Trainer._of(trainer, "trainer")
    index, info = find_tensor(lib.xf_trainer_model(native), tensor)
    return read_tensor(lib.xf_trainer_read_gradient, native, index, info, out)


def all_gather(
    context: Context, value: int, *, deadline: Optional[Deadline] = None, cancel: Optional[CancelToken] = None
) -> Tuple[int, ...]:
    """Exchanges one number between all ranks and returns the numbers of all ranks, by rank.

    Every rank makes this call at the same point. With it the ranks decide together, for example to stop. If a rank is
    gone, it raises :class:`PeerError`.
    """
    native, run = Context._of(context, "context"), Call(None, deadline, cancel)
    values = (ctypes.c_int64 * context.info.rank_count)()
    run.run(lib.xf_context_all_gather, native, _buffer.integer(value, "value"), run, values)
    return tuple(values)


class Comm:
    """The transport of one rank, for ``Context(comm=...)``. Created by :func:`loopback`. Each is for one context."""

    def __init__(self, comm: Any) -> None:
        self._comm: Optional[Any] = comm

    def _pointer(self) -> Any:
        """Returns the address for xf_host::comm."""
        if not isinstance(self, Comm):
            raise _buffer.wrong("comm", "a Comm or None", self)
        if self._comm is None:
            raise StateError("the Comm is already in use by a context; create others", Status.STATE)
        return ctypes.pointer(self._comm)

    def _release(self) -> None:
        """Called after a context was created, which closes the transport."""
        self._comm = None

    def __del__(self) -> None:
        if self._comm is not None:
            self._comm.close(self._comm.user)


def loopback(size: int) -> List[Comm]:
    """Connects threads of this process as ranks. Each rank needs its own context and its own thread."""
    count = _buffer.integer(size, "size", 32)
    comms = (abi.xf_comm * max(0, min(count, 1024)))()
    call(lib.xf_comm_loopback, comms, count)
    return [Comm(abi.xf_comm.from_buffer_copy(comm)) for comm in comms]
