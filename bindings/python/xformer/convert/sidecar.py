"""xformer.json: what ``to-hf`` stores beside a transformers model for ``from-hf``.

transformers has no form for the tokenizers of this library, and most of its classes have none for language names. The
exported vocabulary can also be larger than the model's: MarianMT and Pegasus require an unknown token and a padding
token. ``to-hf`` therefore stores the tokenizer and the options that the class cannot express, and ``from-hf`` restores
them. Other programs ignore the file.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import json
import os
from typing import Any, Callable, Dict, Iterator, Optional, Tuple

from . import ConvertError
from .files import read_json
from .hf_classes import Target
from .model_file import Tensor
from .plan import Plan

NAME = "xformer.json"
_FORMAT, _VERSION = "xformer-export", 1
_TEXTS = ("model.languages", "model.source_language", "model.target_language", "model.banned_tokens")
#: Tensors with one row per token of the target vocabulary. The encoder's embedding has source tokens.
_TARGET_ROWS = ("embedding.weight", "decoder.embedding.weight", "output.weight", "output.bias")


def sidecar_json(target: Target, options: Dict[str, Any], tokenizer: Optional[str]) -> bytes:
    """The file for a model that was exported as ``target``."""
    V, exported = options["model.vocab_size"], target.config
    value = {
        "format": _FORMAT,
        "version": _VERSION,
        "vocab_size": V,
        "source_vocab_size": options["model.source_vocab_size"] or V,
        "start_token": target.start,
        **{name: options[name] for name in _TEXTS},
        "exported_vocab_size": exported.get("decoder_vocab_size", exported["vocab_size"]),
        "exported_source_vocab_size": exported["vocab_size"],
        "exported_start_token": exported["decoder_start_token_id"],
        "tokenizer": tokenizer,
    }
    return json.dumps(value, ensure_ascii=False, indent=1).encode() + b"\n"


def apply_sidecar(folder: str, plan: Plan) -> None:
    """Restores what the file of ``folder`` describes. Does nothing if there is no such file."""
    path = os.path.join(folder, NAME)
    if not os.path.exists(path):
        return
    values = read_json(path)
    if (values.get("format"), values.get("version")) != (_FORMAT, _VERSION):
        raise ConvertError(
            "%s: format is %r and version %r, expected %r and %d: export the model again, or delete this file"
            % (path, values.get("format"), values.get("version"), _FORMAT, _VERSION)
        )
    exported_V, exported_source_V, exported_start = (
        _number(path, values, "exported_" + name) for name in ("vocab_size", "source_vocab_size", "start_token")
    )
    V = _number(path, values, "vocab_size", exported_V)
    source_V = _number(path, values, "source_vocab_size", exported_source_V)
    start = _number(path, values, "start_token", V - 1)
    found = plan.options["model.vocab_size"], plan.options.get("model.source_vocab_size", exported_source_V)
    if found != (exported_V, exported_source_V):
        raise ConvertError(
            "%s: the exported model had %d target and %d source tokens, config.json has %d and %d: restore the"
            " vocabulary, or delete this file to convert without its tokenizer"
            % (path, exported_V, exported_source_V, *found)
        )
    for name in _TEXTS:
        if not isinstance(values.get(name), str):
            raise ConvertError("%s: %s is %r, expected a text" % (path, name, values.get(name)))
    tokenizer = values.get("tokenizer")
    if tokenizer is not None and not isinstance(tokenizer, str):
        raise ConvertError("%s: tokenizer is not a text, expected the JSON of a tokenizer as a text, or null" % path)
    if start != exported_start == plan.options["model.start_token"]:
        _restore_start(plan, exported_start, start)
    plan.tensors = [_cut(tensor, V, source_V) for tensor in plan.tensors]
    plan.options["model.vocab_size"] = V
    if "model.source_vocab_size" in plan.options:
        plan.options["model.source_vocab_size"] = source_V
    # The export also bans the start token and the padding token.
    before = values["model.banned_tokens"].split(",")
    banned = [id for id in plan.options["model.banned_tokens"].split(",") if id]
    banned = [id for id in banned if int(id) < V and (int(id) != start or id in before)]
    plan.options.update((name, values[name]) for name in _TEXTS)
    plan.options["model.banned_tokens"] = ",".join(banned)
    plan.tokenizer = tokenizer


def _number(path: str, values: Dict[str, Any], name: str, most: int = 1 << 20) -> int:
    value = values.get(name)
    if type(value) is not int or not 0 <= value <= most:
        raise ConvertError("%s: %s is %r, expected a whole number from 0 to %d" % (path, name, value, most))
    return int(value)


def _restore_start(plan: Plan, exported: int, start: int) -> None:
    """Replaces the exported start token by the model's own. The export added its embedding to the first position."""
    embedding = next(t for t in plan.tensors if t.name in ("embedding.weight", "decoder.embedding.weight"))
    scale = embedding.shape[1] ** 0.5 if plan.options["model.embedding_scale"] else 1.0

    def positions(original: Tensor) -> Callable[[], Iterator[Any]]:
        def chunks() -> Iterator[Any]:
            moved = (_row(embedding, exported) - _row(embedding, start)) * scale
            for i, rows in enumerate(original.chunks()):
                rows = rows.copy()
                if i == 0:
                    rows[0] += moved
                yield rows

        return chunks

    for i, tensor in enumerate(plan.tensors):
        if tensor.name == "decoder.position.weight":
            plan.tensors[i] = tensor._replace(chunks=positions(tensor))
    plan.options["model.start_token"] = start


def _row(tensor: Tensor, index: int) -> Any:
    for rows in tensor.chunks():
        if index < len(rows):
            return rows[index]
        index -= len(rows)
    raise AssertionError("%s has no row %d" % (tensor.name, index))


def _cut(tensor: Tensor, V: int, source_V: int) -> Tensor:
    """The tensor without the rows of tokens that the export added."""
    rows = V if tensor.name in _TARGET_ROWS else source_V if tensor.name == "encoder.embedding.weight" else None
    if rows is None or rows == tensor.shape[0]:
        return tensor

    def chunks() -> Iterator[Any]:
        left = rows or 0
        for chunk in tensor.chunks():
            chunk = chunk.reshape(-1, *tensor.shape[1:])[:left]
            left -= len(chunk)
            yield chunk

    shape: Tuple[int, ...] = (rows, *tensor.shape[1:])
    return tensor._replace(shape=shape, chunks=chunks)
