"""Translation metrics of a corpus with one reference; BLEU and chrF as in sacreBLEU 2.x.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import ctypes
from typing import Any, Iterable, List, NamedTuple, Tuple

from ._abi import call, lib, read, structs
from ._buffer import Text, no_nul, strings, utf8s

__all__ = ["BleuScore", "bleu", "chrf"]


_TOKENIZE = {"13a": 0, "none": 1, "split_hyphens": 2}


class BleuScore(NamedTuple):
    """A corpus BLEU score with its parts: score 0 to 100, precisions of n = 1 to 4 in percent."""

    score: float
    precisions: Tuple[float, ...]
    brevity_penalty: float
    hypothesis_length: int
    reference_length: int
    signature: str


def _ended(texts: Iterable[Text], name: str) -> List[bytes]:
    return [no_nul(text, "%s[%d]" % (name, index)) for index, text in enumerate(utf8s(texts, name))]


def _segments(hypotheses: Iterable[Text], references: Iterable[Text]) -> Tuple[Any, Any, int]:
    found = _ended(hypotheses, "hypotheses")
    expected = _ended(references, "references")
    if len(found) != len(expected):
        raise ValueError("%d hypotheses and %d references" % (len(found), len(expected)))
    return strings(found), strings(expected), len(found)


def bleu(hypotheses: Iterable[Text], references: Iterable[Text], *, tokenize: str = "13a") -> BleuScore:
    """Corpus BLEU. tokenize: "13a" for raw text, "none" for text that is tokenised already, "split_hyphens" for that
    with compounds split at hyphens and without smoothing, as in the paper's Table 2."""
    if tokenize not in _TOKENIZE:
        raise ValueError("tokenize is %r, not one of %s" % (tokenize, ", ".join(_TOKENIZE)))
    given = (*_segments(hypotheses, references), _TOKENIZE[tokenize])
    return read(BleuScore, structs.xf_bleu_score, lib.xf_bleu, *given, precisions=tuple)


def chrf(hypotheses: Iterable[Text], references: Iterable[Text]) -> float:
    """Corpus chrF2, 0 to 100."""
    score = ctypes.c_double()
    call(lib.xf_chrf, *_segments(hypotheses, references), ctypes.byref(score))
    return score.value
