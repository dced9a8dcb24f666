"""Translation metrics of a corpus with one reference per segment: BLEU and chrF, equal to those of sacreBLEU 2.x.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

from typing import Any, Iterable, NamedTuple, Tuple

from . import _buffer
from ._abi import abi, lib, read
from ._buffer import Text

__all__ = ["BleuScore", "ChrfScore", "bleu", "chrf"]


_TOKENIZE = {"13a": abi.XF_BLEU_13A, "none": abi.XF_BLEU_NONE, "split_hyphens": abi.XF_BLEU_SPLIT_HYPHENS}


class BleuScore(NamedTuple):
    """A corpus BLEU score from 0 to 100 and its parts. The n-gram precisions, n = 1 to 4, are percentages."""

    score: float
    precisions: Tuple[float, ...]
    brevity_penalty: float
    hypothesis_length: int
    reference_length: int
    signature: str


class ChrfScore(NamedTuple):
    """A corpus chrF score from 0 to 100. The signature has the form of sacreBLEU."""

    score: float
    signature: str


def _segments(hypotheses: Iterable[Text], references: Iterable[Text]) -> Tuple[Any, ...]:
    sides = [_buffer.utf8s(hypotheses, "hypotheses"), _buffer.utf8s(references, "references")]
    count = len(sides[0])
    if len(sides[1]) != count:
        raise ValueError("%d hypotheses and %d references; their numbers must be equal" % (count, len(sides[1])))
    return (*_buffer.texts(sides[0]), *_buffer.texts(sides[1]), count)


def bleu(hypotheses: Iterable[Text], references: Iterable[Text], *, tokenize: str = "13a") -> BleuScore:
    """Computes corpus BLEU.

    ``tokenize`` is "13a" for raw text, "none" for tokenized text, or "split_hyphens" for the score of the paper's Table
    2: tokenized text, compounds split at hyphens, no smoothing.
    """
    if tokenize not in _TOKENIZE:
        raise ValueError("tokenize is %r; expected one of %s" % (tokenize, ", ".join(_TOKENIZE)))
    segments = _segments(hypotheses, references)
    return read(BleuScore, abi.xf_bleu_score, lib.xf_bleu, *segments, _TOKENIZE[tokenize], precisions=tuple)


def chrf(hypotheses: Iterable[Text], references: Iterable[Text]) -> ChrfScore:
    """Computes corpus chrF2: character n-grams up to 6, beta 2, white space removed."""
    return read(ChrfScore, abi.xf_chrf_score, lib.xf_chrf, *_segments(hypotheses, references))
