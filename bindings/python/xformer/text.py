"""The tokenizer: text to ids and back.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any, List

from . import _buffer
from ._abi import call, filled, lib
from ._buffer import Path, Text
from ._handle import Handle
from .config import ConfigLike, pointer_of
from .context import Context

if TYPE_CHECKING:
    from .data import Corpus

__all__ = ["TOKEN_END", "TOKEN_START", "Tokenizer"]


#: Id of the start symbol, which the decoder is fed first.
TOKEN_START = 0
#: Id of the end symbol, which ends every source and every target.
TOKEN_END = 1


class Tokenizer(Handle):
    """Byte pair encoding, WordPiece or unigram, shared by source and target, or a tokenizer of SentencePiece. Made by
    :meth:`train` or :meth:`load`, or had from :attr:`Model.tokenizer`."""

    _kind = "tokenizer"
    _free = lib.xf_tokenizer_free

    def __init__(self) -> None:
        raise TypeError("make a tokenizer by Tokenizer.train() or Tokenizer.load()")

    @classmethod
    def train(cls, context: Context, corpus: "Corpus", config: ConfigLike = None) -> "Tokenizer":
        """Learns a vocabulary from both sides of a corpus; reads the options "tokenizer."."""
        from .data import Corpus  # which needs this module

        pairs = Corpus._of(corpus, "corpus")
        return cls._make(lib.xf_tokenizer_train, Context._of(context, "context"), pointer_of(config), pairs)

    @classmethod
    def load(cls, context: Context, path: Path) -> "Tokenizer":
        """Loads what :meth:`save` wrote."""
        return cls._make(lib.xf_tokenizer_load, Context._of(context, "context"), _buffer.path_bytes(path))

    def save(self, path: Path) -> None:
        """Saves it as one JSON file, replacing an old file at once or not at all."""
        call(lib.xf_tokenizer_save, self._c, _buffer.path_bytes(path))

    def __len__(self) -> int:
        """V, the number of ids."""
        return int(lib.xf_tokenizer_vocab_size(self._c))

    @property
    def start_token(self) -> int:
        """The id of the start symbol, TOKEN_START of a tokenizer learnt here; -1 when it has none."""
        return int(lib.xf_tokenizer_start_token(self._c))

    @property
    def end_token(self) -> int:
        """The id of the end symbol, TOKEN_END of a tokenizer learnt here; -1 when it has none."""
        return int(lib.xf_tokenizer_end_token(self._c))

    def encode(self, text: Text, *, end: bool = False) -> List[int]:
        """The ids of a text; ``end`` adds the end symbol, which sentences of a :class:`Batch` need."""
        data = _buffer.utf8(text)
        given = (lib.xf_tokenizer_encode, self._c, data, len(data))
        ids: List[int] = filled(len(data) + 16, lambda count: array("i", bytes(4 * count)), *given).tolist()
        return ids + ([self.end_token] if end else [])

    def decode(self, ids: Any) -> str:
        """The text of ids (a sequence or a buffer of integers); start and end symbols give nothing."""
        values, count = _buffer.numbers(ids, "i", "ids")
        return _text(8 * count + 16, lib.xf_tokenizer_decode, self._c, _buffer.address(values), count)

    def piece(self, id: int) -> str:
        """The name of an id for people: "</s>", "<0xC3>", or the piece with U+2581 for its leading space."""
        return _text(64, lib.xf_tokenizer_get_piece, self._c, _buffer.integer(id, "id", 32))


def _text(capacity: int, function: Any, *args: object) -> str:
    # With "tokenizer.normalization" none the bytes need not be UTF-8.
    return str(filled(capacity, bytearray, function, *args).decode("utf-8", "replace"))
