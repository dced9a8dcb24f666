"""Reads FSMT, fairseq's models of WMT19: post-norm, ReLU, separate vocabularies, no output bias.

Its tokenizer, Moses followed by BPE, is not supported.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

from .network import fairseq_table
from .plan import Folder, Plan, add_tokens, check_padding


def read(folder: Folder) -> Plan:
    fields = folder.fields
    network = folder.network(d_model=1024, layers=12, heads=16, d_ff=4096, activation="relu", scale=True)
    source_V = fields.integer("src_vocab_size", 42024, 4)
    V = fields.integer("tgt_vocab_size", 42024, 4)
    padding = fields.integer("pad_token_id", 1, 0, min(V, source_V) - 1)
    fields.only("vocab_size", V)
    fields.drop("langs", "decoder")  # used only by the tokenizer; a copy of the decoder sizes
    sizes = network.sizes
    tied = fields.boolean("tie_word_embeddings", False)
    source, target = network.name("encoder.embed_tokens.weight"), network.name("decoder.embed_tokens.weight")
    output = network.name("decoder.output_projection.weight")
    if tied and source_V != V:
        reason = "but the vocabularies have %d and %d tokens: expected equal sizes" % (source_V, V)
        fields.refuse("tie_word_embeddings", reason)
    if tied:
        network.add_shared_embedding(V, output)
    elif output not in folder.checkpoint or folder.checkpoint.same(target, output):
        network.add_embeddings(V, source_V, [source], [target, output], None)
    else:
        network.add_embeddings(V, source_V, [source], [target], output)
    table = lambda: fairseq_table(padding + 1, sizes.positions, sizes.d_model)  # noqa: E731
    network.add_fixed_positions(padding + 1, table)
    network.add_layers()
    network.finish()
    plan = Plan(network.options, network.tensors)
    add_tokens(plan, fields, V, start=2, end=2)
    check_padding(plan, fields, padding)
    plan.no_text = "this library has no Moses tokenizer, which FSMT needs"
    return plan
