"""Chooses the transformers class that is equivalent to a model of this library, and writes its config and tensors.

    norm post                      MarianMT
    norm post, embedding norm      BART
    norm pre, embedding norm       mBART
    norm pre, fairseq's positions  M2M-100
    norm pre                       Pegasus

The decoder of MarianMT starts with the padding token, whose embedding is 0 (CTranslate2 relies on that). The embedding
of the model's start token is therefore added to the first row of the decoder's position table, which only the start
token uses. Both position tables are written; transformers reads them.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Dict, Iterable, List, Optional

from . import ConvertError
from .checkpoint import Checkpoint
from .hf_tensors import TensorWriter, zeros
from .model_file import Tensor
from .network import EPSILON, fairseq_table

TABLES = "model.safetensors contains position tables that save_pretrained() of transformers drops: keep this folder"


@dataclass
class Target:
    """The contents of a folder to be written."""

    config: Dict[str, Any]
    tensors: List[Tensor]
    banned: List[int]
    vocabulary: int  # number of target ids, including added ones
    unknown: int  # id of the unknown token; -1: no tokenizer files are written
    start: int  # start token of the model; config has that of the export
    languages: Dict[str, int]
    notes: List[str] = field(default_factory=list)


def target_of(path: str, options: Dict[str, Any], weights: Checkpoint, tokenizer: Optional[Dict[str, Any]]) -> Target:
    def refuse(name: str, reason: str) -> None:
        raise ConvertError("%s: %s is %s, %s" % (path, name, options[name], reason))

    for name, values in (
        ("model.activation", ("relu", "gelu", "swish")),
        ("model.norm", ("post", "pre")),
        ("model.window", (0,)),
    ):
        if options[name] not in values:
            expected = " or ".join(map(str, values))
            refuse(name, "expected %s: no translation model of transformers supports another value" % expected)
    for name in ("model.d_k", "model.d_v"):
        if options[name] * options["model.heads"] != options["model.d_model"]:
            refuse(name, "expected model.d_model / model.heads: transformers supports no other width")
    if options["model.norm_epsilon"] > 2 * EPSILON:
        refuse("model.norm_epsilon", "expected 1e-05: transformers supports no other value")
    pre, normed = options["model.norm"] == "pre", options["model.embedding_norm"]
    marian = not pre and not normed
    if options["model.tie"] != "all" and not marian:
        refuse("model.tie", "expected all: transformers supports no other value in a model with these norms")
    if options["model.source_language"] != "none" or options["model.target_language"] not in ("none", "source"):
        if marian:
            refuse(
                "model.source_language",
                "and model.target_language %s, expected none and source: MarianMT supports no others"
                % options["model.target_language"],
            )
    writer = _Writer(path, options, weights, tokenizer)
    if marian:
        target = writer.marian()
    elif normed:
        target = writer.bart("mbart" if pre else "bart")
    elif writer.has_fairseq_positions() and not options["model.output_bias"]:
        target = writer.m2m100()
    else:
        target = writer.pegasus()
    if abs(options["model.norm_epsilon"] - EPSILON) > 1e-9:
        target.notes.append(
            "model.norm_epsilon changes from %g to 1e-05, which transformers requires: scores change slightly"
            % options["model.norm_epsilon"]
        )
    return target


class _Writer(TensorWriter):
    """Has one method per class."""

    def _config(self, kind: str, name: str, padding: int) -> Dict[str, Any]:
        s, first = self.sizes, self.options["model.first_token"]
        return {
            "architectures": [name],
            "model_type": kind,
            "is_encoder_decoder": True,
            "d_model": s.d_model,
            "encoder_layers": s.encoder_layers,
            "decoder_layers": s.decoder_layers,
            "num_hidden_layers": s.encoder_layers,
            "encoder_attention_heads": s.heads,
            "decoder_attention_heads": s.heads,
            "encoder_ffn_dim": s.d_ff,
            "decoder_ffn_dim": s.d_ff,
            "max_position_embeddings": s.positions,
            "activation_function": s.activation,
            "scale_embedding": s.scale,
            "vocab_size": self.V,
            "tie_word_embeddings": True,
            "pad_token_id": padding,
            "eos_token_id": self.end,
            "bos_token_id": None,
            "decoder_start_token_id": self.start,
            "forced_bos_token_id": first if first >= 0 else None,
            "forced_eos_token_id": None,
            "torch_dtype": "float32",
            "encoder_layerdrop": 0.0,
            "decoder_layerdrop": 0.0,
        }

    def _target(self, config: Dict[str, Any], vocabulary: int, banned: Iterable[int], unknown: int) -> Target:
        listed = self.options["model.banned_tokens"]
        ids = {int(id) for id in listed.split(",")} if listed else set()
        languages = dict(entry.rsplit("=", 1) for entry in self.options["model.languages"].split(",") if entry)
        ids.update(banned)
        ids.discard(self.end)
        numbers = {name: int(id) for name, id in languages.items()}
        return Target(config, self.tensors, sorted(ids), vocabulary, unknown, self.start, numbers)

    def _plain_start(self, embedding: str) -> bool:
        """Returns whether the start token has the last id and a zero embedding, as in models made by Marian."""
        return self.start == self.V - 1 == self.source_V - 1 and not self.weights.rows(embedding, self.start, 1).any()

    def marian(self) -> Target:
        d, tie = self.sizes.d_model, self.options["model.tie"]
        self.sort_sinusoids()
        embedding = "embedding.weight" if tie == "all" else "decoder.embedding.weight"
        plain, unknown = self._plain_start(embedding) and self.unknown >= 0, self.unknown
        V = self.V
        if not plain:
            unknown, V = (V, V + 2) if unknown < 0 else (unknown, V + 1)
        padding = V - 1
        source_V = V if tie == "all" else max(self.source_V, V)
        if tie == "all":
            self.add_matrix("model.shared.weight", embedding, self.V, V)
        else:
            self.add_matrix("model.encoder.embed_tokens.weight", "encoder.embedding.weight", self.source_V, source_V)
            self.add_matrix("model.decoder.embed_tokens.weight", embedding, self.V, V)
            if tie == "none":
                self.add_matrix("lm_head.weight", "output.weight", self.V, V)
        self.add_layers()
        self.add_bias(V)
        shape = (self.sizes.positions, d)
        self.add("model.encoder.embed_positions.weight", shape, lambda: [self.table("encoder")])

        def table() -> Iterable[Any]:
            values = self.table("decoder")
            if not plain:
                row = self.weights.rows(embedding, self.start, 1)[0]
                row = row if self.order is None else row[self.order]
                values[0] += row * (math.sqrt(d) if self.sizes.scale else 1.0)
            return [values]

        self.add("model.decoder.embed_positions.weight", shape, table)
        config = self._config("marian", "MarianMTModel", padding)
        config.update(
            vocab_size=source_V, decoder_vocab_size=V, decoder_start_token_id=padding,
            share_encoder_decoder_embeddings=tie == "all", tie_word_embeddings=tie != "none",
            static_position_embeddings=True, normalize_before=False, normalize_embedding=False,
        )  # fmt: skip
        banned = {padding} if plain else {padding, self.start}
        target = self._target(config, V, banned, unknown)
        if not plain or self.options["model.positions"] == "learned":
            target.notes.append(TABLES)
        return target

    def _padding(self) -> int:
        return 1 if 1 not in (self.end, self.start) else 0

    def bart(self, kind: str) -> Target:
        import numpy

        self.add_matrix("model.shared.weight", "embedding.weight", self.V, self.V)
        self.add_layers()
        self.add_bias(self.V)
        self.add_norms("embedding_norm", "layernorm_embedding")
        if kind == "mbart":
            self.add_norms("norm", "layer_norm")
        shape = (self.sizes.positions + 2, self.sizes.d_model)
        for stack in ("encoder", "decoder"):
            table = self.unsorted_table(stack)
            two = lambda make=table: [numpy.concatenate([zeros(2, shape[1]), make()])]  # noqa: E731
            self.add("model.%s.embed_positions.weight" % stack, shape, two)
        name = "MBartForConditionalGeneration" if kind == "mbart" else "BartForConditionalGeneration"
        return self._without_tokenizer(self._config(kind, name, self._padding()))

    def has_fairseq_positions(self) -> bool:
        import numpy

        if self.options["model.positions"] != "fixed":
            return False
        expected = fairseq_table(self._padding() + 1, self.sizes.positions, self.sizes.d_model)
        return all(numpy.allclose(self.table(stack), expected, atol=1e-4) for stack in ("encoder", "decoder"))

    def m2m100(self) -> Target:
        self.add_matrix("model.shared.weight", "embedding.weight", self.V, self.V)
        self.add_layers()
        self.add_norms("norm", "layer_norm")
        return self._without_tokenizer(self._config("m2m_100", "M2M100ForConditionalGeneration", self._padding()))

    def pegasus(self) -> Target:
        """The decoder starts with the padding token, for which the model's start token is used."""
        if self.options["model.languages"]:
            raise ConvertError(
                "%s: model.languages is %s, expected none: Pegasus, the class with these norms, has no languages"
                % (self.path, self.options["model.languages"])
            )
        self.sort_sinusoids()
        unknown, V = (self.unknown, self.V) if self.unknown >= 0 else (self.V, self.V + 1)
        padding, V = (self.start, V) if self.start != self.end else (V, V + 1)
        self.add_matrix("model.shared.weight", "embedding.weight", self.V, V)
        self.add_layers()
        self.add_norms("norm", "layer_norm")
        self.add_bias(V)
        self.add_tables()
        config = self._config("pegasus", "PegasusForConditionalGeneration", padding)
        config.update(vocab_size=V, normalize_before=True, normalize_embedding=False, add_final_layer_norm=True)
        config.update(static_position_embeddings=True)
        target = self._target(config, V, {self.start, padding} - {self.end}, unknown)
        target.notes.append("it is written as Pegasus, the transformers class with model.norm = pre")
        if self.options["model.positions"] != "sinusoid":
            target.notes.append(TABLES)
        return target

    def _without_tokenizer(self, config: Dict[str, Any]) -> Target:
        target = self._target(config, self.V, {self.start} - {self.end}, -1)
        target.notes.append(
            "%s cannot represent the tokenizer and the languages; from-hf restores them from xformer.json"
            % config["architectures"][0]
        )
        return target
