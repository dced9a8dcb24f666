"""Produces the tensors of a model of this library under their names in transformers, in chunks of rows.

The sinusoids of MarianMT and Pegasus are all sines, then all cosines; those of this library alternate. The export
permutes the d_model dimension of all tensors in the same way, which leaves the model equivalent.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

from functools import partial
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Tuple

from .checkpoint import Checkpoint
from .model_file import Tensor
from .network import Sizes, layer_names, marian_table, norm_names

#: A bias that makes the probability of a token 0.
EXCLUDED = -1e9


class TensorWriter:
    def __init__(
        self, path: str, options: Dict[str, Any], weights: Checkpoint, tokenizer: Optional[Dict[str, Any]]
    ) -> None:
        self.path, self.options, self.weights = path, options, weights
        o = options
        self.sizes = Sizes(
            o["model.encoder_layers"], o["model.decoder_layers"], o["model.d_model"], o["model.d_ff"], o["model.heads"],
            o["model.max_length"], o["model.activation"], o["model.embedding_scale"],
        )  # fmt: skip
        self.V = o["model.vocab_size"]
        self.source_V = o["model.source_vocab_size"] or self.V
        side = (tokenizer or {}).get("target", tokenizer or {})
        self.start = o["model.start_token"] if o["model.start_token"] >= 0 else side.get("start", 0)
        self.end = o["model.end_token"] if o["model.end_token"] >= 0 else side.get("end", 1)
        pieces = side.get("pieces", []) if str(side.get("kind", "")).startswith("sentencepiece") else []
        self.unknown = next((id for id, piece in enumerate(pieces) if piece[2] == 2), -1)
        self.order: Any = None  # permutation of d_model, or None
        self.tensors: List[Tensor] = []

    def chunks(self, name: str, rows: bool = False, columns: bool = False) -> Callable[[], Iterable[Any]]:
        """Returns a function that yields a tensor, with d_model permuted in its rows or its columns."""
        order = self.order

        def chunks() -> Iterator[Any]:
            if rows and order is not None:  # requires the whole matrix of a layer
                import numpy

                yield numpy.concatenate(list(self.weights.chunks(name)))[order]
                return
            for chunk in self.weights.chunks(name):
                yield chunk[:, order] if columns and order is not None else chunk

        return chunks

    def add_layers(self) -> None:
        for ours, theirs, shape in layer_names(self.sizes):
            theirs = "model." + theirs
            if ours not in self.weights:  # a bias that this model does not have
                self.add(theirs, shape, partial(_zero_bias, shape[0]))
                continue
            to_stream = ours.endswith((".o.weight", ".o.bias", ".out.weight", ".out.bias")) or ".norm." in ours
            matrix = len(shape) == 2
            self.add(theirs, shape, self.chunks(ours, rows=to_stream, columns=matrix and not to_stream))

    def add_norms(self, ours: str, theirs: str) -> None:
        for our_name, their_name, shape in norm_names(self.sizes, ours, theirs):
            self.add("model." + their_name, shape, self.chunks(our_name, rows=True))

    def add(self, name: str, shape: Tuple[int, ...], chunks: Callable[[], Iterable[Any]]) -> None:
        self.tensors.append(Tensor(name, shape, chunks))

    def add_matrix(self, theirs: str, ours: str, rows: int, total: int) -> None:
        """Adds an embedding, padded with zero rows to ``total``."""
        own = self.chunks(ours, columns=True)

        def chunks() -> Iterator[Any]:
            yield from own()
            if total > rows:
                yield zeros(total - rows, self.sizes.d_model)

        self.add(theirs, (total, self.sizes.d_model), chunks)

    def add_bias(self, total: int) -> None:
        """Adds final_logits_bias. Tokens that the export added get a probability of 0."""

        def chunks() -> Iterator[Any]:
            if self.options["model.output_bias"]:
                for chunk in self.weights.chunks("output.bias"):
                    yield chunk.reshape(1, -1)
            else:
                yield zeros(1, self.V)
            yield zeros(1, total - self.V) + EXCLUDED

        self.add("final_logits_bias", (1, total), chunks)

    def table(self, stack: str) -> Any:
        import numpy

        if self.options["model.positions"] == "sinusoid":
            return marian_table(self.sizes.positions, self.sizes.d_model)  # already in the permuted order
        return numpy.concatenate(list(self.weights.chunks(stack + ".position.weight")))

    def sort_sinusoids(self) -> None:
        """Permutes d_model from alternating sines and cosines to all sines, then all cosines."""
        import numpy

        if self.options["model.positions"] == "sinusoid":
            columns = numpy.arange(self.sizes.d_model)
            self.order = numpy.concatenate([columns[::2], columns[1::2]])

    def add_tables(self) -> None:
        shape = (self.sizes.positions, self.sizes.d_model)
        for stack in ("encoder", "decoder"):
            make = lambda stack=stack: [self.table(stack)]  # noqa: E731
            self.add("model.%s.embed_positions.weight" % stack, shape, make)

    def unsorted_table(self, stack: str) -> Callable[[], Any]:
        """Returns a function that computes a table in the order of this library."""
        import numpy

        def table() -> Any:
            values = self.table(stack)
            if self.options["model.positions"] != "sinusoid":
                return values
            half = values.shape[1] // 2
            return numpy.stack([values[:, :half], values[:, half:]], 2).reshape(values.shape)

        return table


def _zero_bias(count: int) -> List[Any]:
    return [zeros(1, count)]


def zeros(rows: int, columns: int) -> Any:
    import numpy

    return numpy.zeros((rows, columns), "<f4")


