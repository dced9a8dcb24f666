"""Reads the multilingual models M2M-100, NLLB, and wmt21-dense.

They are pre-norm with a final norm and use fairseq's sinusoids, whose first position is pad_token_id + 1. The decoder
starts with </s>, and the first token is forced to be the language. M2M-100 has its ids in vocab.json, NLLB uses
fairseq's ids.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import os
from typing import Dict, List

from . import ConvertError
from . import languages as lists
from .network import fairseq_table
from .plan import Folder, Plan, add_languages, add_tokens, check_padding, sentencepiece_path
from .sentencepiece_model import SentencePieceModel
from .vocabulary import (
    LANGUAGE,
    added_tokens,
    check_id,
    fairseq_names,
    languages_of,
    note_of_pieces,
    read_ids,
    reorder,
    tokenizer_setting,
)


def read(folder: Folder) -> Plan:
    fields = folder.fields
    network = folder.network(d_model=1024, layers=12, heads=16, d_ff=4096, activation="relu", scale=True)
    V = fields.integer("vocab_size", 128112, 4)
    padding = fields.integer("pad_token_id", 1, 0, V - 1)
    fields.only("tie_word_embeddings", True)
    fields.only("normalize_before", True)
    fields.only("add_final_layer_norm", True)
    fields.only("normalize_embedding", False)
    fields.only("static_position_embeddings", True)
    fields.drop("extra_pos_embeddings", "add_bias_logits", "num_madeup_words")
    sizes = network.sizes
    network.add_shared_embedding(V)
    network.options["model.norm"] = "pre"
    network.options["model.positions"] = "fixed"
    network.add_computed_positions(lambda: fairseq_table(padding + 1, sizes.positions, sizes.d_model))
    network.add_layers()
    network.add_norms("norm", "layer_norm")
    network.finish("embed_positions.weight", "embed_positions.weights")
    plan = Plan(network.options, network.tensors)
    add_tokens(plan, fields, V, start=2, end=2)
    check_padding(plan, fields, padding)
    vocabulary = os.path.exists(os.path.join(folder.path, "vocab.json"))
    languages = _m2m100(plan, folder, V) if vocabulary else _nllb(plan, folder, V)
    legacy = not vocabulary and tokenizer_setting(folder.path, "legacy_behaviour") is True
    # A forced first token fixes the target language.
    target = "none" if plan.options["model.first_token"] >= 0 else "first"
    add_languages(plan, languages, "after" if legacy else "before", target)
    return plan


def _m2m100(plan: Plan, folder: Folder, V: int) -> Dict[str, int]:
    path = os.path.join(folder.path, "vocab.json")
    ids = read_ids(path, V)
    names = {id: name for name, id in ids.items()}
    check_id(path, names, "</s>", plan.options["model.end_token"])
    codes: List[str] = lists.WMT21 if tokenizer_setting(folder.path, "language_codes") == "wmt21" else lists.M2M_100
    languages = languages_of(added_tokens(folder.path), LANGUAGE["m2m_100"])
    if not languages:
        languages = {code: len(ids) + i for i, code in enumerate(codes)}
    _check(languages, names, V, path)
    names.update((id, "__%s__" % code) for code, id in languages.items())
    _set_tokenizer(plan, folder, names, V, ["__%s__" % code for code in languages])
    return languages


def _nllb(plan: Plan, folder: Folder, V: int) -> Dict[str, int]:
    languages = languages_of(added_tokens(folder.path), LANGUAGE["nllb"])
    path = sentencepiece_path(plan, folder)
    if path is None:
        return languages
    model = SentencePieceModel.read(path)
    names = fairseq_names(model)
    check_id(path, names, "</s>", plan.options["model.end_token"])
    size = len(model.pieces) + 1
    if not languages:
        languages = {code: size + i for i, code in enumerate(lists.NLLB)}
    _check(languages, names, V, path)
    names.update((id, code) for code, id in languages.items())
    names[size + len(languages)] = "<mask>"
    plan.tokenizer = reorder(model, names, V, list(languages))[0].tokenizer_json()
    return languages


def _check(languages: Dict[str, int], names: Dict[int, str], V: int, path: str) -> None:
    for code, id in languages.items():
        if id >= V or id in names and code not in names[id]:
            raise ConvertError(
                "%s: the token of language %s would have the id %d, but %s"
                % (path, code, id, "that is %r" % names.get(id) if id < V else "vocab_size is %d" % V)
            )


def _set_tokenizer(plan: Plan, folder: Folder, names: Dict[int, str], V: int, controls: List[str]) -> None:
    path = sentencepiece_path(plan, folder)
    if path is None:
        return
    model, left_out = reorder(SentencePieceModel.read(path), names, V, controls)
    if left_out and model.kind == "bpe":
        plan.no_text = "%d pieces of the BPE model %s are not in vocab.json" % (left_out, path)
        return
    if left_out:
        plan.notes.append(note_of_pieces(left_out, path, "vocab.json"))
    plan.tokenizer = model.tokenizer_json()
