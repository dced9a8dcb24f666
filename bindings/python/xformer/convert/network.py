"""The network that MarianMT, M2M-100, NLLB, BART, mBART and FSMT share, under the names that transformers gives it.

All are the paper's, with biases on the projections of attention, and differ in where norms stand, in their positions
and in which embeddings are one matrix. A family's module says which; names and shapes are here, for both directions.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import math
from typing import Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple

from . import ConvertError
from .checkpoint import Checkpoint
from .fields import Fields
from .model_file import Tensor

#: PyTorch's, which none of these models changes.
EPSILON = 1e-5
#: Numbers of a table of positions; the library has the same limit.
_MOST_POSITIONS = 1 << 26

#: What transformers calls an activation, and this library.
ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "swish": "swish", "silu": "swish"}

_ATTENTION = (("q", "q_proj"), ("k", "k_proj"), ("v", "v_proj"), ("o", "out_proj"))


class Sizes(NamedTuple):
    """What config.json says of every family."""

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
        """From a configuration; ``default`` has the values of fields that it leaves out."""
        d_model = fields.integer("d_model", default["d_model"], 4, 1 << 16)
        layers = [fields.integer(side + "_layers", default["layers"], 1, 1024) for side in ("encoder", "decoder")]
        fields.only("num_hidden_layers", layers[0])
        heads = fields.equal("encoder_attention_heads", "decoder_attention_heads", default["heads"])
        if d_model % heads or d_model % 2:
            fields.refuse("d_model", "expected an even multiple of encoder_attention_heads, which is %d" % heads)
        positions = fields.integer("max_position_embeddings", 1024, 2)
        if positions * d_model > _MOST_POSITIONS:
            fields.refuse(
                "max_position_embeddings", "expected at most %d with d_model %d" % (_MOST_POSITIONS // d_model, d_model)
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
    """Names here and there ("model." left out), and shapes, of all layers."""
    d, f = sizes.d_model, sizes.d_ff
    stacks = (
        ("encoder", sizes.encoder_layers, [("self_attention", "self_attn")]),
        ("decoder", sizes.decoder_layers, [("self_attention", "self_attn"), ("cross_attention", "encoder_attn")]),
    )
    for stack, layers, attentions in stacks:
        for i in range(layers):
            here, there = "%s.%d." % (stack, i), "%s.layers.%d." % (stack, i)
            maps = [(a + "." + p, b + "." + q, (d, d)) for a, b in attentions for p, q in _ATTENTION]
            maps += [("feed_forward.in", "fc1", (f, d)), ("feed_forward.out", "fc2", (d, f))]
            for ours, theirs, shape in maps:
                yield here + ours + ".weight", there + theirs + ".weight", shape
                yield here + ours + ".bias", there + theirs + ".bias", shape[:1]
            for ours, theirs in [*attentions, ("feed_forward", "final")]:
                name = theirs + "_layer_norm."
                yield here + ours + ".norm.weight", there + name + "weight", (d,)
                yield here + ours + ".norm.bias", there + name + "bias", (d,)


def norm_names(sizes: Sizes, ours: str, theirs: str) -> Iterator[Tuple[str, str, Tuple[int, ...]]]:
    """The same of a norm that each stack has: ("norm", "layer_norm")."""
    for stack in ("encoder", "decoder"):
        for part in ("weight", "bias"):
            yield "%s.%s.%s" % (stack, ours, part), "%s.%s.%s" % (stack, theirs, part), (sizes.d_model,)


def marian_table(rows: int, d: int) -> Any:
    """Sines of all rates 10000^(-2i / d), then the cosines."""
    import numpy

    rates = 10000.0 ** (-2 * numpy.arange(d // 2) / d)
    angles = numpy.arange(rows)[:, None] * rates
    return numpy.concatenate([numpy.sin(angles), numpy.cos(angles)], 1).astype("<f4")


def fairseq_table(first: int, rows: int, d: int) -> Any:
    """Sines of all rates 10000^(-i / (d / 2 - 1)), then the cosines, from position ``first``. In 32 bits throughout, as
    fairseq has it: large angles are rounded the same way."""
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
        # BartModel, without a projection to words, is saved without "model.".
        self._prefix = "model." if any(name.startswith("model.") for name in checkpoint.names()) else ""

    def name(self, name: str) -> str:
        return self._prefix + name

    def add(self, ours: str, theirs: str, shape: Tuple[int, ...]) -> None:
        """A tensor as it is; ``theirs`` is its whole name."""
        self.checkpoint.check(theirs, shape)
        self.tensors.append(Tensor(ours, shape, lambda: self.checkpoint.pieces(theirs)))

    def add_layers(self) -> None:
        for ours, theirs, shape in layer_names(self.sizes):
            self.add(ours, self.name(theirs), shape)

    def add_norms(self, ours: str, theirs: str) -> None:
        for here, there, shape in norm_names(self.sizes, ours, theirs):
            self.add(here, self.name(there), shape)

    def add_learned_positions(self) -> None:
        """The first two rows of fairseq's tables are never used."""
        self.options["model.positions"] = "learned"
        for stack in ("encoder", "decoder"):
            theirs = self.name(stack + ".embed_positions.weight")
            self._add_positions(stack, theirs, 2)

    def add_fixed_positions(self, first: int, table: Callable[[], Any]) -> None:
        """Tables that no training changes: those of the checkpoint without its first rows, or computed."""
        self.options["model.positions"] = "fixed"
        for stack in ("encoder", "decoder"):
            theirs = self.name(stack + ".embed_positions.weight")
            if theirs in self.checkpoint:
                self._add_positions(stack, theirs, first)
            else:
                self._add_table(stack, table)

    def add_computed_positions(self, table: Callable[[], Any]) -> None:
        """The same of a family whose tables are never those of the checkpoint."""
        self.options["model.positions"] = "fixed"
        for stack in ("encoder", "decoder"):
            self._add_table(stack, table)

    def _add_table(self, stack: str, table: Callable[[], Any]) -> None:
        shape = (self.sizes.positions, self.sizes.d_model)
        self.tensors.append(Tensor(stack + ".position.weight", shape, lambda: [table()]))

    def _add_positions(self, stack: str, theirs: str, first: int) -> None:
        shape = (self.sizes.positions, self.sizes.d_model)
        self.checkpoint.check(theirs, (first + shape[0], shape[1]))

        def pieces() -> Iterable[Any]:
            left, skipped = shape[0], first
            for rows in self.checkpoint.pieces(theirs):
                part = rows[min(skipped, len(rows)) :][:left]
                skipped -= min(skipped, len(rows))
                left -= len(part)
                yield part

        self.tensors.append(Tensor(stack + ".position.weight", shape, pieces))

    def add_shared_embedding(self, V: int, output: str = "lm_head.weight") -> None:
        """One matrix for everything; a checkpoint may hold it several times."""
        names = ["shared.weight", "encoder.embed_tokens.weight", "decoder.embed_tokens.weight"]
        names = [self.name(name) for name in names] + [output]
        there = [name for name in names if name in self.checkpoint]
        if not there:
            raise ConvertError("%s lacks the tensor %s" % (self.checkpoint.path, names[0]))
        self.options.update({"model.vocab_size": V, "model.tie": "all"})
        self.add("embedding.weight", there[0], (V, self.sizes.d_model))
        self.require_same(there, "the configuration ties them")

    def add_embeddings(
        self, V: int, source_V: int, source: List[str], target: List[str], output: Optional[str]
    ) -> None:
        """Embeddings of their own, each under the first of its names that is there; without ``output`` the projection
        is the target's."""
        d = self.sizes.d_model
        self.options.update({"model.vocab_size": V, "model.source_vocab_size": source_V})
        self.options["model.tie"] = "decoder" if output is None else "none"
        for ours, names, rows in (
            ("encoder.embedding.weight", source, source_V),
            ("decoder.embedding.weight", target, V),
            ("output.weight", [output or ""], V),
        ):
            if names == [""]:
                continue
            there = [name for name in names if name in self.checkpoint]
            if not there:
                raise ConvertError("%s lacks the tensor %s" % (self.checkpoint.path, names[0]))
            self.add(ours, there[0], (rows, d))
            self.require_same(there, "both are this embedding")

    def require_same(self, names: List[str], why: str) -> None:
        for name in names[1:]:
            if not self.checkpoint.same(names[0], name):
                raise ConvertError("%s differs from %s: %s" % (self.checkpoint.where(name), names[0], why))

    def add_output_bias(self, V: int) -> None:
        """final_logits_bias, which many checkpoints have and leave at 0."""
        name = "final_logits_bias"
        if name not in self.checkpoint:
            return
        self.checkpoint.check(name, (1, V))
        if any(rows.any() for rows in self.checkpoint.pieces(name)):
            self.options["model.output_bias"] = True
            self.tensors.append(Tensor("output.bias", (V,), lambda: self.checkpoint.pieces(name)))

    def finish(self, *ignored: str) -> None:
        """Refuses a checkpoint with tensors that nothing has taken. ``ignored``: ends of names that mean nothing."""
        for name in self.checkpoint.unused():
            if not name.endswith((".version", "_float_tensor", *ignored)):
                raise ConvertError("%s: no model of this family has one of that name" % self.checkpoint.where(name))
