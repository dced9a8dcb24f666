"""Reads Pegasus: MarianMT with norms before the sublayers and a final norm.

Its tokenizer, a SentencePiece model with about a hundred additional tokens before the pieces, is not supported.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

from .network import marian_table
from .plan import Folder, Plan, add_tokens


def read(folder: Folder) -> Plan:
    fields = folder.fields
    network = folder.network(d_model=1024, layers=12, heads=16, d_ff=4096, activation="gelu", scale=False)
    V = fields.integer("vocab_size", 50265, 4)
    fields.only("tie_word_embeddings", True)
    fields.only("normalize_before", True)
    fields.only("add_final_layer_norm", True)
    fields.only("normalize_embedding", False)
    fields.only("static_position_embeddings", True)
    fields.drop("extra_pos_embeddings", "add_bias_logits", "pad_token_id")
    network.options["model.norm"] = "pre"
    network.add_shared_embedding(V)
    network.add_output_bias(V)
    network.add_fixed_positions(0, lambda: marian_table(network.sizes.positions, network.sizes.d_model))
    network.add_layers()
    network.add_norms("norm", "layer_norm")
    network.finish()
    plan = Plan(network.options, network.tensors)
    add_tokens(plan, fields, V, start=0, end=1)
    plan.no_text = "the tokenizer of Pegasus is not supported"
    return plan
