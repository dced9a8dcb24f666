"""The result of reading a model folder: everything that a model file of this library is written from.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional

from .checkpoint import Checkpoint
from .fields import Fields
from .model_file import Tensor
from .network import Network, Sizes


@dataclass
class Folder:
    """A model folder: its path, configuration, and weights."""

    path: str
    fields: Fields
    checkpoint: Checkpoint

    def network(self, **default: Any) -> Network:
        return Network(self.checkpoint, Sizes.of(self.fields, **default))


@dataclass
class Plan:
    options: Dict[str, Any]
    tensors: List[Tensor]
    tokenizer: Optional[str] = None  # JSON
    no_text: str = ""  # the reason if there is no tokenizer
    notes: List[str] = field(default_factory=list)  # messages for the user


def add_tokens(plan: Plan, fields: Fields, V: int, *, start: int, end: int) -> None:
    """Sets the start, end, first, and banned tokens. The arguments are the defaults of the family."""
    ids = {
        "model.start_token": fields.start_token(V, start),
        "model.end_token": fields.token("eos_token_id", V, end, other=True),
        "model.first_token": fields.first_token(V),
    }
    # transformers appends it at max_length. This library reports such a hypothesis as unfinished instead.
    fields.token("forced_eos_token_id", V)
    plan.options.update(ids)
    start_token, banned = ids["model.start_token"], fields.banned(V)
    plan.options["model.banned_tokens"] = ",".join(map(str, banned))
    if start_token not in (ids["model.end_token"], *banned):
        plan.notes.append(
            "the start token %d is never generated here, but can be by generate(): add it to bad_words_ids to compare"
            % start_token
        )


def check_padding(plan: Plan, fields: Fields, padding: int) -> None:
    """Adds a note for families whose position numbers skip padding tokens, which this library does not implement."""
    if plan.options["model.start_token"] == padding:
        fields.refuse("decoder_start_token_id", "expected another token than pad_token_id, which has no position")
    plan.notes.append(
        "the padding token %d is an ordinary token here, but has no position in transformers: do not use it in sources,"
        " targets, or prefixes" % padding
    )


def sentencepiece_path(plan: Plan, folder: Folder) -> Optional[str]:
    """Returns the path of the SentencePiece model, or None if it does not exist."""
    path = os.path.join(folder.path, "sentencepiece.bpe.model")
    if os.path.exists(path):
        return path
    plan.no_text = "sentencepiece.bpe.model is missing"
    return None


def add_languages(plan: Plan, languages: Dict[str, int], source: str, target: str) -> None:
    """Sets the language names and the positions of their tokens in the source and the target."""
    if not languages:
        return
    plan.options["model.languages"] = ",".join("%s=%d" % entry for entry in languages.items())
    plan.options["model.source_language"] = source
    plan.options["model.target_language"] = target
