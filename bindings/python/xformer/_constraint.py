"""Constraints on hypotheses; see experimental.py.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import ctypes
import operator
from typing import Any, Callable, Iterable, NamedTuple, Optional, Sequence, Tuple, Union

from ._abi import abi
from ._buffer import each, wrong
from .call import Call


class Partial(NamedTuple):
    """A hypothesis whose next token is about to be selected: the index of its sentence, its ids so far, and the number
    of tokens that may still follow, including the end symbol."""

    sentence: int
    ids: Tuple[int, ...]
    remaining: int


class ConstraintStep(NamedTuple):
    """One step of the search: the live hypotheses of all sentences, and the number of ids."""

    partials: Tuple[Partial, ...]
    vocab_size: int


#: The tokens that may follow a hypothesis: ids, a mask of bits, or None for all.
Allowed = Union[Iterable[int], bytes, bytearray, memoryview, None]
#: Returns the allowed tokens of each hypothesis of a step, in its order; or None to allow all tokens.
Constraint = Callable[[ConstraintStep], Optional[Sequence[Allowed]]]


def c_constraint(constraint: Constraint, call: Call) -> Any:
    """Returns the xf_constraint of a function."""
    if not callable(constraint):
        raise wrong("constraint", "a function or None", constraint)

    def restrict(user: object, pointer: Any) -> None:
        step = pointer.contents
        rows = [step.partials[index].contents for index in range(step.count)]
        partials = tuple(
            Partial(row.sentence, tuple(row.ids[: row.id_count]) if row.id_count else (), row.remaining) for row in rows
        )
        allowed = constraint(ConstraintStep(partials, step.vocab_size))
        if allowed is None:
            return
        several = list(each(allowed, "the result of the constraint", "a sequence"))
        if len(several) != len(rows):
            raise ValueError("the constraint returned %d elements for %d hypotheses" % (len(several), len(rows)))
        for row, tokens in zip(rows, several):
            if tokens is not None:
                mask = _mask(tokens, step.vocab_size)
                ctypes.memmove(row.allowed, mask, ctypes.sizeof(mask))

    return abi.xf_constraint(abi.xf_constraint_fn(call.guard(restrict)))


def _mask(tokens: Any, vocab_size: int) -> Any:
    """Returns the bit set of allowed tokens as C words."""
    words = (vocab_size + 31) // 32
    mask = (ctypes.c_uint32 * words)()
    if isinstance(tokens, (bytes, bytearray, memoryview)):
        data = memoryview(tokens).tobytes()
        if len(data) * 8 < vocab_size:
            raise ValueError("the mask has %d bits, but there are %d ids" % (len(data) * 8, vocab_size))
        for word in range(words):
            mask[word] = int.from_bytes(data[4 * word : 4 * word + 4], "little")
    else:
        for id in map(operator.index, tokens):  # arithmetic of small NumPy integers would overflow
            if not 0 <= id < vocab_size:
                raise ValueError("the allowed id is %d; ids are 0 to %d" % (id, vocab_size - 1))
            mask[id // 32] |= 1 << id % 32
    return mask
