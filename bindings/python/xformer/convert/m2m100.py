"""M2M-100, NLLB and wmt21-dense: many languages to many.

Pre-norm with a last norm; fairseq's sinusoids, the first position behind the padding's; the decoder starts with </s>
and is made to say the language first. M2M-100 has its ids in vocab.json, NLLB in fairseq's order.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import os
from typing import Dict, List, Tuple

from . import ConvertError
from . import languages as lists
from .network import fairseq_table
from .plan import Folder, Plan, add_languages, add_tokens
from .sentencepiece_model import SentencePieceModel
from .vocabulary import (
    LANGUAGE,
    added_tokens,
    check_id,
    fairseq_names,
    languages_of,
    note_of_pieces,
    place,
    read_ids,
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
    if plan.options["model.start_token"] == padding:
        fields.refuse("decoder_start_token_id", "which is pad_token_id, and has no position")
    vocabulary = os.path.exists(os.path.join(folder.path, "vocab.json"))
    languages = _m2m100(plan, folder, V) if vocabulary else _nllb(plan, folder, V)
    legacy = not vocabulary and tokenizer_setting(folder.path, "legacy_behaviour") is True
    # A model that is made to say one language is told no other.
    told = "none" if plan.options["model.first_token"] >= 0 else "first"
    add_languages(plan, languages, "after" if legacy else "before", told)
    return plan


def _spm(plan: Plan, folder: Folder) -> Tuple[str, bool]:
    path = os.path.join(folder.path, "sentencepiece.bpe.model")
    there = os.path.exists(path)
    if not there:
        plan.notes.append("there is no sentencepiece.bpe.model: the model takes and gives ids, no text")
    return path, there


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
    _place(plan, folder, names, V, ["__%s__" % code for code in languages])
    return languages


def _nllb(plan: Plan, folder: Folder, V: int) -> Dict[str, int]:
    languages = languages_of(added_tokens(folder.path), LANGUAGE["nllb"])
    path, there = _spm(plan, folder)
    if not there:
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
    plan.tokenizer = place(model, names, V, list(languages))[0].tokenizer_json()
    return languages


def _check(languages: Dict[str, int], names: Dict[int, str], V: int, path: str) -> None:
    for code, id in languages.items():
        if id >= V or id in names and code not in names[id]:
            raise ConvertError(
                "%s: the token of language %s would be %d, which %s"
                % (path, code, id, "is %r" % names.get(id) if id < V else "is beyond vocab_size %d" % V)
            )


def _place(plan: Plan, folder: Folder, names: Dict[int, str], V: int, controls: List[str]) -> None:
    path, there = _spm(plan, folder)
    if not there:
        return
    model, left_out = place(SentencePieceModel.read(path), names, V, controls)
    if left_out and model.kind == "bpe":
        plan.notes.append(
            "%d pieces of %s, a BPE, are not in vocab.json: the model takes and gives ids, no text" % (left_out, path)
        )
        return
    if left_out:
        plan.notes.append(note_of_pieces(left_out, path, "vocab.json"))
    plan.tokenizer = model.tokenizer_json()
