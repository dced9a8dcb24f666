"""Batches: packed sentences.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import ctypes
from array import array
from typing import TYPE_CHECKING, Any, Iterable, Optional, Sequence, Tuple

from . import _buffer
from ._abi import abi
from ._buffer import Text, wrong

if TYPE_CHECKING:
    from .config import ConfigLike
    from .model import Model

__all__ = ["Batch"]


class Batch:
    """Packed sentences: the concatenated ids of all sentences, and the offset at which each begins.

    Each sentence ends with the end symbol, optionally followed by a language token. Targets have no start symbol. There
    is one more offset than there are sentences. Buffers of 32-bit ids (array("i"), numpy.int32) and of 64-bit offsets
    (array("q"), numpy.int64) are used in place; other integers are copied.
    """

    def __init__(
        self,
        src_ids: Any,
        src_offsets: Any,
        tgt_ids: Any = None,
        tgt_offsets: Any = None,
        pair_index: Any = None,
    ) -> None:
        self._src, self._src_at, sentences = _side("src", src_ids, src_offsets)
        self._tgt: Any = None
        self._tgt_at: Any = None
        self._pair_index: Any = None
        if (tgt_ids is None) != (tgt_offsets is None):
            raise ValueError("only one of tgt_ids and tgt_offsets is set; set both or none")
        if tgt_ids is not None:
            self._tgt, self._tgt_at, targets = _side("tgt", tgt_ids, tgt_offsets)
            if targets != sentences:
                raise ValueError("%d sources and %d targets; their numbers must be equal" % (sentences, targets))
        if pair_index is not None:
            self._pair_index, count = _buffer.numbers(pair_index, "q", "pair_index")
            if count != sentences:
                raise ValueError("%d sentences and %d pair indices; their numbers must be equal" % (sentences, count))
        self._sentences = sentences

    @classmethod
    def from_ids(cls, sources: Iterable[Sequence[int]], targets: Optional[Iterable[Sequence[int]]] = None) -> "Batch":
        """Packs sequences of ids, each with its end symbol."""
        return cls(*pack(sources, "sources"), *(() if targets is None else pack(targets, "targets")))

    @classmethod
    def from_texts(
        cls,
        model: "Model",
        sources: Iterable[Text],
        targets: Optional[Iterable[Text]] = None,
        config: "ConfigLike" = None,
    ) -> "Batch":
        """Encodes texts with :meth:`Model.encode` and packs them."""
        from .config import Config
        from .model import Model  # which imports this module

        Model._of(model, "model")
        if config is not None and not isinstance(config, Config):
            config = Config(config)
        sides = [model._encode_all(_buffer.utf8s(sources, "sources"), "source", config)]
        if targets is not None:
            sides.append(model._encode_all(_buffer.utf8s(targets, "targets"), "target", config))
        return cls.from_ids(*sides)

    @classmethod
    def _of(cls, value: object, name: str) -> Any:
        """Returns what is passed to the library for an argument."""
        return ctypes.byref(cls._struct_of(value, name))

    @classmethod
    def _struct_of(cls, value: object, name: str) -> Any:
        if not isinstance(value, cls):
            raise wrong(name, "a Batch", value)
        return value._c()

    def _c(self) -> Any:
        def pointer(buffer: Any, number: Any) -> Any:
            return ctypes.cast(_buffer.address(buffer), ctypes.POINTER(number)) if buffer is not None else None

        # Checked again, because the caller may have changed its arrays.
        _check("src", self._src, self._src_at)
        if self._tgt is not None:
            _check("tgt", self._tgt, self._tgt_at)
        return abi.xf_batch(
            self._sentences,
            pointer(self._src, ctypes.c_int32),
            pointer(self._src_at, ctypes.c_int64),
            pointer(self._tgt, ctypes.c_int32),
            pointer(self._tgt_at, ctypes.c_int64),
            pointer(self._pair_index, ctypes.c_int64),
        )

    def __len__(self) -> int:
        """The number of sentences."""
        return self._sentences

    @property
    def src_ids(self) -> memoryview:
        """Ids of all sources."""
        return memoryview(self._src)

    @property
    def src_offsets(self) -> memoryview:
        """Offset of each source, and the end of the last one."""
        return memoryview(self._src_at)

    @property
    def tgt_ids(self) -> Optional[memoryview]:
        """Ids of all targets; None in a batch for decoding."""
        return None if self._tgt is None else memoryview(self._tgt)

    @property
    def tgt_offsets(self) -> Optional[memoryview]:
        """Offset of each target, and the end of the last one; None in a batch for decoding."""
        return None if self._tgt_at is None else memoryview(self._tgt_at)

    @property
    def pair_index(self) -> Optional[memoryview]:
        """Index of each pair in its corpus; None unless a batcher created the batch."""
        return None if self._pair_index is None else memoryview(self._pair_index)


def _side(name: str, ids: Any, offsets: Any) -> Tuple[Any, Any, int]:
    values, _ = _buffer.numbers(ids, "i", name + "_ids")
    starts, entries = _buffer.numbers(offsets, "q", name + "_offsets")
    _check(name, values, starts)
    return values, starts, entries - 1


def _check(name: str, ids: Any, offsets: Any) -> None:
    # The library checks that offsets do not decrease, but it does not receive the number of ids.
    if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != len(ids):
        raise ValueError("%s_offsets must begin with 0 and end with the number of ids, %d" % (name, len(ids)))


def pack(sentences: Iterable[Sequence[int]], name: str) -> Tuple[Any, Any]:
    """Returns ids and offsets of sentences for a Batch."""
    ids, offsets = array("i"), array("q", [0])
    for index, sentence in enumerate(_buffer.each(sentences, name, "sequences of ids")):
        try:
            ids.extend(iter(sentence))
        except (TypeError, OverflowError) as error:
            raise type(error)("%s[%d]: %s" % (name, index, error)) from error
        offsets.append(len(ids))
    return ids, offsets
