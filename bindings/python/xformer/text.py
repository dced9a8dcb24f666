"""The tokenizer: text to ids and back.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import ctypes
from array import array
from typing import TYPE_CHECKING, Any, Callable, List

from . import _buffer
from ._abi import call, lib
from ._buffer import Path, Text
from ._handle import Handle
from .config import ConfigLike, using
from .context import Context
from .errors import BufferTooSmallError

if TYPE_CHECKING:
    from .data import Corpus

#: Id of the start symbol, which the decoder is fed first.
TOKEN_START = 0
#: Id of the end symbol, which ends every source and every target.
TOKEN_END = 1


class Tokenizer(Handle):
    """Byte pair encoding, shared by source and target. Made by :meth:`train` or :meth:`load`, or had from
    :attr:`Model.tokenizer`."""

    _kind = "tokenizer"
    _free = lib.xf_tokenizer_free

    def __init__(self) -> None:
        raise TypeError("make a tokenizer by Tokenizer.train() or Tokenizer.load()")

    @classmethod
    def _new(cls, context: Context) -> "Tokenizer":
        self = cls.__new__(cls)
        self._setup(keep=(context,), guards=(context._guard,))
        return self

    @classmethod
    def train(cls, context: Context, corpus: "Corpus", config: ConfigLike = None) -> "Tokenizer":
        """Learns a vocabulary from both sides of a corpus; reads the options "tokenizer."."""
        self = cls._new(context)
        with context._read() as c, using(config) as options, corpus._read() as pairs:
            call(lib.xf_tokenizer_train, c, options, pairs, ctypes.byref(self._pointer))
        return self

    @classmethod
    def load(cls, context: Context, path: Path) -> "Tokenizer":
        """Loads what :meth:`save` wrote."""
        self = cls._new(context)
        with context._read() as c:
            call(lib.xf_tokenizer_load, c, _buffer.path_bytes(path), ctypes.byref(self._pointer))
        return self

    @classmethod
    def _borrow(cls, owner: Handle, context: Context, pointer: int) -> "Tokenizer":
        """A tokenizer that belongs to a model."""
        self = cls.__new__(cls)
        self._setup(keep=(context,), guards=(context._guard,), owner=owner)
        self._pointer = ctypes.c_void_p(pointer)
        return self

    def save(self, path: Path) -> None:
        """Saves it as one JSON file, replacing an old file at once or not at all."""
        with self._read() as tokenizer:
            call(lib.xf_tokenizer_save, tokenizer, _buffer.path_bytes(path))

    def __len__(self) -> int:
        """V, the number of ids."""
        with self._read() as tokenizer:
            return int(lib.xf_tokenizer_vocab_size(tokenizer))

    def encode(self, text: Text, *, end: bool = False) -> List[int]:
        """The ids of a text; ``end`` adds the end symbol, which sentences of a :class:`Batch` need."""
        data = _buffer.utf8(text)
        count = ctypes.c_size_t()
        capacity = len(data) + 16
        with self._read() as tokenizer:
            while True:
                ids = (ctypes.c_int32 * capacity)()
                try:
                    call(lib.xf_tokenizer_encode, tokenizer, data, len(data), ids, capacity, ctypes.byref(count))
                    break
                except BufferTooSmallError:  # normalisation can make a text longer
                    capacity = count.value
        return ids[: count.value] + ([TOKEN_END] if end else [])

    def decode(self, ids: Any) -> str:
        """The text of ids (a sequence or a buffer of integers); start and end symbols give nothing."""
        values, count = _buffer.numbers(ids, "i")
        pointer = _buffer.address(values)
        return self._text(lambda t, *out: call(lib.xf_tokenizer_decode, t, pointer, count, *out), 8 * count + 16)

    def piece(self, id: int) -> str:
        """The name of an id for people: "</s>", "<0xC3>", or the piece with U+2581 for its leading space."""
        number = array("i", [id])[0]  # an OverflowError where ctypes would cut off
        return self._text(lambda t, *out: call(lib.xf_tokenizer_get_piece, t, number, *out), 64)

    def _text(self, fill: Callable[..., int], capacity: int) -> str:
        length = ctypes.c_size_t()
        with self._read() as tokenizer:
            while True:
                room = ctypes.create_string_buffer(capacity)
                try:
                    fill(tokenizer, room, capacity, ctypes.byref(length))
                    break
                except BufferTooSmallError:
                    capacity = length.value + 1
        # With "tokenizer.normalization" none the bytes need not be UTF-8.
        return room.raw[: length.value].decode("utf-8", "replace")
