"""Translation and scoring.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import ctypes
from typing import Any, Iterable, List, NamedTuple, Optional, Tuple

from . import _buffer
from ._abi import call, lib, xf_eval_stats, xf_hypothesis
from ._buffer import Text
from ._handle import Handle
from .config import ConfigLike, using
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


#: The answers to one sentence, best first.
Answers = List[Hypothesis]


class Decoder(Handle):
    """Beam search over a model it shares with others. Reads the options of the group "decode.".

    A decoder is for one thread at a time; for several threads make one each: it copies no weights.
    """

    _kind = "decoder"
    _free = lib.xf_decoder_free

    def __init__(self, model: Model, config: ConfigLike = None) -> None:
        context = model._context
        self._setup(keep=(context, model), guards=(context._guard, model._guard))
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
            answers += self._answers(lib.xf_translate, _buffer.strings(part), lengths, len(part))
        return answers

    def decode(self, batch: Batch) -> List[Answers]:
        """Decodes sources given as ids, as :meth:`translate` does texts; in one call."""
        return self._answers(lib.xf_decode, ctypes.byref(batch._c()))

    def _answers(self, function: Any, *args: object) -> List[Answers]:
        found = ctypes.c_void_p()
        try:
            with self._write() as decoder:
                call(function, decoder, *args, ctypes.byref(found))
            return [
                [_hypothesis(found, sentence, rank) for rank in range(lib.xf_hypotheses_size(found, sentence))]
                for sentence in range(lib.xf_hypotheses_count(found))
            ]
        finally:
            lib.xf_hypotheses_free(found)

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


def _hypothesis(found: Any, sentence: int, rank: int) -> Hypothesis:
    h = xf_hypothesis()
    call(lib.xf_hypotheses_get, found, sentence, rank, ctypes.byref(h))
    # With "tokenizer.normalization" none a text need not be UTF-8.
    text = ctypes.string_at(h.text, h.text_length).decode("utf-8", "replace") if h.text else None
    return Hypothesis(text, tuple(h.ids[: h.length]) if h.length else (), h.log_probability, h.score, bool(h.finished))
