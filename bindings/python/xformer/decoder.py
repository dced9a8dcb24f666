"""Translation, scoring, attention weights.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import ctypes
import operator
from array import array
from enum import IntEnum
from typing import Any, Callable, Iterable, List, NamedTuple, Optional, Sequence, Tuple, Union

from . import _buffer
from ._abi import call, filled, lib, structs, told, xf_constraint_fn
from ._buffer import Text, wrong
from ._callback import heard, long_call
from ._handle import Handle, Native
from ._source import Source
from .batch import Batch, pack
from .config import ConfigLike, pointer_of
from .context import Context
from .data import Batcher
from .errors import XformerError
from .model import Model
from .trainer import Batches, batch_array

__all__ = ["Answers", "AttentionKind", "Constraint", "Decoder", "EvalStats", "Hypothesis", "Prefix", "translate"]


class Hypothesis(NamedTuple):
    """One answer. ``text`` is None when the model has no tokenizer. ``token_log_probabilities`` has one entry for each id,
    and one for the end symbol when ``finished``: when that ended it and not a limit. ``complete``: the search ran to its
    end, and was not ended by the deadline."""

    text: Optional[str]
    ids: Tuple[int, ...]
    token_log_probabilities: Tuple[float, ...]
    log_probability: float
    score: float
    finished: bool
    complete: bool


class Answers(List[Hypothesis]):
    """The answers to one sentence, best first. When there is none, ``error`` says why, and asking for one raises it."""

    error: Optional[XformerError] = None

    def __getitem__(self, index: Any) -> Any:
        if self.error is not None:
            raise self.error
        return super().__getitem__(index)


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


#: Says which ids may follow: ids, a mask of bits, or None for all. See :meth:`Decoder.translate`.
Constraint = Callable[[Prefix], Union[Iterable[int], bytes, bytearray, memoryview, None]]


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
        native = Model._of(model, "model")
        self._create(lib.xf_decoder_create, native, pointer_of(config), keep=native)

    def translate(
        self,
        texts: Iterable[Text],
        config: ConfigLike = None,
        *,
        prefixes: Optional[Sequence[Optional[Text]]] = None,
        constraint: Optional[Constraint] = None,
    ) -> List[Answers]:
        """Translates texts: for each, in their order, its "decode.n_best" answers, best first.

        A text that can't be translated does not fail the others: see :class:`Answers`. ``config`` sets options "decode."
        for this call, a deadline say. ``prefixes`` are what the answers begin with, None for any.

        ``constraint(prefix)`` is called for each hypothesis and step. It gives the ids that may follow, TOKEN_END among
        them when the answer may end here; or, for many, a mask in which bit ``id % 8`` of byte ``id // 8`` is set
        (``numpy.packbits(allowed, bitorder="little").tobytes()``); or None, when all may. It must not use this decoder.
        What it raises ends the call and is raised here. Scores stay the model's own; a sentence without an allowed answer
        has one with ``finished`` False and a ``log_probability`` of minus infinity.
        """
        data = _buffer.utf8s(texts, "texts")
        params, held = _params(config, constraint)
        if prefixes is not None:
            begun = _buffer.utf8s(prefixes, "prefixes", nothing=b"")
            if len(begun) != len(data):
                raise ValueError("%d prefixes for %d texts" % (len(begun), len(data)))
            params.prefixes, params.prefix_lengths = _buffer.texts(begun)
        return self._answers(lib.xf_translate, *_buffer.texts(data), len(data), ctypes.byref(params))

    def decode(
        self,
        batch: Union[Batch, Iterable[Sequence[int]]],
        config: ConfigLike = None,
        *,
        prefixes: Optional[Sequence[Sequence[int]]] = None,
        constraint: Optional[Constraint] = None,
    ) -> List[Answers]:
        """Decodes sources given as ids, as :meth:`translate` does texts: a batch, or sequences of ids, each with its
        end symbol. Prefixes are ids without one."""
        sources = batch if isinstance(batch, Batch) else Batch(*pack(batch, "batch"))
        params, held = _params(config, constraint)
        if prefixes is not None:
            given = Batch(*pack(prefixes, "prefixes"))
            if len(given) != len(sources):
                raise ValueError("%d prefixes for %d sentences" % (len(given), len(sources)))
            begun = given._c()
            params.prefix_ids, params.prefix_offsets = begun.src_ids, begun.src_offsets
        return self._answers(lib.xf_decode, Batch._of(sources, "batch"), ctypes.byref(params))

    def _answers(self, function: Any, *args: object) -> List[Answers]:
        found = Native(lib.xf_hypotheses_free)
        long_call(function, self._c, *args, found.out())
        return [_answers_of(found, sentence) for sentence in range(lib.xf_hypotheses_sentence_count(found))]

    def cancel(self) -> None:
        """Ends the call that runs in another thread on this decoder in CancelledError."""
        lib.xf_decoder_cancel(self._c)

    def score(self, batch: Batch) -> List[float]:
        """The natural logarithm of the probability of each target given its source, end symbol included."""
        pairs = Batch._of(batch, "batch")
        scores = (ctypes.c_double * len(batch))()
        long_call(lib.xf_score, self._c, pairs, scores)
        return list(scores)

    def evaluate(self, batches: Union[Batches, Batcher]) -> EvalStats:
        """Loss and perplexity over all pairs of a batcher, once, which then stands where it stood; or of batches."""
        stats = structs.xf_eval_stats()
        if isinstance(batches, Batcher):
            long_call(lib.xf_evaluate_batcher, self._c, batches._c, ctypes.byref(stats))
        else:
            long_call(lib.xf_evaluate, self._c, *batch_array(batches), ctypes.byref(stats))
        return told(EvalStats, stats)

    def attention_weights(self, pair: Batch, kind: AttentionKind, layer: int) -> memoryview:
        """The attention weights of one layer (0 is the lowest) for a batch of one source and target: 32-bit floats of
        shape (heads, queries, keys). Each row sums to 1. Position i of the decoder predicts target token i."""
        kind, number = AttentionKind(kind), _buffer.integer(layer, "layer", 32)
        given = (self._c, Batch._of(pair, "pair"), kind, number)
        weights = filled(0, lambda count: array("f", bytes(4 * count)), lib.xf_attention_weights, *given)
        tokens = {False: len(pair.src_ids), True: len(pair.tgt_ids or ())}
        queries, keys = tokens[kind != AttentionKind.ENCODER], tokens[kind == AttentionKind.DECODER]
        data: Any = memoryview(weights).cast("B")
        cube: memoryview = data.cast("f", (len(weights) // (queries * keys), queries, keys))
        return cube


def _params(config: ConfigLike, constraint: Optional[Constraint]) -> Tuple[Any, Any]:
    """What holds for one call, and the config it points to, which must live as long: ctypes keeps arrays alone."""
    if constraint is not None and not callable(constraint):
        raise wrong("constraint", "a function or None", constraint)
    options = pointer_of(config)
    params = structs.xf_decode_params()
    params.config = None if options is None else options._as_parameter_
    if constraint is not None:
        wanted = constraint

        def ask(user: object, prefix: Any, allowed: Any) -> None:
            p = structs.xf_prefix.from_address(prefix)
            ids = tuple(p.ids[: p.length]) if p.length else ()
            _allow(allowed, p.vocab_size, wanted(Prefix(p.sentence, ids, p.remaining, p.vocab_size)))

        params.constraint = xf_constraint_fn(heard(ask))
    return params, options


def _answers_of(found: Native, sentence: int) -> Answers:
    answers = Answers(
        _hypothesis(found, sentence, rank) for rank in range(lib.xf_hypotheses_answer_count(found, sentence))
    )
    try:
        call(lib.xf_hypotheses_status, found, sentence)
    except XformerError as error:
        answers.error = error
    return answers


def _hypothesis(found: Native, sentence: int, rank: int) -> Hypothesis:
    h = structs.xf_hypothesis()
    call(lib.xf_hypotheses_get, found, sentence, rank, ctypes.byref(h))
    # With "tokenizer.normalization" none a text need not be UTF-8.
    text = ctypes.string_at(h.text, h.text_length).decode("utf-8", "replace") if h.text else None
    ids = tuple(h.ids[: h.length]) if h.length else ()
    tokens = h.length + h.finished
    by_token = tuple(h.token_log_probabilities[:tokens]) if tokens and h.token_log_probabilities else ()
    return Hypothesis(text, ids, by_token, h.log_probability, h.score, bool(h.finished), bool(h.complete))


def translate(model: Union[Model, Source], texts: Iterable[Text], config: ConfigLike = None) -> List[str]:
    """The best translation of each text; the first text that can't be translated raises its error.

    ``xformer.translate("en-de.xf", ["Good morning."])`` is a whole program: a file, or what else :meth:`Model.load`
    takes, is loaded for this call alone. Who calls more than once loads a :class:`Model` and gives that, or keeps a
    :class:`Decoder`. ``config`` is for the decoder, and for the context when a file is loaded.
    """
    if isinstance(model, Model):
        with Decoder(model, config) as decoder:
            return [answers[0].text or "" for answers in decoder.translate(texts)]
    with Context(config) as context, Model.load(context, model) as loaded:
        return translate(loaded, texts, config)
