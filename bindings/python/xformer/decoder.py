"""Translation, scoring, and evaluation.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import ctypes
from typing import Any, Iterable, List, NamedTuple, Optional, Sequence, Tuple, Union

from . import _buffer, errors
from ._abi import abi, call, lib, text, to_tuple
from ._buffer import Text
from ._constraint import Constraint, c_constraint
from ._handle import Handle, Native
from .batch import Batch, pack
from .call import Call, CancelToken, Deadline, Progress, in_thread
from .config import ConfigLike, pointer_of
from .context import Context
from .data import Batcher
from .errors import XformerError
from .io import Source
from .model import Model

__all__ = ["Decoder", "EvalStats", "Hypotheses", "Hypothesis", "translate"]


class Hypothesis(NamedTuple):
    """One hypothesis. ``text`` is None if the model has no tokenizer.

    ``token_log_probabilities`` has one entry per id, and one for the end symbol if ``finished``. A hypothesis that is
    not finished was cut off by a limit. ``complete`` is False if the deadline ended the search.

    With "decode.alignment", ``alignment`` has the index of the source token of each id (-1: none), and ``text_ends``
    the size of the text of the ids up to this one, in bytes of UTF-8. Otherwise both are empty.
    """

    text: Optional[str]
    ids: Tuple[int, ...]
    token_log_probabilities: Tuple[float, ...]
    log_probability: float
    score: float
    finished: bool
    complete: bool
    alignment: Tuple[int, ...]
    text_ends: Tuple[int, ...]


class Hypotheses(List[Hypothesis]):
    """The hypotheses of one sentence, best first. If the sentence failed, there are none, ``error`` is the reason, and
    indexing raises it.

    ``source_ends`` are the offsets in the text where its tokens end, in bytes of UTF-8 (``xf_sentence_info``). Empty
    without "decode.alignment" and for a source of ids.
    """

    error: Optional[XformerError] = None
    source_ends: Tuple[int, ...] = ()

    def __getitem__(self, index: Any) -> Any:
        if self.error is not None:
            raise self.error
        return super().__getitem__(index)


class EvalStats(NamedTuple):
    """Quality of a model on held-out pairs. ``loss`` and ``nll`` are in nats per target token, without dropout."""

    sentences: int
    tgt_tokens: int
    loss: float
    nll: float
    perplexity: float


class Decoder(Handle):
    """Options and workspace for decoding with a model. Reads the options of the groups "decode." and "text.".

    A decoder does not copy parameters. Threads that translate at the same time share a model and have a decoder each.

    ``ensemble`` are further models: the log-probability of a token is the mean of those of all models. ``draft`` is a
    smaller model that makes greedy search ("decode.beam" 1) faster without changing the results. All models have the
    same context, tokenizer, vocabulary, and special tokens. Raises :class:`InvalidArgumentError` for models that cannot
    decode together, or for an ensemble with a draft. Models may be closed afterwards.
    """

    _kind = "decoder"
    _free = lib.xf_decoder_free

    def __init__(
        self,
        model: Model,
        config: ConfigLike = None,
        *,
        ensemble: Iterable[Model] = (),
        draft: Optional[Model] = None,
    ) -> None:
        native = Model._of(model, "model")
        more, held = c_models(ensemble, draft)
        self._create(lib.xf_decoder_create, native, ctypes.byref(more), pointer_of(config), keep=native)

    def translate(
        self,
        texts: Iterable[Text],
        config: ConfigLike = None,
        *,
        prefixes: Optional[Sequence[Optional[Text]]] = None,
        constraint: Optional[Constraint] = None,
        progress: Optional[Progress] = None,
        deadline: Optional[Deadline] = None,
        cancel: Optional[CancelToken] = None,
    ) -> List[Hypotheses]:
        """Translates texts. Returns the "decode.n_best" hypotheses of each text, best first.

        A text that cannot be translated does not fail the others; see :class:`Hypotheses`. Options of the groups
        "decode." and "text." in ``config`` override the decoder's own during this call. ``prefixes`` are the beginnings
        of the translations, None for no beginning. For ``constraint`` see :mod:`xformer.experimental`.

        When ``deadline`` seconds have passed, each search ends with its best hypothesis so far, and sentences that were
        not begun have a :class:`DeadlineError`.
        """
        call = Call(progress, deadline, cancel)
        data = _buffer.utf8s(texts, "texts")
        params, held = _params(config, constraint, call)
        if prefixes is not None:
            begun = _buffer.utf8s(prefixes, "prefixes", nothing=b"")
            if len(begun) != len(data):
                raise ValueError("%d prefixes for %d texts" % (len(begun), len(data)))
            params.prefixes, params.prefix_lengths = _buffer.texts(begun)
        return self._decode(lib.xf_translate, *_buffer.texts(data), len(data), ctypes.byref(params), call=call)

    def decode(
        self,
        batch: Union[Batch, Iterable[Sequence[int]]],
        config: ConfigLike = None,
        *,
        prefixes: Optional[Sequence[Sequence[int]]] = None,
        constraint: Optional[Constraint] = None,
        progress: Optional[Progress] = None,
        deadline: Optional[Deadline] = None,
        cancel: Optional[CancelToken] = None,
    ) -> List[Hypotheses]:
        """Like :meth:`translate`, for sources that are given as ids: a batch, or sequences of ids with the end symbol.
        Prefixes are ids without start and end symbol."""
        call = Call(progress, deadline, cancel)
        sources = batch if isinstance(batch, Batch) else Batch(*pack(batch, "batch"))
        params, held = _params(config, constraint, call)
        if prefixes is not None:
            packed = Batch(*pack(prefixes, "prefixes"))
            if len(packed) != len(sources):
                raise ValueError("%d prefixes for %d sentences" % (len(packed), len(sources)))
            begun = packed._c()
            params.prefix_ids, params.prefix_offsets = begun.src_ids, begun.src_offsets
        return self._decode(lib.xf_decode, Batch._of(sources, "batch"), ctypes.byref(params), call=call)

    def _decode(self, function: Any, *args: object, call: Call) -> List[Hypotheses]:
        found = Native(lib.xf_hypotheses_free)
        call.run(function, self._c, *args, call, found.out())
        return [hypotheses_of(found, sentence) for sentence in range(lib.xf_hypotheses_sentence_count(found))]

    def score(
        self,
        batch: Batch,
        *,
        progress: Optional[Progress] = None,
        deadline: Optional[Deadline] = None,
        cancel: Optional[CancelToken] = None,
    ) -> List[float]:
        """Returns the natural logarithm of the probability of each target, including the end symbol, given its source."""
        call = Call(progress, deadline, cancel)
        pairs = Batch._of(batch, "batch")
        scores = (ctypes.c_double * len(batch))()
        call.run(lib.xf_score, self._c, pairs, call, scores)
        return list(scores)

    def score_texts(
        self,
        sources: Iterable[Text],
        targets: Iterable[Text],
        *,
        on_error: str = "raise",
        progress: Optional[Progress] = None,
        deadline: Optional[Deadline] = None,
        cancel: Optional[CancelToken] = None,
    ) -> List[float]:
        """Like :meth:`score`, for texts.

        If a pair cannot be scored, its error is raised; with ``on_error="nan"`` its score is NaN.
        """
        if on_error not in ("raise", "nan"):
            raise ValueError("on_error is %r; expected 'raise' or 'nan'" % (on_error,))
        call = Call(progress, deadline, cancel)
        sides = [_buffer.utf8s(sources, "sources"), _buffer.utf8s(targets, "targets")]
        count = len(sides[0])
        if len(sides[1]) != count:
            raise ValueError("%d sources and %d targets; their numbers must be equal" % (count, len(sides[1])))
        scores = (ctypes.c_double * count)()
        statuses = (ctypes.c_int32 * count)() if on_error == "nan" else None
        arrays = (*_buffer.texts(sides[0]), *_buffer.texts(sides[1]), count)
        call.run(lib.xf_score_texts, self._c, *arrays, call, scores, statuses)
        return list(scores)

    def evaluate(
        self,
        batcher: Batcher,
        *,
        progress: Optional[Progress] = None,
        deadline: Optional[Deadline] = None,
        cancel: Optional[CancelToken] = None,
    ) -> EvalStats:
        """Measures loss and perplexity on all pairs of a batcher, whose position is unchanged afterwards."""
        call = Call(progress, deadline, cancel)
        stats = abi.xf_eval_stats()
        call.run(lib.xf_evaluate, self._c, Batcher._of(batcher, "batcher"), call, ctypes.byref(stats))
        return to_tuple(EvalStats, stats)

    async def translate_async(
        self,
        texts: Iterable[Text],
        config: ConfigLike = None,
        *,
        prefixes: Optional[Sequence[Optional[Text]]] = None,
        constraint: Optional[Constraint] = None,
        progress: Optional[Progress] = None,
        deadline: Optional[Deadline] = None,
    ) -> List[Hypotheses]:
        """Like :meth:`translate`, in a thread, which also calls ``constraint`` and ``progress``.

        Cancelling the task cancels the translation, also if it has not begun. The decoder is then usable again. Tasks
        that translate at the same time need a decoder each.
        """
        options = {"prefixes": prefixes, "constraint": constraint, "progress": progress, "deadline": deadline}
        found: List[Hypotheses] = await in_thread(self.translate, texts, config, **options)
        return found

    async def decode_async(
        self,
        batch: Union[Batch, Iterable[Sequence[int]]],
        config: ConfigLike = None,
        *,
        prefixes: Optional[Sequence[Sequence[int]]] = None,
        constraint: Optional[Constraint] = None,
        progress: Optional[Progress] = None,
        deadline: Optional[Deadline] = None,
    ) -> List[Hypotheses]:
        """Like :meth:`decode`, in a thread; see :meth:`translate_async`."""
        options = {"prefixes": prefixes, "constraint": constraint, "progress": progress, "deadline": deadline}
        found: List[Hypotheses] = await in_thread(self.decode, batch, config, **options)
        return found

    async def score_async(
        self, batch: Batch, *, progress: Optional[Progress] = None, deadline: Optional[Deadline] = None
    ) -> List[float]:
        """Like :meth:`score`, in a thread; see :meth:`translate_async`."""
        scores: List[float] = await in_thread(self.score, batch, progress=progress, deadline=deadline)
        return scores

    async def score_texts_async(
        self,
        sources: Iterable[Text],
        targets: Iterable[Text],
        *,
        on_error: str = "raise",
        progress: Optional[Progress] = None,
        deadline: Optional[Deadline] = None,
    ) -> List[float]:
        """Like :meth:`score_texts`, in a thread; see :meth:`translate_async`."""
        options: Any = {"on_error": on_error, "progress": progress, "deadline": deadline}
        scores: List[float] = await in_thread(self.score_texts, sources, targets, **options)
        return scores

    async def evaluate_async(
        self, batcher: Batcher, *, progress: Optional[Progress] = None, deadline: Optional[Deadline] = None
    ) -> EvalStats:
        """Like :meth:`evaluate`, in a thread; see :meth:`translate_async`."""
        stats: EvalStats = await in_thread(self.evaluate, batcher, progress=progress, deadline=deadline)
        return stats


def c_models(ensemble: Iterable[Model], draft: Optional[Model]) -> Tuple[Any, List[Native]]:
    """Returns an xf_decode_models, and the models to which it points, which must live as long."""
    models = enumerate(_buffer.each(ensemble, "ensemble", "several models"))
    held = [Model._of(model, "ensemble[%d]" % index) for index, model in models]
    more = abi.xf_decode_models(ensemble_count=len(held))
    more.ensemble = (ctypes.c_void_p * len(held))(*[native._as_parameter_ for native in held])
    if draft is not None:
        held.append(Model._of(draft, "draft"))
        more.draft = held[-1]._as_parameter_
    return more, held


def _params(config: ConfigLike, constraint: Optional[Constraint], call: Call) -> Tuple[Any, Any]:
    """Returns the parameters of a call, and the config to which they point, which must live as long."""
    options = pointer_of(config)
    params = abi.xf_decode_params()
    params.config = None if options is None else options._as_parameter_
    if constraint is not None:
        params.constraint = ctypes.pointer(c_constraint(constraint, call))
    return params, options


def hypotheses_of(found: Native, sentence: int) -> Hypotheses:
    info = abi.xf_sentence_info()
    call(lib.xf_hypotheses_get_sentence, found, sentence, ctypes.byref(info))
    hypotheses = Hypotheses(_hypothesis(found, sentence, index) for index in range(info.hypothesis_count))
    if info.status < 0:
        hypotheses.error = errors.make(info.status, 0, text(info.message))
    hypotheses.source_ends = _tuple(info.source_ends, info.source_token_count)
    return hypotheses


def _hypothesis(found: Native, sentence: int, index: int) -> Hypothesis:
    h = abi.xf_hypothesis()
    call(lib.xf_hypotheses_get, found, sentence, index, ctypes.byref(h))
    # With "tokenizer.normalization" none a text may be invalid UTF-8.
    string = ctypes.string_at(h.text, h.text_length).decode("utf-8", "replace") if h.text else None
    count = h.id_count
    ids, by_token = _tuple(h.ids, count), _tuple(h.token_log_probabilities, count + h.finished)
    flags = bool(h.finished), bool(h.complete)
    aligned = _tuple(h.alignment, count), _tuple(h.text_ends, count)
    return Hypothesis(string, ids, by_token, h.log_probability, h.score, *flags, *aligned)


def _tuple(pointer: Any, count: int) -> Tuple[Any, ...]:
    return tuple(pointer[:count]) if pointer and count else ()


def translate(
    model: Union[Model, Source],
    texts: Iterable[Text],
    config: ConfigLike = None,
    *,
    deadline: Optional[Deadline] = None,
) -> List[str]:
    """Returns the best translation of each text. The first text that cannot be translated raises its error.

    ``xformer.translate("en-de.xf", ["Where is the station?"])`` is a complete program. A file, or any other source of
    :meth:`Model.load`, is loaded for this call only. To call it repeatedly, load a :class:`Model` and pass that, or use
    a :class:`Decoder`. ``config`` is for the decoder, and for the context if a file is loaded.
    """
    if isinstance(model, Model):
        with Decoder(model, config) as decoder:
            return [found[0].text or "" for found in decoder.translate(texts, deadline=deadline)]
    with Context(config) as context, Model.load(context, model) as loaded:
        return translate(loaded, texts, config, deadline=deadline)
