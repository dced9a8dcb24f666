"""Reads MarianMT: OPUS-MT and models converted from Marian.

The models are post-norm. Positions are all sines, then all cosines. The decoder starts with the padding token, which is
never generated. vocab.json maps the pieces of source.spm and target.spm to ids. In models with several target languages
a token such as ">>fra<<" precedes the source.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import os
from typing import Dict, Optional

from .files import read_file
from .network import marian_table
from .plan import Folder, Plan, add_languages, add_tokens
from .sentencepiece_model import UNKNOWN, SentencePieceModel
from .vocabulary import LANGUAGE, SPECIAL, check_id, languages_of, note_of_pieces, pair_json, read_ids, reorder


def read(folder: Folder) -> Plan:
    fields = folder.fields
    network = folder.network(d_model=1024, layers=12, heads=16, d_ff=4096, activation="gelu", scale=False)
    source_V = fields.integer("vocab_size", 58101, 4)
    V = fields.integer("decoder_vocab_size", source_V, 4)
    for name, value in (("normalize_before", False), ("add_final_layer_norm", False), ("normalize_embedding", False)):
        fields.only(name, value)
    fields.only("static_position_embeddings", True)
    fields.drop("extra_pos_embeddings", "add_bias_logits", "pad_token_id")  # the weights determine sizes and biases

    shared = fields.boolean("share_encoder_decoder_embeddings", True)
    tied = fields.boolean("tie_word_embeddings", True)
    common = [network.name("shared.weight")]
    encoder, decoder = ([network.name(side + ".embed_tokens.weight")] for side in ("encoder", "decoder"))
    if shared and source_V != V:
        reason = "but vocab_size is %d: share_encoder_decoder_embeddings requires equal sizes" % source_V
        fields.refuse("decoder_vocab_size", reason)
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
    """Sets one tokenizer if it is the same for both sides, otherwise a pair."""

    def path(name: str) -> str:
        return os.path.join(folder.path, name)

    apart = os.path.exists(path("target_vocab.json"))
    needed = ["vocab.json", "source.spm"] + (["target.spm"] if apart else [])
    missing = [name for name in needed if not os.path.exists(path(name))]
    if missing or (source_V != V and not apart):
        name = missing[0] if missing else "target_vocab.json"
        plan.no_text = "%s is missing" % name
        return
    ids = read_ids(path("vocab.json"), source_V)
    languages = languages_of(ids, LANGUAGE["marian"])
    add_languages(plan, languages, "none", "source")
    source = _tokenizer(plan, path("source.spm"), path("vocab.json"), ids, source_V)
    if source is None:
        return
    plan.tokenizer = source.tokenizer_json()
    target_spm = path("target.spm")
    if not os.path.exists(target_spm) or (not apart and read_file(target_spm) == read_file(path("source.spm"))):
        return
    vocabulary = path("target_vocab.json" if apart else "vocab.json")
    target = _tokenizer(plan, target_spm, vocabulary, read_ids(vocabulary, V) if apart else ids, V)
    plan.tokenizer = pair_json(source, target) if target is not None else None


def _tokenizer(plan: Plan, spm: str, vocabulary: str, ids: Dict[str, int], V: int) -> Optional[SentencePieceModel]:
    """Reads a SentencePiece model and reorders it by vocabulary id. Returns None if that is impossible."""
    names: Dict[int, str] = {id: name for name, id in ids.items()}
    check_id(vocabulary, names, "</s>", plan.options["model.end_token"])
    model = SentencePieceModel.read(spm)
    known = {piece.text for piece in model.pieces}
    languages = [name for name in ids if LANGUAGE["marian"].fullmatch(name)]
    foreign = [name for name in ids if name not in known and name not in SPECIAL and name not in languages]
    bpe = model.kind == "bpe"
    model, left_out = reorder(model, names, V, languages)
    # BPE builds pieces from shorter ones, so that it requires exactly its own pieces.
    if bpe and (foreign or left_out) or not any(piece.type == UNKNOWN for piece in model.pieces):
        reason = "the pieces of the BPE model %s differ from those of" % spm if bpe else "<unk> is missing in"
        plan.no_text = "%s %s" % (reason, vocabulary)
        return None
    if left_out:
        plan.notes.append(note_of_pieces(left_out, spm, vocabulary))
    return model
