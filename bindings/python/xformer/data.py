"""Sentence pairs and batches.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import ctypes
from array import array
from typing import TYPE_CHECKING, Any, Iterable, Iterator, NamedTuple, Optional, Tuple

from . import _buffer
from ._abi import abi, call, lib, read
from ._buffer import Path, Text, wrong
from ._handle import Handle, Native
from .batch import Batch
from .call import Call, CancelToken, Deadline, Progress
from .config import ConfigLike, pointer_of
from .context import Context
from .errors import Status
from .text import Tokenizer

if TYPE_CHECKING:
    from .trainer import Trainer

__all__ = ["Batcher", "BatcherStats", "Corpus", "CorpusStats"]


class CorpusStats(NamedTuple):
    """Line counts of a corpus. ``lines`` is the sum of the others."""

    lines: int
    kept: int
    bad_columns: int
    empty_side: int
    too_long: int
    invalid_utf8: int
    nul_byte: int


class BatcherStats(NamedTuple):
    """Position of a batcher (its next batch), and contents of the epoch. Tokens include end symbols."""

    epoch: int
    batch: int
    batches: int
    pairs: int
    too_long: int
    empty: int
    src_tokens: int
    tgt_tokens: int


class Corpus(Handle):
    """Sentence pairs, as text or as ids; immutable. Created by the class methods.

    Bad pairs are skipped, counted in :attr:`stats`, and logged. With the option "data.strict" the first one is a
    :class:`DataError`.
    """

    _kind = "corpus"
    _free = lib.xf_corpus_free

    def __init__(self) -> None:
        raise TypeError("create a corpus with Corpus.open(), Corpus.from_pairs(), or Corpus.from_ids()")

    @classmethod
    def open(
        cls,
        context: Context,
        source: Path,
        target: Optional[Path] = None,
        config: ConfigLike = None,
        *,
        progress: Optional[Progress] = None,
        deadline: Optional[Deadline] = None,
        cancel: Optional[CancelToken] = None,
    ) -> "Corpus":
        """Opens a file or a folder of lines "source TAB target", or two parallel ones with a sentence per line.

        Also opens a folder that :meth:`encode` has written.
        """
        call = Call(progress, deadline, cancel)
        paths = (_buffer.path_bytes(source, "source"), None if target is None else _buffer.path_bytes(target, "target"))
        native = Context._of(context, "context")
        return cls._make(lib.xf_corpus_open, native, *paths, pointer_of(config), call, by=call.run)

    @staticmethod
    def encode(
        context: Context,
        source: Path,
        tokenizer: Tokenizer,
        folder: Path,
        target: Optional[Path] = None,
        config: ConfigLike = None,
        *,
        progress: Optional[Progress] = None,
        deadline: Optional[Deadline] = None,
        cancel: Optional[CancelToken] = None,
    ) -> None:
        """Encodes files as :meth:`open` reads them, and writes an encoded corpus, which may be larger than memory.

        Continues what an earlier call has begun. Open the folder with :meth:`open`.
        """
        native, words = Context._of(context, "context"), Tokenizer._of(tokenizer, "tokenizer")
        texts = (_buffer.path_bytes(source, "source"), None if target is None else _buffer.path_bytes(target, "target"))
        to, call = _buffer.path_bytes(folder, "folder"), Call(progress, deadline, cancel)
        call.run(lib.xf_corpus_encode, native, *texts, words, pointer_of(config), call, to)

    @classmethod
    def from_pairs(
        cls,
        context: Context,
        pairs: Iterable[Tuple[Text, Text]],
        config: ConfigLike = None,
        *,
        progress: Optional[Progress] = None,
        deadline: Optional[Deadline] = None,
        cancel: Optional[CancelToken] = None,
    ) -> "Corpus":
        """Creates a corpus from (source, target) pairs, which may contain any characters."""
        several = enumerate(_buffer.each(pairs, "pairs", "(source, target) pairs"))
        rows = [_pair(pair, "pairs[%d]" % index) for index, pair in several]
        sides = [array for side in (0, 1) for array in _buffer.texts([row[side] for row in rows])]
        call = Call(progress, deadline, cancel)
        inputs = (Context._of(context, "context"), *sides, len(rows), pointer_of(config))
        return cls._make(lib.xf_corpus_from_pairs, *inputs, call, by=call.run)

    @classmethod
    def from_ids(
        cls,
        context: Context,
        pairs: Batch,
        *,
        progress: Optional[Progress] = None,
        deadline: Optional[Deadline] = None,
        cancel: Optional[CancelToken] = None,
    ) -> "Corpus":
        """Creates a corpus of ids, which contains no text. Its batchers need no tokenizer."""
        call = Call(progress, deadline, cancel)
        inputs = (Context._of(context, "context"), Batch._of(pairs, "pairs"))
        return cls._make(lib.xf_corpus_from_ids, *inputs, call, by=call.run)

    def subset(self, indices: Any) -> "Corpus":
        """Returns a corpus of some pairs, given by a sequence or a buffer of indices, in that order."""
        numbers, count = _buffer.numbers(indices, "q", "indices")
        return self._make(lib.xf_corpus_subset, self._c, _buffer.address(numbers), count)

    def split(self, held_out: int, seed: int = 1) -> Tuple["Corpus", "Corpus"]:
        """Returns two corpora: the rest, and ``held_out`` pairs that are selected at random."""
        rest, selected = (Corpus.__new__(Corpus) for _ in range(2))
        natives = [Native(Corpus._free, self._c) for _ in range(2)]
        numbers = (_buffer.integer(held_out, "held_out"), _buffer.integer(seed, "seed"))
        call(lib.xf_corpus_split, self._c, *numbers, natives[0].out(), natives[1].out())
        rest._native, selected._native = natives
        return rest, selected

    def __len__(self) -> int:
        return int(lib.xf_corpus_pair_count(self._c))

    def __getitem__(self, index: int) -> Tuple[str, str]:
        size, corpus = len(self), self._c  # keeps the texts alive while they are copied
        index = _buffer.integer(index, "index")
        if not -size <= index < size:
            raise IndexError("pair %d of %d" % (index, size))
        texts = (ctypes.c_void_p(), ctypes.c_void_p())
        lengths = (ctypes.c_size_t(), ctypes.c_size_t())
        out = [ctypes.byref(x) for side in zip(texts, lengths) for x in side]
        call(lib.xf_corpus_get_pair, corpus, index % size, *out)
        source, target = (ctypes.string_at(t.value or 0, n.value).decode("utf-8") for t, n in zip(texts, lengths))
        return source, target

    def __iter__(self) -> Iterator[Tuple[str, str]]:
        return (self[index] for index in range(len(self)))

    @property
    def stats(self) -> CorpusStats:
        """Numbers of lines that were read, kept, and skipped."""
        return read(CorpusStats, abi.xf_corpus_stats, lib.xf_corpus_get_stats, self._c)


def _pair(pair: Any, name: str) -> Tuple[bytes, bytes]:
    if isinstance(pair, (str, bytes)):
        raise wrong(name, "(source, target)", pair)
    sides = tuple(_buffer.each(pair, name, "(source, target)"))
    if len(sides) != 2:
        raise ValueError("%s must be (source, target), it has %d elements" % (name, len(sides)))
    return _buffer.utf8(sides[0], name + "[0]"), _buffer.utf8(sides[1], name + "[1]")


class Batcher(Handle):
    """Produces batches from a corpus. ``for batch in batcher`` iterates over one epoch, the next loop over the next.

    Reads "data.batch_tokens", "data.max_tokens", "data.shuffle", "data.seed", and "data.sampling". If the tokenizer
    belongs to a model, texts are framed for that model; for a multilingual model, "text.source_language" and
    "text.target_language" are read. Batches own their numbers and remain valid.
    """

    _kind = "batcher"
    _free = lib.xf_batcher_free

    def __init__(
        self,
        corpus: Corpus,
        tokenizer: Optional[Tokenizer] = None,
        config: ConfigLike = None,
        *,
        progress: Optional[Progress] = None,
        deadline: Optional[Deadline] = None,
        cancel: Optional[CancelToken] = None,
    ) -> None:
        """Encodes the corpus. ``tokenizer`` is None for a corpus of ids."""
        pairs = Corpus._of(corpus, "corpus")
        words = None if tokenizer is None else Tokenizer._of(tokenizer, "tokenizer")
        call = Call(progress, deadline, cancel)
        self._create(lib.xf_batcher_create, pairs, words, pointer_of(config), call, keep=pairs, by=call.run)

    def next(
        self,
        *,
        progress: Optional[Progress] = None,
        deadline: Optional[Deadline] = None,
        cancel: Optional[CancelToken] = None,
    ) -> Optional[Batch]:
        """Returns the next batch; None at the end of an epoch, after which the next epoch begins."""
        filled, batcher, call = abi.xf_batch(), self._c, Call(progress, deadline, cancel)
        if call.run(lib.xf_batcher_next, batcher, call, ctypes.byref(filled)) == Status.DONE:
            return None
        # Copied, because the batcher's next call overwrites its arrays.
        sides = [_copy(filled.src_ids, filled.src_offsets, filled), _copy(filled.tgt_ids, filled.tgt_offsets, filled)]
        index = filled.pair_index and _array("q", filled.pair_index, filled.sentences)
        return Batch(*sides[0], *sides[1], index or None)

    def __iter__(self) -> Iterator[Batch]:
        while True:
            batch = self.next()
            if batch is None:
                return
            yield batch

    @property
    def stats(self) -> BatcherStats:
        """Position and contents."""
        return read(BatcherStats, abi.xf_batcher_stats, lib.xf_batcher_get_stats, self._c)

    def seek(
        self,
        epoch: int,
        batch: int = 0,
        *,
        progress: Optional[Progress] = None,
        deadline: Optional[Deadline] = None,
        cancel: Optional[CancelToken] = None,
    ) -> None:
        """Moves to a position."""
        position = (_buffer.integer(epoch, "epoch"), _buffer.integer(batch, "batch"))
        call = Call(progress, deadline, cancel)
        call.run(lib.xf_batcher_seek, self._c, *position, call)

    def resume(
        self,
        trainer: "Trainer",
        *,
        progress: Optional[Progress] = None,
        deadline: Optional[Deadline] = None,
        cancel: Optional[CancelToken] = None,
    ) -> None:
        """Moves to the position that was saved in the checkpoint of a resumed trainer.

        The batcher must have been created from the same corpus, tokenizer, and options as in the saved run.
        """
        from .trainer import Trainer  # which imports this module

        call = Call(progress, deadline, cancel)
        call.run(lib.xf_batcher_resume, self._c, Trainer._of(trainer, "trainer"), call)


def _array(code: str, pointer: Any, count: int) -> Any:
    numbers = array(code)
    numbers.frombytes(ctypes.string_at(pointer, count * numbers.itemsize))
    return numbers


def _copy(ids: Any, offsets: Any, batch: Any) -> Tuple[Any, Any]:
    starts = _array("q", offsets, batch.sentences + 1)
    return _array("i", ids, starts[-1]), starts
