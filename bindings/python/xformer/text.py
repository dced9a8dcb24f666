"""Tokenizers: text to ids and back. Sentences of a text.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import ctypes
from array import array
from typing import TYPE_CHECKING, Any, List, NamedTuple, Optional, Tuple

from . import _buffer
from ._abi import abi, call, fill, lib, read
from ._buffer import Text
from ._handle import Handle
from .call import Call, CancelToken, Deadline, Progress
from .config import ConfigLike, pointer_of
from .context import Context
from .errors import BufferTooSmallError
from .io import Sink, Source, c_source, save

if TYPE_CHECKING:
    from .data import Corpus

__all__ = ["Tokenizer", "TokenizerInfo", "split_sentences"]

#: The sides of a sentence pair by name.
SIDES = {"source": abi.XF_SIDE_SOURCE, "target": abi.XF_SIDE_TARGET}


class TokenizerInfo(NamedTuple):
    """Properties of a tokenizer. ``kind`` is "bpe", "wordpiece", "unigram", "sentencepiece", or "pair". A pair has 0
    ids and no start and end token; a missing token is -1."""

    kind: str
    vocab_size: int
    start_token: int
    end_token: int


class Tokenizer(Handle):
    """Byte pair encoding, WordPiece, unigram, SentencePiece, or a pair of tokenizers for sources and targets.

    Created by :meth:`train` or :meth:`load`, or returned by :attr:`Model.tokenizer`.
    """

    _kind = "tokenizer"
    _free = lib.xf_tokenizer_free

    def __init__(self) -> None:
        raise TypeError("create a tokenizer with Tokenizer.train() or Tokenizer.load()")

    @classmethod
    def train(
        cls,
        context: Context,
        corpus: "Corpus",
        config: ConfigLike = None,
        *,
        progress: Optional[Progress] = None,
        deadline: Optional[Deadline] = None,
        cancel: Optional[CancelToken] = None,
    ) -> "Tokenizer":
        """Trains a tokenizer on both sides of a corpus. Reads the options of the group "tokenizer."."""
        from .data import Corpus  # which imports this module

        call = Call(progress, deadline, cancel)
        inputs = (Context._of(context, "context"), Corpus._of(corpus, "corpus"), pointer_of(config))
        return cls._make(lib.xf_tokenizer_train, *inputs, call, by=call.run)

    @classmethod
    def load(
        cls,
        context: Context,
        source: Source,
        *,
        progress: Optional[Progress] = None,
        deadline: Optional[Deadline] = None,
        cancel: Optional[CancelToken] = None,
    ) -> "Tokenizer":
        """Loads a tokenizer that :meth:`save` or the converter wrote."""
        call, native = Call(progress, deadline, cancel), Context._of(context, "context")
        c, held = c_source(source, call)
        return cls._make(lib.xf_tokenizer_load, native, c, call, by=call.run)

    def save(
        self,
        sink: Sink,
        *,
        progress: Optional[Progress] = None,
        deadline: Optional[Deadline] = None,
        cancel: Optional[CancelToken] = None,
    ) -> None:
        """Saves the tokenizer as a JSON file."""
        save(lib.xf_tokenizer_save, self._c, sink=sink, call=Call(progress, deadline, cancel))

    @property
    def info(self) -> TokenizerInfo:
        """Kind, number of ids, start and end token."""
        return read(TokenizerInfo, abi.xf_tokenizer_info, lib.xf_tokenizer_get_info, self._c)

    @property
    def source(self) -> "Tokenizer":
        """The tokenizer of sources. If this tokenizer is not a pair, both sides are equal to it."""
        return self._side(abi.XF_SIDE_SOURCE)

    @property
    def target(self) -> "Tokenizer":
        """The tokenizer of targets."""
        return self._side(abi.XF_SIDE_TARGET)

    def _side(self, side: int) -> "Tokenizer":
        native = self._c
        return Tokenizer._borrow(lib.xf_tokenizer_side(native, side), native)

    def __len__(self) -> int:
        """The number of ids, V; 0 for a pair."""
        return self.info.vocab_size

    def __bool__(self) -> bool:
        return True  # also a pair, whose length is 0

    def encode(self, text: Text) -> List[int]:
        """Returns the ids of a text, without start, end, and language tokens; see :meth:`Model.encode` for these."""
        data = _buffer.utf8(text)
        return ids_of(lib.xf_tokenizer_encode, self._c, data, len(data), capacity=len(data) + 16)

    def decode(self, ids: Any) -> str:
        """Returns the text of ids (a sequence or a buffer of integers). Control symbols produce no text."""
        values, count = _buffer.numbers(ids, "i", "ids")
        return _text(8 * count + 16, lib.xf_tokenizer_decode, self._c, _buffer.address(values), count)

    def piece(self, id: int) -> str:
        """Returns a readable name of an id: "</s>", "<0xC3>", or a piece with U+2581 for a leading space."""
        return _text(64, lib.xf_tokenizer_get_piece, self._c, _buffer.integer(id, "id", 32))


def ids_of(function: Any, *args: object, capacity: int) -> List[int]:
    """Returns the ids that a function writes to its last parameters before the error."""
    ids: List[int] = fill(capacity, lambda count: array("i", bytes(4 * count)), function, *args).tolist()
    return ids


def _text(capacity: int, function: Any, *args: object) -> str:
    # With "tokenizer.normalization" none the bytes may be invalid UTF-8.
    return str(fill(capacity, bytearray, function, *args).decode("utf-8", "replace"))


def split_sentences(text: Text, language: Optional[str] = None, *, max_characters: int = 0) -> List[Tuple[int, int]]:
    """Returns the begin and end of each sentence, as indices of ``text``: of characters, or of bytes of UTF-8.

    Sentences exclude the white space around them, and all text between them is white space. A line end always ends a
    sentence. ``language`` is an ISO 639-1 code, such as "de"; without it, the abbreviations of all languages apply.
    Sentences of more than ``max_characters`` code points are divided.
    """
    data = _buffer.utf8(text)
    code = None if language is None else _buffer.c_string(language, "language")
    most = _buffer.integer(max_characters, "max_characters")
    if most < 0:
        raise ValueError("max_characters is %d; expected 0 or more" % most)
    size = ctypes.c_size_t(len(data) // 32 + 8)
    while True:
        spans = (abi.xf_span * size.value)()
        try:
            call(lib.xf_split_sentences, data, len(data), code, most, spans, len(spans), ctypes.byref(size))
            break
        except BufferTooSmallError:
            continue
    if isinstance(text, bytes) or len(text) == len(data):
        return [(span.begin, span.end) for span in spans[: size.value]]
    found: List[Tuple[int, int]] = []
    at = index = 0
    for span in spans[: size.value]:
        begin = index + len(data[at : span.begin].decode("utf-8"))
        index = begin + len(data[span.begin : span.end].decode("utf-8"))
        at = span.end
        found.append((begin, index))
    return found
