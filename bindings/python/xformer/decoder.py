"""Translation, scoring, attention weights.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import ctypes
import operator
import sys
import threading
from array import array
from contextlib import contextmanager
from enum import IntEnum
from typing import Any, Callable, Iterable, Iterator, List, NamedTuple, Optional, Tuple, Union

from . import _buffer
from ._abi import call, lib, xf_constraint_fn, xf_eval_stats, xf_hypothesis
from ._buffer import Path, Text
from ._handle import Handle
from .config import ConfigLike, using
from .context import Context
from .errors import BufferTooSmallError, CallbackError
from .data import Batch
from .model import Model
from .trainer import Batches, batch_array


class Hypothesis(NamedTuple):
    """One answer. ``text`` is None when the model has no tokenizer; ``finished`` tells that the end symbol ended it
    and not the length limit."""

    text: Optional[str]
    ids: Tuple[int, ...]
    log_probability: float
    score: float
    finished: bool


class EvalStats(NamedTuple):
    """Quality on held-out pairs; loss and nll are nats per target token, without dropout."""

    sentences: int
    tgt_tokens: int
    loss: float
    nll: float
    perplexity: float


class AttentionKind(IntEnum):
    """The three uses of attention (paper s. 3.2.3)."""

    ENCODER = 0
    DECODER = 1
    CROSS = 2


class Prefix(NamedTuple):
    """A hypothesis whose next token is to be chosen: the text it answers (counted from 0), its ids so far, how many may
    follow (the end symbol counted), and how many ids there are."""

    sentence: int
    ids: Tuple[int, ...]
    remaining: int
    vocab_size: int


#: Says which ids may follow: ids, a mask of bits, or None for all. See :meth:`Decoder.set_constraint`.
Constraint = Callable[[Prefix], Union[Iterable[int], bytes, bytearray, memoryview, None]]

#: The answers to one sentence, best first.
Answers = List[Hypothesis]


class _Asked:
    """A constraint on its way through C: the text from which its sentences count, and what it raised."""

    def __init__(self, constraint: Constraint) -> None:
        self._first = 0
        self._raised: Optional[BaseException] = None
        self._constraint = constraint

    def during(self, first: int, *function: Any) -> None:
        """Calls a function that asks the constraint, and raises what that raised."""
        self._first, self._raised = first, None
        try:
            with self._hears():
                call(*function)
        except CallbackError:
            if self._raised is None:
                raise
        raised, self._raised = self._raised, None
        if raised is not None:
            raise raised

    @contextmanager
    def _hears(self) -> Iterator[None]:
        """Python runs the handler of a signal before the first line of __call__() as well. What it raises there, as
        Ctrl-C does, ctypes gives to sys.unraisablehook alone, and tells the library nothing of use. Handlers run in
        the main thread only, so that the hook is changed by one thread."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = sys.unraisablehook

        def hook(report: Any) -> None:
            # Since Python 3.13 the callback is named in the message and no longer given.
            mine = report.object is self or (report.object is None and repr(self) in (report.err_msg or ""))
            if mine and report.exc_value is not None:
                self._raised = report.exc_value
            else:
                before(report)

        sys.unraisablehook = hook
        try:
            yield
        finally:
            sys.unraisablehook = before

    def __call__(self, user: object, prefix: Any, allowed: Any) -> int:
        if self._raised is not None:  # before the last time: see _hears()
            return 1
        try:
            p = prefix.contents
            ids = tuple(p.ids[: p.length]) if p.length else ()
            asked = Prefix(self._first + p.sentence, ids, p.remaining, p.vocab_size)
            _allow(allowed, p.vocab_size, self._constraint(asked))
            return 0
        except BaseException as error:  # of any kind: it goes on where the library was called
            self._raised = error
            return 1


def _allow(allowed: Any, vocab_size: int, answer: Any) -> None:
    """Sets the bits of an answer, of which all were set."""
    if answer is None:
        return
    words = (vocab_size + 31) // 32
    mask = (ctypes.c_uint32 * words)()
    if isinstance(answer, (bytes, bytearray, memoryview)):
        data = memoryview(answer).tobytes()
        if len(data) * 8 < vocab_size:
            raise ValueError("the mask has %d bits, there are %d ids" % (len(data) * 8, vocab_size))
        for word in range(words):
            mask[word] = int.from_bytes(data[4 * word : 4 * word + 4], "little")
    else:
        for id in map(operator.index, answer):  # the arithmetic of small NumPy integers would overflow
            if not 0 <= id < vocab_size:
                raise ValueError("id %d is allowed, ids go from 0 to %d" % (id, vocab_size - 1))
            mask[id // 32] |= 1 << id % 32
    ctypes.memmove(allowed, mask, ctypes.sizeof(mask))


class Decoder(Handle):
    """Beam search over a model it shares with others. Reads the options of the group "decode.".

    A decoder is for one thread at a time; for several threads make one each: it copies no weights.
    """

    _kind = "decoder"
    _free = lib.xf_decoder_free

    def __init__(self, model: Model, config: ConfigLike = None) -> None:
        context = model._context
        self._setup(keep=(context, model), guards=(context._guard, model._guard))
        self._asked: Optional[_Asked] = None
        self._constraint = xf_constraint_fn(0)
        with model._read() as m, using(config) as options:
            call(lib.xf_decoder_create, m, options, ctypes.byref(self._pointer))

    def translate(self, texts: Iterable[Text], *, chunk: int = 256) -> List[Answers]:
        """Translates texts: for each, in their order, its "decode.n_best" answers, best first.

        The library is called for ``chunk`` texts at a time, so that Ctrl-C takes effect after at most so many. Answers
        do not depend on it; a text that an error's message names by number is counted within its chunk.
        """
        if isinstance(texts, (str, bytes)):
            raise TypeError("translate() takes several texts: [text]")
        if chunk < 1:
            raise ValueError("chunk is %d, at least 1 is needed" % chunk)
        data = [_buffer.utf8(text) for text in texts]
        answers: List[Answers] = []
        for start in range(0, len(data), chunk):
            part = data[start : start + chunk]
            lengths = (ctypes.c_size_t * len(part))(*map(len, part))
            answers += self._answers(start, lib.xf_translate, _buffer.strings(part), lengths, len(part))
        return answers

    def decode(self, batch: Batch) -> List[Answers]:
        """Decodes sources given as ids, as :meth:`translate` does texts; in one call."""
        return self._answers(0, lib.xf_decode, ctypes.byref(batch._c()))

    def _answers(self, first: int, function: Any, *args: object) -> List[Answers]:
        found = ctypes.c_void_p()
        try:
            with self._write() as decoder:
                if self._asked is None:
                    call(function, decoder, *args, ctypes.byref(found))
                else:
                    self._asked.during(first, function, decoder, *args, ctypes.byref(found))
            return [
                [_hypothesis(found, sentence, rank) for rank in range(lib.xf_hypotheses_answer_count(found, sentence))]
                for sentence in range(lib.xf_hypotheses_sentence_count(found))
            ]
        finally:
            lib.xf_hypotheses_free(found)

    def set_constraint(self, constraint: Optional[Constraint]) -> None:
        """Holds :meth:`translate` and :meth:`decode` to what a function allows: a grammar, a beginning, a lexicon. None
        takes the constraint away.

        ``constraint(prefix)`` is called for each hypothesis and step. It gives the ids that may follow, TOKEN_END
        among them when the answer may end here; or, for many, a mask in which bit ``id % 8`` of byte ``id // 8`` is set
        (``numpy.packbits(allowed, bitorder="little").tobytes()``); or None, when all may. It must not use this decoder.
        What it raises ends the call and is raised there. Scores stay the model's own; a sentence without an allowed
        answer has one with ``finished`` False and a ``log_probability`` of minus infinity.
        """
        asked = None if constraint is None else _Asked(constraint)
        function = xf_constraint_fn(0) if asked is None else xf_constraint_fn(asked)
        with self._write() as decoder:
            call(lib.xf_decoder_set_constraint, decoder, function, None)
            self._asked, self._constraint = asked, function

    def score(self, batch: Batch) -> List[float]:
        """The natural logarithm of the probability of each target given its source, end symbol included."""
        scores = (ctypes.c_double * len(batch))()
        with self._write() as decoder:
            call(lib.xf_score, decoder, ctypes.byref(batch._c()), scores)
        return list(scores)

    def evaluate(self, batches: Batches) -> EvalStats:
        """Loss and perplexity on pairs, over all batches together."""
        rows, count = batch_array(batches)
        stats = xf_eval_stats()
        with self._write() as decoder:
            call(lib.xf_evaluate, decoder, rows, count, ctypes.byref(stats))
        return EvalStats(*(getattr(stats, name) for name in EvalStats._fields))

    def attention_weights(self, pair: Batch, kind: AttentionKind, layer: int) -> memoryview:
        """The attention weights of one layer (0 is the lowest) for a batch of one source and target: 32-bit floats of
        shape (heads, queries, keys). Each row sums to 1. Position i of the decoder predicts target token i."""
        kind, number = AttentionKind(kind), array("i", [layer])[0]
        count = ctypes.c_size_t()
        weights = array("f")
        with self._write() as decoder:
            given = (decoder, ctypes.byref(pair._c()), kind, number)
            try:
                call(lib.xf_attention_weights, *given, None, 0, ctypes.byref(count))
            except BufferTooSmallError:
                weights = array("f", bytes(4 * count.value))
                call(lib.xf_attention_weights, *given, _buffer.address(weights), len(weights), ctypes.byref(count))
        tokens = {False: len(pair.src_ids), True: len(pair.tgt_ids or ())}
        queries, keys = tokens[kind != AttentionKind.ENCODER], tokens[kind == AttentionKind.DECODER]
        data: Any = memoryview(weights).cast("B")
        cube: memoryview = data.cast("f", (len(weights) // (queries * keys), queries, keys))
        return cube


def _hypothesis(found: Any, sentence: int, rank: int) -> Hypothesis:
    h = xf_hypothesis()
    call(lib.xf_hypotheses_get, found, sentence, rank, ctypes.byref(h))
    # With "tokenizer.normalization" none a text need not be UTF-8.
    text = ctypes.string_at(h.text, h.text_length).decode("utf-8", "replace") if h.text else None
    return Hypothesis(text, tuple(h.ids[: h.length]) if h.length else (), h.log_probability, h.score, bool(h.finished))


def translate(model: Union[Model, Path], texts: Iterable[Text], config: ConfigLike = None) -> List[str]:
    """The best translation of each text.

    ``xformer.translate("en-de.xf", ["Good morning."])`` is a whole program: a file is loaded for this call alone. Who
    calls more than once loads a :class:`Model` and gives that, or keeps a :class:`Decoder`. ``config`` is for the
    decoder, and for the context when a file is loaded.
    """
    if isinstance(model, Model):
        with Decoder(model, config) as decoder:
            return [answers[0].text or "" for answers in decoder.translate(texts)]
    with Context(config) as context, Model.load(context, model) as loaded:
        return translate(loaded, texts, config)
