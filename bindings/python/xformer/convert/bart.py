"""Reads BART and mBART: learned positions and a norm on the embeddings. mBART is pre-norm with a final norm.

The tokenizer of BART is a byte-level BPE, which this library does not support. mBART uses SentencePiece with fairseq's
ids. In mBART-25 a language token follows the source and starts the decoder. In mBART-50 it precedes the source and is
the first generated token.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

from typing import Dict

from . import languages as lists
from .plan import Folder, Plan, add_languages, add_tokens, sentencepiece_path
from .sentencepiece_model import SentencePieceModel
from .vocabulary import LANGUAGE, added_tokens, check_id, fairseq_names, languages_of, reorder, tokenizer_setting

_DEFAULT = dict(d_model=1024, layers=12, heads=16, d_ff=4096, activation="gelu", scale=False)


def read_bart(folder: Folder) -> Plan:
    plan = _read(folder, False)
    plan.no_text = "this library has no byte-level BPE, the tokenizer of BART"
    return plan


def read_mbart(folder: Folder) -> Plan:
    fields = folder.fields
    kind = tokenizer_setting(folder.path, "tokenizer_class") or fields.text("tokenizer_class")
    fifty = isinstance(kind, str) and kind.startswith("MBart50")
    plan = _read(folder, True)
    V = plan.options["model.vocab_size"]
    languages = _add_tokenizer(plan, folder, V, fifty)
    fixed = plan.options["model.first_token"] >= 0 or plan.options["model.start_token"] in languages.values()
    if not fifty and not fields.has_start_token():
        target = "start"  # the caller of generate() starts the decoder with the language
    else:
        target = "none" if fixed else "first"
    add_languages(plan, languages, "before" if fifty else "after", target)
    return plan


def _read(folder: Folder, multilingual: bool) -> Plan:
    fields = folder.fields
    network = folder.network(**_DEFAULT)
    V = fields.integer("vocab_size", 50265, 4)
    fields.only("tie_word_embeddings", True)
    fields.only("normalize_before", multilingual)
    fields.only("add_final_layer_norm", multilingual)
    fields.only("normalize_embedding", True)
    fields.only("static_position_embeddings", False)
    fields.only("extra_pos_embeddings", 2)
    fields.drop("add_bias_logits", "pad_token_id")
    network.add_shared_embedding(V)
    network.add_output_bias(V)
    network.add_learned_positions()
    network.options["model.embedding_norm"] = True
    network.add_norms("embedding_norm", "layernorm_embedding")
    network.add_layers()
    if multilingual:
        network.options["model.norm"] = "pre"
        network.add_norms("norm", "layer_norm")
    network.finish()
    plan = Plan(network.options, network.tensors)
    fields.boolean("force_bos_token_to_be_generated", False)
    add_tokens(plan, fields, V, start=2, end=2)
    return plan


def _add_tokenizer(plan: Plan, folder: Folder, V: int, fifty: bool) -> Dict[str, int]:
    languages = languages_of(added_tokens(folder.path), LANGUAGE["mbart"])
    path = sentencepiece_path(plan, folder)
    if path is None:
        return languages
    model = SentencePieceModel.read(path)
    names = fairseq_names(model)
    check_id(path, names, "</s>", plan.options["model.end_token"])
    size = len(model.pieces) + 1
    if not languages:
        codes = lists.MBART + (lists.MBART_50 if fifty else [])
        languages = {code: size + i for i, code in enumerate(codes) if size + i < V}
    names.update((id, code) for code, id in languages.items())
    names[max([size - 1, *languages.values()]) + 1] = "<mask>"
    plan.tokenizer = reorder(model, names, V, list(languages))[0].tokenizer_json()
    return languages
