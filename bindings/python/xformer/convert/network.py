"""The network that MarianMT, M2M-100, NLLB, BART, mBART, Pegasus, and FSMT share: tensor names and shapes.

All are the encoder-decoder Transformer with biases on the attention projections. They differ in the position of the
norms, in the positional encoding, and in which embeddings are tied; the module of each family defines that. Both
directions of the conversion use the names in this file.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import math
from typing import Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple

from . import ConvertError
from .checkpoint import Checkpoint
from .fields import Fields
from .model_file import Tensor

#: The default of torch.nn.LayerNorm, which all these models use.
EPSILON = 1e-5
#: Maximum size of a position table, [positions, d_model]. The library has the same limit.
_MAX_POSITION_ELEMENTS = 1 << 26

#: Names of activations in transformers, and in this library.
ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "swish": "swish", "silu": "swish"}

_ATTENTION = (("q", "q_proj"), ("k", "k_proj"), ("v", "v_proj"), ("o", "out_proj"))


class Sizes(NamedTuple):
    """The sizes and settings that config.json has in every family."""

    encoder_layers: int
    decoder_layers: int
    d_model: int
    d_ff: int
    heads: int
    positions: int
    activation: str
    scale: bool

    @classmethod
    def of(cls, fields: Fields, **default: Any) -> "Sizes":
        """Reads a configuration. ``default`` has the values of absent fields."""
        d_model = fields.integer("d_model", default["d_model"], 4, 1 << 16)
        layers = [fields.integer(side + "_layers", default["layers"], 1, 1024) for side in ("encoder", "decoder")]
        fields.only("num_hidden_layers", layers[0])
        heads = fields.equal("encoder_attention_heads", "decoder_attention_heads", default["heads"])
        if d_model % heads or d_model % 2:
            fields.refuse("d_model", "expected an even multiple of encoder_attention_heads = %d" % heads)
        positions = fields.integer("max_position_embeddings", 1024, 2)
        if positions * d_model > _MAX_POSITION_ELEMENTS:
            fields.refuse(
                "max_position_embeddings",
                "expected at most %d with d_model %d" % (_MAX_POSITION_ELEMENTS // d_model, d_model),
            )
        return cls(
            layers[0],
            layers[1],
            d_model,
            fields.equal("encoder_ffn_dim", "decoder_ffn_dim", default["d_ff"]),
            heads,
            positions,
            fields.choice("activation_function", default["activation"], ACTIVATIONS),
            fields.boolean("scale_embedding", default["scale"]),
        )

    def options(self) -> Dict[str, Any]:
        return {
            "model.encoder_layers": self.encoder_layers,
            "model.decoder_layers": self.decoder_layers,
            "model.d_model": self.d_model,
            "model.d_ff": self.d_ff,
            "model.heads": self.heads,
            "model.d_k": self.d_model // self.heads,
            "model.d_v": self.d_model // self.heads,
            "model.activation": self.activation,
            "model.attention_bias": True,
            "model.embedding_scale": self.scale,
            "model.norm_epsilon": EPSILON,
            "model.max_length": self.positions,
        }


def layer_names(sizes: Sizes) -> Iterator[Tuple[str, str, Tuple[int, ...]]]:
    """Yields (name here, name in transformers without "model.", shape) for the tensors of all layers."""
    d, f = sizes.d_model, sizes.d_ff
    stacks = (
        ("encoder", sizes.encoder_layers, [("self_attention", "self_attn")]),
        ("decoder", sizes.decoder_layers, [("self_attention", "self_attn"), ("cross_attention", "encoder_attn")]),
    )
    for stack, layers, attentions in stacks:
        for i in range(layers):
            our_layer, their_layer = "%s.%d." % (stack, i), "%s.layers.%d." % (stack, i)
            maps = [(a + "." + p, b + "." + q, (d, d)) for a, b in attentions for p, q in _ATTENTION]
            maps += [("feed_forward.in", "fc1", (f, d)), ("feed_forward.out", "fc2", (d, f))]
            for ours, theirs, shape in maps:
                yield our_layer + ours + ".weight", their_layer + theirs + ".weight", shape
                yield our_layer + ours + ".bias", their_layer + theirs + ".bias", shape[:1]
            for ours, theirs in [*attentions, ("feed_forward", "final")]:
                name = theirs + "_layer_norm."
                yield our_layer + ours + ".norm.weight", their_layer + name + "weight", (d,)
                yield our_layer + ours + ".norm.bias", their_layer + name + "bias", (d,)


def norm_names(sizes: Sizes, ours: str, theirs: str) -> Iterator[Tuple[str, str, Tuple[int, ...]]]:
    """Yields the same for a norm that each stack has once, for example ("norm", "layer_norm")."""
    for stack in ("encoder", "decoder"):
        for part in ("weight", "bias"):
            yield "%s.%s.%s" % (stack, ours, part), "%s.%s.%s" % (stack, theirs, part), (sizes.d_model,)


def marian_table(rows: int, d: int) -> Any:
    """Sines of all rates 10000^(-2i / d), then the cosines, [rows, d]."""
    import numpy

    rates = 10000.0 ** (-2 * numpy.arange(d // 2) / d)
    angles = numpy.arange(rows)[:, None] * rates
    return numpy.concatenate([numpy.sin(angles), numpy.cos(angles)], 1).astype("<f4")


def fairseq_table(first: int, rows: int, d: int) -> Any:
    """Sines of all rates 10000^(-i / (d / 2 - 1)), then the cosines, [rows, d], beginning with position ``first``.

    All operations are fp32 as in fairseq, so that large angles are rounded in the same way.
    """
    import numpy

    rates = numpy.exp(numpy.arange(d // 2, dtype="<f4") * numpy.float32(-math.log(10000) / (d // 2 - 1)))
    angles = numpy.arange(first, first + rows, dtype="<f4")[:, None] * rates
    return numpy.concatenate([numpy.sin(angles), numpy.cos(angles)], 1).astype("<f4")


class Network:
    """Collects the tensors of a model from a checkpoint."""

    def __init__(self, checkpoint: Checkpoint, sizes: Sizes) -> None:
        self.checkpoint, self.sizes = checkpoint, sizes
        self.tensors: List[Tensor] = []
        self.options = sizes.options()
        # BartModel, which has no output projection, is saved without "model.".
        self._prefix = "model." if any(name.startswith("model.") for name in checkpoint.names()) else ""

    def name(self, name: str) -> str:
        return self._prefix + name

    def add(self, ours: str, theirs: str, shape: Tuple[int, ...]) -> None:
        """Adds an unchanged tensor. ``theirs`` is its full name."""
        self.checkpoint.check(theirs, shape)
        self.tensors.append(Tensor(ours, shape, lambda: self.checkpoint.chunks(theirs)))

    def add_layers(self) -> None:
        for ours, theirs, shape in layer_names(self.sizes):
            self.add(ours, self.name(theirs), shape)

    def add_norms(self, ours: str, theirs: str) -> None:
        for our_name, their_name, shape in norm_names(self.sizes, ours, theirs):
            self.add(our_name, self.name(their_name), shape)

    def add_learned_positions(self) -> None:
        """Adds trained position tables. The first two rows of fairseq's tables are not used."""
        self.options["model.positions"] = "learned"
        for stack in ("encoder", "decoder"):
            theirs = self.name(stack + ".embed_positions.weight")
            self._add_positions(stack, theirs, 2)

    def add_fixed_positions(self, first: int, table: Callable[[], Any]) -> None:
        """Adds tables that training does not change: from the checkpoint without its first rows, or computed."""
        self.options["model.positions"] = "fixed"
        for stack in ("encoder", "decoder"):
            theirs = self.name(stack + ".embed_positions.weight")
            if theirs in self.checkpoint:
                self._add_positions(stack, theirs, first)
            else:
                self._add_table(stack, table)

    def add_computed_positions(self, table: Callable[[], Any]) -> None:
        """Adds computed tables, for families that ignore the tables of a checkpoint."""
        self.options["model.positions"] = "fixed"
        for stack in ("encoder", "decoder"):
            self._add_table(stack, table)

    def _add_table(self, stack: str, table: Callable[[], Any]) -> None:
        shape = (self.sizes.positions, self.sizes.d_model)
        self.tensors.append(Tensor(stack + ".position.weight", shape, lambda: [table()]))

    def _add_positions(self, stack: str, theirs: str, first: int) -> None:
        shape = (self.sizes.positions, self.sizes.d_model)
        self.checkpoint.check(theirs, (first + shape[0], shape[1]))

        def chunks() -> Iterable[Any]:
            left, skipped = shape[0], first
            for rows in self.checkpoint.chunks(theirs):
                part = rows[min(skipped, len(rows)) :][:left]
                skipped -= min(skipped, len(rows))
                left -= len(part)
                yield part

        self.tensors.append(Tensor(stack + ".position.weight", shape, chunks))

    def add_shared_embedding(self, V: int, output: str = "lm_head.weight") -> None:
        """Adds one matrix for both embeddings and the output. A checkpoint can contain copies of it."""
        names = ["shared.weight", "encoder.embed_tokens.weight", "decoder.embed_tokens.weight"]
        names = [self.name(name) for name in names] + [output]
        self.options.update({"model.vocab_size": V, "model.tie": "all"})
        self._add_embedding("embedding.weight", names, V)

    def add_embeddings(
        self, V: int, source_V: int, source: List[str], target: List[str], output: Optional[str]
    ) -> None:
        """Adds separate source and target embeddings, each under the first of its names that exists.

        Without ``output`` the output projection is tied to the target embedding.
        """
        self.options.update({"model.vocab_size": V, "model.source_vocab_size": source_V})
        self.options["model.tie"] = "decoder" if output is None else "none"
        self._add_embedding("encoder.embedding.weight", source, source_V)
        self._add_embedding("decoder.embedding.weight", target, V)
        if output is not None:
            self._add_embedding("output.weight", [output], V)

    def _add_embedding(self, ours: str, names: List[str], rows: int) -> None:
        """Adds a matrix that a checkpoint contains under one or several of these names."""
        found = [name for name in names if name in self.checkpoint] or names[:1]
        self.add(ours, found[0], (rows, self.sizes.d_model))
        for name in found[1:]:
            if not self.checkpoint.same(found[0], name):
                raise ConvertError(
                    "%s differs from %s: expected equal values, because config.json ties them"
                    % (self.checkpoint.where(name), found[0])
                )

    def add_output_bias(self, V: int) -> None:
        """Adds final_logits_bias. Many checkpoints contain one that is zero; these get no bias."""
        name = "final_logits_bias"
        if name not in self.checkpoint:
            return
        self.checkpoint.check(name, (1, V))
        if any(rows.any() for rows in self.checkpoint.chunks(name)):
            self.options["model.output_bias"] = True
            self.tensors.append(Tensor("output.bias", (V,), lambda: self.checkpoint.chunks(name)))

    def finish(self, *ignored: str) -> None:
        """Refuses a checkpoint with unused tensors, except those whose names end with one of ``ignored``."""
        for name in self.checkpoint.unused():
            if not name.endswith((".version", "_float_tensor", *ignored)):
                raise ConvertError("%s is unexpected: no model of this family has it" % self.checkpoint.where(name))
