"""Batches: packed sentences.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import ctypes
from array import array
from typing import Any, Iterable, Optional, Sequence, Tuple

from . import _buffer
from ._abi import structs
from ._buffer import Text, wrong
from .text import Tokenizer

__all__ = ["Batch"]


class Batch:
    """Packed sentences: all ids one after the other, and where each sentence begins.

    Each sentence ends with the end symbol; targets have no start symbol. ``src_offsets`` has one entry more than there
    are sentences. Buffers of 32-bit integers (array("i"), numpy.int32) are used in place; other integers are copied.
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
            raise ValueError("tgt_ids and tgt_offsets go together")
        if tgt_ids is not None:
            self._tgt, self._tgt_at, targets = _side("tgt", tgt_ids, tgt_offsets)
            if targets != sentences:
                raise ValueError("%d sources and %d targets" % (sentences, targets))
        if pair_index is not None:
            self._pair_index, count = _buffer.numbers(pair_index, "q", "pair_index")
            if count != sentences:
                raise ValueError("%d sentences and %d pair indices" % (sentences, count))
        self._sentences = sentences

    @classmethod
    def from_ids(cls, sources: Iterable[Sequence[int]], targets: Optional[Iterable[Sequence[int]]] = None) -> "Batch":
        """Packs sentences given as sequences of ids, each with its end symbol."""
        return cls(*pack(sources, "sources"), *(() if targets is None else pack(targets, "targets")))

    @classmethod
    def from_texts(
        cls, tokenizer: Tokenizer, sources: Iterable[Text], targets: Optional[Iterable[Text]] = None
    ) -> "Batch":
        """Encodes and packs texts, each with its end symbol; a batcher also puts in the tokens of languages."""
        Tokenizer._of(tokenizer, "tokenizer")
        texts = [_buffer.utf8s(sources, "sources")] + ([] if targets is None else [_buffer.utf8s(targets, "targets")])
        return cls.from_ids(*([tokenizer.encode(text, end=True) for text in side] for side in texts))

    @classmethod
    def _of(cls, value: object, name: str) -> Any:
        """What is passed to the library for the argument of this name."""
        return ctypes.byref(cls._struct_of(value, name))

    @classmethod
    def _struct_of(cls, value: object, name: str) -> Any:
        if not isinstance(value, cls):
            raise wrong(name, "a Batch", value)
        return value._c()

    def _c(self) -> Any:
        def pointer(buffer: Any, number: Any) -> Any:
            return ctypes.cast(_buffer.address(buffer), ctypes.POINTER(number)) if buffer is not None else None

        # Again: the arrays may be the caller's own and have been changed since.
        _check("src", self._src, self._src_at)
        if self._tgt is not None:
            _check("tgt", self._tgt, self._tgt_at)
        return structs.xf_batch(
            self._sentences,
            pointer(self._src, ctypes.c_int32),
            pointer(self._src_at, ctypes.c_int32),
            pointer(self._tgt, ctypes.c_int32),
            pointer(self._tgt_at, ctypes.c_int32),
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
        """Where each source begins, and the end of the last."""
        return memoryview(self._src_at)

    @property
    def tgt_ids(self) -> Optional[memoryview]:
        """Ids of all targets; None in a batch for decoding."""
        return None if self._tgt is None else memoryview(self._tgt)

    @property
    def tgt_offsets(self) -> Optional[memoryview]:
        """Where each target begins, and the end of the last; None in a batch for decoding."""
        return None if self._tgt_at is None else memoryview(self._tgt_at)

    @property
    def pair_index(self) -> Optional[memoryview]:
        """Index of each pair in its corpus, when a batcher made this."""
        return None if self._pair_index is None else memoryview(self._pair_index)


def _side(name: str, ids: Any, offsets: Any) -> Tuple[Any, Any, int]:
    values, _ = _buffer.numbers(ids, "i", name + "_ids")
    starts, entries = _buffer.numbers(offsets, "i", name + "_offsets")
    _check(name, values, starts)
    return values, starts, entries - 1


def _check(name: str, ids: Any, offsets: Any) -> None:
    # The library checks that offsets do not fall; that the last is the length of the ids only this side knows.
    if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != len(ids):
        raise ValueError("%s_offsets go from 0 to the number of ids, %d" % (name, len(ids)))


def pack(sentences: Iterable[Sequence[int]], name: str) -> Tuple[Any, Any]:
    """Ids and offsets of sentences for a Batch; a wrong one is named."""
    ids, offsets = array("i"), array("i", [0])
    for index, sentence in enumerate(_buffer.each(sentences, name, "sequences of ids")):
        try:
            ids.extend(iter(sentence))
        except (TypeError, OverflowError) as error:
            raise type(error)("%s[%d]: %s" % (name, index, error)) from error
        offsets.append(len(ids))
    return ids, offsets
