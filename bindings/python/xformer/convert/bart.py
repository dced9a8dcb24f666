"""BART and mBART: learned positions and a norm on the embeddings; mBART is pre-norm with a last norm.

BART's tokenizer is a byte-level BPE that this library does not run. mBART has SentencePiece in fairseq's order and a
token for each language: behind the end of sources, and fed first to the decoder (mBART-25); or before sources, and the
first of answers (mBART-50).

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import os
from typing import Dict

from . import ConvertError
from . import languages as lists
from .plan import Folder, Plan, add_languages, add_tokens
from .sentencepiece_model import SentencePieceModel
from .vocabulary import LANGUAGE, added_tokens, check_id, fairseq_names, languages_of, place, tokenizer_setting

_DEFAULT = dict(d_model=1024, layers=12, heads=16, d_ff=4096, activation="gelu", scale=False)


def read_bart(folder: Folder) -> Plan:
    plan = _read(folder, False)
    plan.notes.append(
        "BART's tokenizer, a byte-level BPE, can't be carried over: the model takes and gives ids, no text"
    )
    return plan


def read_mbart(folder: Folder) -> Plan:
    fields = folder.fields
    # Where no start is named, it is the token of a language, which the decoder has to be told.
    named = fields.has("decoder_start_token_id")
    kind = tokenizer_setting(folder.path, "tokenizer_class") or fields.text("tokenizer_class")
    fifty = isinstance(kind, str) and kind.startswith("MBart50")
    plan = _read(folder, True)
    V = plan.options["model.vocab_size"]
    languages = _add_tokenizer(plan, folder, V, fifty)
    if not named and not languages and not fifty:
        raise ConvertError("%s/config.json lacks decoder_start_token_id, and no language is known" % folder.path)
    started = not fifty and not named
    fixed = plan.options["model.first_token"] >= 0 or plan.options["model.start_token"] in languages.values()
    # A model that always writes one language is told no other.
    told = "start" if started else "none" if fixed else "first"
    add_languages(plan, languages, "before" if fifty else "after", told)
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
    first = fields.integer("bos_token_id", 0, 0) if fields.flag("force_bos_token_to_be_generated") else None
    add_tokens(plan, fields, V, start=2, end=2, first=first)
    return plan


def _add_tokenizer(plan: Plan, folder: Folder, V: int, fifty: bool) -> Dict[str, int]:
    languages = languages_of(added_tokens(folder.path), LANGUAGE["mbart"])
    path = os.path.join(folder.path, "sentencepiece.bpe.model")
    if not os.path.exists(path):
        plan.notes.append("there is no sentencepiece.bpe.model: the model takes and gives ids, no text")
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
    plan.tokenizer = place(model, names, V, list(languages))[0].tokenizer_json()
    return languages
