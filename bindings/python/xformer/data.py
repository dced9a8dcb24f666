"""Sentence pairs and batches.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import ctypes
from array import array
from typing import Any, Iterable, Iterator, NamedTuple, Optional, Sequence, Tuple

from . import _buffer
from ._abi import call, lib, read, structs
from ._buffer import Path, Text, wrong
from ._callback import long_call
from ._handle import Handle, Native
from ._source import Source, content, is_name, read_all
from .config import ConfigLike, pointer_of
from .context import Context
from .errors import Status
from .text import Tokenizer

__all__ = ["Batch", "Batcher", "BatcherStats", "Corpus", "CorpusStats"]


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
    def from_ids(cls, context: Context, pairs: "Batch") -> "Corpus":
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
        return cls(*_pack(sources, "sources"), *(() if targets is None else _pack(targets, "targets")))

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


def _pack(sentences: Iterable[Sequence[int]], name: str) -> Tuple[Any, Any]:
    ids, offsets = array("i"), array("i", [0])
    for index, sentence in enumerate(_buffer.each(sentences, name, "sequences of ids")):
        try:
            ids.extend(iter(sentence))
        except (TypeError, OverflowError) as error:
            raise type(error)("%s[%d]: %s" % (name, index, error)) from error
        offsets.append(len(ids))
    return ids, offsets


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
