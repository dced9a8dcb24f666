"""Sentence pairs, and what makes them batches.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import ctypes
from array import array
from typing import Any, Iterable, Iterator, NamedTuple, Optional, Tuple

from . import _buffer
from ._abi import call, lib, read, structs
from ._buffer import Path, Text, wrong
from ._callback import long_call
from ._handle import Handle, Native
from ._source import Source, content, is_name, read_all
from .batch import Batch
from .config import ConfigLike, pointer_of
from .context import Context
from .errors import Status
from .text import Tokenizer

__all__ = ["Batcher", "BatcherStats", "Corpus", "CorpusStats"]


class CorpusStats(NamedTuple):
    """What became of the lines of a corpus: ``lines`` is the sum of the others."""

    lines: int
    kept: int
    bad_columns: int
    empty_side: int
    too_long: int
    invalid_utf8: int
    nul_byte: int


class BatcherStats(NamedTuple):
    """Where a batcher stands (the next batch) and what it holds; tokens count end symbols."""

    epoch: int
    batch: int
    batches: int
    pairs: int
    too_long: int
    empty: int
    src_tokens: int
    tgt_tokens: int


class Corpus(Handle):
    """Sentence pairs, as text or as ids; immutable. Made by the class methods. Bad pairs are skipped, counted in
    :attr:`stats` and told to the log; with the option "data.strict" the first one is a DataError."""

    _kind = "corpus"
    _free = lib.xf_corpus_free

    def __init__(self) -> None:
        raise TypeError("make a corpus by Corpus.open(), open_parallel(), from_text(), from_pairs() or from_ids()")

    @classmethod
    def open(cls, context: Context, source: Source, config: ConfigLike = None) -> "Corpus":
        """Opens a file of lines "source TAB target". Bytes are its content; of an object with read() it is what that
        gives."""
        where, options = Context._of(context, "context"), pointer_of(config)
        if is_name(source):
            return cls._make(lib.xf_corpus_open, where, options, _buffer.path_bytes(source))
        data = content(source)
        if data is None:
            data = read_all(source)
        name = getattr(source, "name", "memory")
        return cls.from_text(context, data, config, name=name if isinstance(name, str) else "file")

    @classmethod
    def open_parallel(cls, context: Context, source: Path, target: Path, config: ConfigLike = None) -> "Corpus":
        """Opens two files with as many lines, a sentence each."""
        names = (_buffer.path_bytes(source, "source"), _buffer.path_bytes(target, "target"))
        return cls._make(lib.xf_corpus_open_parallel, Context._of(context, "context"), pointer_of(config), *names)

    @classmethod
    def from_text(cls, context: Context, text: Text, config: ConfigLike = None, *, name: str = "text") -> "Corpus":
        """Makes a corpus from lines "source TAB target" in memory; messages call it ``name``."""
        data = _buffer.utf8(text)
        given = (pointer_of(config), _buffer.c_string(name, "name"), data, len(data))
        return cls._make(lib.xf_corpus_from_memory, Context._of(context, "context"), *given)

    @classmethod
    def from_pairs(cls, context: Context, pairs: Iterable[Tuple[Text, Text]], config: ConfigLike = None) -> "Corpus":
        """Makes a corpus from (source, target) pairs, whatever characters they hold."""
        several = enumerate(_buffer.each(pairs, "pairs", "(source, target) pairs"))
        rows = [_pair(pair, "pairs[%d]" % index) for index, pair in several]
        sides = [array for side in (0, 1) for array in _buffer.texts([row[side] for row in rows])]
        given = (Context._of(context, "context"), pointer_of(config), *sides, len(rows))
        return cls._make(lib.xf_corpus_from_pairs, *given)

    @classmethod
    def from_ids(cls, context: Context, pairs: Batch) -> "Corpus":
        """Makes a corpus, without text, from the ids of a tokenizer of one's own; its batchers need no tokenizer."""
        return cls._make(lib.xf_corpus_from_ids, Context._of(context, "context"), Batch._of(pairs, "pairs"))

    def subset(self, indices: Any) -> "Corpus":
        """Some pairs of this corpus, by a sequence or buffer of their numbers, in that order."""
        numbers, count = _buffer.numbers(indices, "q", "indices")
        return self._make(lib.xf_corpus_subset, self._c, _buffer.address(numbers), count)

    def split(self, held_out: int, seed: int = 1) -> Tuple["Corpus", "Corpus"]:
        """Two corpora: the rest, and ``held_out`` pairs drawn at random."""
        rest, drawn = (Corpus.__new__(Corpus) for _ in range(2))
        natives = [Native(Corpus._free, self._c) for _ in range(2)]
        number = (_buffer.integer(held_out, "held_out"), _buffer.integer(seed, "seed"))
        call(lib.xf_corpus_split, self._c, *number, natives[0].out(), natives[1].out())
        rest._native, drawn._native = natives
        return rest, drawn

    def __len__(self) -> int:
        return int(lib.xf_corpus_pair_count(self._c))

    def __getitem__(self, index: int) -> Tuple[str, str]:
        size, corpus = len(self), self._c  # which holds the texts while they are copied
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
        """How many pairs were read, kept and skipped, and why."""
        return read(CorpusStats, structs.xf_corpus_stats, lib.xf_corpus_get_stats, self._c)


def _pair(pair: Any, name: str) -> Tuple[bytes, bytes]:
    if isinstance(pair, (str, bytes)):
        raise wrong(name, "(source, target)", pair)
    sides = tuple(_buffer.each(pair, name, "(source, target)"))
    if len(sides) != 2:
        raise ValueError("%s must be (source, target), it has %d elements" % (name, len(sides)))
    return _buffer.utf8(sides[0], name + "[0]"), _buffer.utf8(sides[1], name + "[1]")


class Batcher(Handle):
    """Turns a corpus into batches: ``for batch in batcher`` gives one epoch, and the next loop the next epoch.

    Reads "data.batch_tokens", "data.max_tokens", "data.shuffle", "data.seed", "data.bpe_dropout" and
    "data.unigram_alpha", and for a model of many languages "data.source_language" and "data.target_language": texts are
    framed for the model whose tokenizer it is. Corpus and tokenizer are not needed afterwards. Batches own their numbers
    and stay valid.
    """

    _kind = "batcher"
    _free = lib.xf_batcher_free

    def __init__(self, corpus: Corpus, tokenizer: Optional[Tokenizer] = None, config: ConfigLike = None) -> None:
        """tokenizer: None for a corpus of ids."""
        pairs = Corpus._of(corpus, "corpus")
        words = None if tokenizer is None else Tokenizer._of(tokenizer, "tokenizer")
        self._create(lib.xf_batcher_create, pairs, words, pointer_of(config), keep=pairs, by=long_call)

    def next(self) -> Optional[Batch]:
        """The next batch; None at the end of an epoch, after which the next epoch begins."""
        given, batcher = structs.xf_batch(), self._c
        if call(lib.xf_batcher_next, batcher, ctypes.byref(given)) == Status.DONE:
            return None
        # Copied: the arrays are the batcher's, and its next call fills them anew.
        sides = [_copy(given.src_ids, given.src_offsets, given), _copy(given.tgt_ids, given.tgt_offsets, given)]
        index = given.pair_index and _array("q", given.pair_index, given.sentences)
        return Batch(*sides[0], *sides[1], index or None)

    def __iter__(self) -> Iterator[Batch]:
        while True:
            batch = self.next()
            if batch is None:
                return
            yield batch

    @property
    def stats(self) -> BatcherStats:
        """Where it stands and what it holds."""
        return read(BatcherStats, structs.xf_batcher_stats, lib.xf_batcher_get_stats, self._c)

    def seek(self, epoch: int, batch: int = 0) -> None:
        """Moves to a position, so that the next batch is the one that stood there."""
        call(lib.xf_batcher_seek, self._c, _buffer.integer(epoch, "epoch"), _buffer.integer(batch, "batch"))


def _array(code: str, pointer: Any, count: int) -> Any:
    numbers = array(code)
    numbers.frombytes(ctypes.string_at(pointer, count * numbers.itemsize))
    return numbers


def _copy(ids: Any, offsets: Any, batch: Any) -> Tuple[Any, Any]:
    starts = _array("i", offsets, batch.sentences + 1)
    return _array("i", ids, starts[-1]), starts
