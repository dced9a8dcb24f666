"""Tensors of a model of this library under the names of transformers, row by row.

MarianMT and Pegasus have sines before cosines where this library has them in turn: the numbers of each row are put in
that order throughout the model, which changes nothing else.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Tuple

from .checkpoint import Checkpoint
from .model_file import Tensor
from .network import Sizes, layer_names, marian_table, norm_names

#: A logit that no probability is left of.
NEVER = -1e9


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
        own = tokenizer or {}
        own = own.get("target", own)
        self.start = o["model.start_token"] if o["model.start_token"] >= 0 else own.get("start", 0)
        self.end = o["model.end_token"] if o["model.end_token"] >= 0 else own.get("end", 1)
        pieces = own.get("pieces", []) if str(own.get("kind", "")).startswith("sentencepiece") else []
        self.unknown = next((id for id, piece in enumerate(pieces) if piece[2] == 2), -1)
        self.order: Any = None  # of the numbers of a row, where it changes
        self.tensors: List[Tensor] = []

    # Tensors of this library, row by row, as they are written.

    def pieces(self, name: str, rows: bool = False, columns: bool = False) -> Callable[[], Iterable[Any]]:
        order = self.order

        def pieces() -> Iterator[Any]:
            if rows and order is not None:  # a whole matrix of a layer
                import numpy

                yield numpy.concatenate(list(self.weights.pieces(name)))[order]
                return
            for piece in self.weights.pieces(name):
                yield piece[:, order] if columns and order is not None else piece

        return pieces

    def add_layers(self) -> None:
        for ours, theirs, shape in layer_names(self.sizes):
            theirs = "model." + theirs
            if ours not in self.weights:  # a bias that this model does without
                self.add(theirs, shape, _zeros_of(shape[0]))
                continue
            to_stream = ours.endswith((".o.weight", ".o.bias", ".out.weight", ".out.bias")) or ".norm." in ours
            matrix = len(shape) == 2
            self.add(theirs, shape, self.pieces(ours, rows=to_stream, columns=matrix and not to_stream))

    def add_norms(self, ours: str, theirs: str) -> None:
        for here, there, shape in norm_names(self.sizes, ours, theirs):
            self.add("model." + there, shape, self.pieces(here, rows=True))

    def add(self, name: str, shape: Tuple[int, ...], pieces: Callable[[], Iterable[Any]]) -> None:
        self.tensors.append(Tensor(name, shape, pieces))

    def add_matrix(self, theirs: str, ours: str, rows: int, total: int) -> None:
        """An embedding, with rows of 0 behind its own."""
        own = self.pieces(ours, columns=True)

        def pieces() -> Iterator[Any]:
            yield from own()
            if total > rows:
                yield zeros(total - rows, self.sizes.d_model)

        self.add(theirs, (total, self.sizes.d_model), pieces)

    def add_bias(self, total: int) -> None:
        """final_logits_bias; what was added to the vocabulary has no probability."""

        def pieces() -> Iterator[Any]:
            if self.options["model.output_bias"]:
                for piece in self.weights.pieces("output.bias"):
                    yield piece.reshape(1, -1)
            else:
                yield zeros(1, self.V)
            yield zeros(1, total - self.V) + NEVER

        self.add("final_logits_bias", (1, total), pieces)

    def table(self, stack: str) -> Any:
        import numpy

        if self.options["model.positions"] == "sinusoid":
            return marian_table(self.sizes.positions, self.sizes.d_model)  # of rows in the new order
        return numpy.concatenate(list(self.weights.pieces(stack + ".position.weight")))

    def sort_sinusoids(self) -> None:
        """From sine and cosine in turn to all sines, then all cosines."""
        import numpy

        if self.options["model.positions"] == "sinusoid":
            at = numpy.arange(self.sizes.d_model)
            self.order = numpy.concatenate([at[::2], at[1::2]])

    def add_tables(self) -> None:
        shape = (self.sizes.positions, self.sizes.d_model)
        for stack in ("encoder", "decoder"):
            make = lambda stack=stack: [self.table(stack)]  # noqa: E731
            self.add("model.%s.embed_positions.weight" % stack, shape, make)

    def turned(self, stack: str) -> Callable[[], Any]:
        """A table in the order of this library's rows."""
        import numpy

        def table() -> Any:
            values = self.table(stack)
            if self.options["model.positions"] != "sinusoid":
                return values
            half = values.shape[1] // 2
            return numpy.stack([values[:, :half], values[:, half:]], 2).reshape(values.shape)

        return table


def zeros(rows: int, columns: int) -> Any:
    import numpy

    return numpy.zeros((rows, columns), "<f4")


def _zeros_of(count: int) -> Callable[[], Iterable[Any]]:
    return lambda: [zeros(1, count)]
