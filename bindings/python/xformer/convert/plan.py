"""What a family's module makes of a folder: all that a model file of this library is written from.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional

from .checkpoint import Checkpoint
from .fields import Fields
from .model_file import Tensor
from .network import Network, Sizes


@dataclass
class Folder:
    """What a family reads: the folder's name, its two configurations, its weights."""

    path: str
    fields: Fields
    checkpoint: Checkpoint

    def network(self, **default: Any) -> Network:
        return Network(self.checkpoint, Sizes.of(self.fields, **default))


@dataclass
class Plan:
    options: Dict[str, Any]
    tensors: List[Tensor]
    tokenizer: Optional[str] = None  # its JSON
    notes: List[str] = field(default_factory=list)  # sentences for whoever converts


def add_tokens(plan: Plan, fields: Fields, V: int, *, start: int, end: int, first: Optional[int] = None) -> None:
    """Start, end, first and banned tokens; the numbers given are the family's own when the configuration is silent."""
    ids = {
        "model.start_token": fields.token("decoder_start_token_id", start, V),
        "model.end_token": fields.token("eos_token_id", end, V),
        "model.first_token": fields.token("forced_bos_token_id", first, V),
    }
    # It ends what has come to max_length, which this library says by "finished" instead.
    fields.token("forced_eos_token_id", None, V)
    fields.token("bos_token_id", None, V)
    plan.options.update(ids)
    plan.options["model.banned_tokens"] = ",".join(map(str, fields.banned(V)))


def add_languages(plan: Plan, languages: Dict[str, int], source: str, target: str) -> None:
    """Languages by name, and where their tokens stand."""
    if not languages:
        return
    plan.options["model.languages"] = ",".join("%s=%d" % entry for entry in languages.items())
    plan.options["model.source_language"] = source
    plan.options["model.target_language"] = target
