"""MarianMT: OPUS-MT and what Marian's own converter wrote.

Post-norm; positions are sines, then cosines; the decoder starts with the padding token, which no answer has. Pieces of
source.spm are ids of vocab.json. A model of many target languages has a token ">>fra<<" before its sources.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import os
from typing import Dict

from .network import marian_table
from .plan import Folder, Plan, add_languages, add_tokens
from .sentencepiece_model import UNKNOWN, SentencePieceModel
from .vocabulary import LANGUAGE, SPECIAL, check_id, languages_of, place, read_ids


def read(folder: Folder) -> Plan:
    fields = folder.fields
    network = folder.network(d_model=1024, layers=12, heads=16, d_ff=4096, activation="gelu", scale=False)
    source_V = fields.integer("vocab_size", 58101, 4)
    V = fields.integer("decoder_vocab_size", source_V, 4)
    for name, value in (("normalize_before", False), ("add_final_layer_norm", False), ("normalize_embedding", False)):
        fields.only(name, value)
    fields.only("static_position_embeddings", True)
    fields.drop("extra_pos_embeddings", "add_bias_logits", "pad_token_id")  # sizes and biases are seen in the weights

    shared = fields.boolean("share_encoder_decoder_embeddings", True)
    tied = fields.boolean("tie_word_embeddings", True)
    common = [network.name("shared.weight")]
    encoder, decoder = ([network.name(side + ".embed_tokens.weight")] for side in ("encoder", "decoder"))
    if shared and source_V != V:
        fields.refuse("decoder_vocab_size", "and vocab_size %d, with share_encoder_decoder_embeddings" % source_V)
    if shared and tied:
        network.add_shared_embedding(V)
    elif shared:
        network.add_embeddings(V, source_V, common + encoder + decoder, common + decoder + encoder, "lm_head.weight")
    elif tied:
        network.add_embeddings(V, source_V, encoder, decoder + ["lm_head.weight"], None)
    else:
        network.add_embeddings(V, source_V, encoder, decoder, "lm_head.weight")
    network.add_output_bias(V)
    network.add_fixed_positions(0, lambda: marian_table(network.sizes.positions, network.sizes.d_model))
    network.add_layers()
    network.finish()
    plan = Plan(network.options, network.tensors)
    add_tokens(plan, fields, V, start=58100, end=0)
    _add_tokenizer(plan, folder, source_V, V)
    return plan


def _add_tokenizer(plan: Plan, folder: Folder, source_V: int, V: int) -> None:
    paths = {
        name: os.path.join(folder.path, name)
        for name in ("vocab.json", "source.spm", "target.spm", "target_vocab.json")
    }
    if os.path.exists(paths["target_vocab.json"]) or source_V != V:
        plan.notes.append("source and target have vocabularies of their own: the model takes and gives ids, no text")
        return
    missing = [name for name in ("vocab.json", "source.spm") if not os.path.exists(paths[name])]
    if missing:
        plan.notes.append("there is no %s: the model takes and gives ids, no text" % missing[0])
        return
    ids = read_ids(paths["vocab.json"], V)
    names: Dict[int, str] = {id: name for name, id in ids.items()}
    check_id(paths["vocab.json"], names, "</s>", plan.options["model.end_token"])
    languages = languages_of(ids, LANGUAGE["marian"])
    add_languages(plan, languages, "none", "source")
    model = SentencePieceModel.read(paths["source.spm"])
    known = {piece.text for piece in model.pieces}
    if model.kind == "bpe" and any(
        name not in known and not LANGUAGE["marian"].fullmatch(name) for name in ids if name not in SPECIAL
    ):
        plan.notes.append("source.spm, a BPE, lacks pieces of vocab.json: the model takes and gives ids, no text")
        return
    model, left_out = place(model, names, V, [name for name in ids if LANGUAGE["marian"].fullmatch(name)])
    if not any(piece.type == UNKNOWN for piece in model.pieces):
        plan.notes.append("vocab.json has no <unk>: the model takes and gives ids, no text")
        return
    if left_out and model.kind == "bpe":
        plan.notes.append(
            "%d pieces of source.spm, a BPE, are not in vocab.json: the model takes and gives ids, no text" % left_out
        )
        return
    if left_out:
        plan.notes.append(
            "%d pieces of source.spm are not in vocab.json: text that has them is cut into others, where transformers "
            "has <unk>" % left_out
        )
    plan.tokenizer = model
    if os.path.exists(paths["target.spm"]) and _bytes(paths["target.spm"]) != _bytes(paths["source.spm"]):
        plan.notes.append("text is cut by source.spm on both sides; target.spm, for targets to train on, is left out")


def _bytes(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
