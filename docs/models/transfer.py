#!/usr/bin/env python3
"""Begins a model of another language pair with the parameters of a trained one.

transfer.py PARENT CORPUS.tsv CHILD

CHILD gets the architecture of PARENT and a tokenizer of the same size, trained on CORPUS. Every parameter is copied.
The embedding of a piece that both vocabularies contain moves to its new number; another piece begins with the embedding
of a random piece of PARENT. Train it with "translate train --init CHILD". The method is that of Kocmi and Bojar 2018,
"Trivial Transfer Learning for Low-Resource Neural Machine Translation", except that they share one vocabulary.

The corpus of PARENT should not contain sentences of the test sets of CHILD, on either side.

Needs the Python binding: PYTHONPATH=bindings/python XFORMER_LIBRARY=build/release/lib/libxformer.so

SPDX-License-Identifier: Apache-2.0
"""
import random
import re
import sys

import xformer


def pieces(tokenizer):
    return [tokenizer.piece(number) for number in range(len(tokenizer))]


def transfer(context, parent, corpus):
    """Returns the child and the number of pieces that both vocabularies contain."""
    size = len(parent.tokenizer or "")
    if size == 0:
        raise ValueError("the parent has no tokenizer for both languages")
    tokenizer = xformer.Tokenizer.train(context, corpus, {"tokenizer.vocab_size": size})
    if len(tokenizer) != size:
        raise ValueError(f"the corpus gives {len(tokenizer)} pieces, expected {size}, as in the parent")
    child = xformer.Model(context, tokenizer, parent.config)
    numbers = {piece: number for number, piece in enumerate(pieces(parent.tokenizer))}
    draw = random.Random(1)
    rows = [numbers.get(piece, draw.randrange(size)) for piece in pieces(tokenizer)]
    for tensor in parent.tensors:
        values = parent.read(tensor.name)
        if re.match(r"(output|((en|de)coder\.)?embedding)\.", tensor.name):  # one row for each piece
            table = values.tolist()
            values = [table[row] for row in rows]
        child.write(tensor.name, values)
    return child, sum(piece in numbers for piece in pieces(tokenizer))


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__.split("\n\n")[1])
    with xformer.Context() as context:
        parent = xformer.Model.load(context, sys.argv[1])
        corpus = xformer.Corpus.open(context, sys.argv[2])
        child, shared = transfer(context, parent, corpus)
        child.save(sys.argv[3])
        print(f"{shared} of {len(parent.tokenizer)} pieces are also in {sys.argv[1]}")


try:
    main()
except (xformer.XformerError, ValueError) as error:
    sys.exit(f"transfer.py: {error}")
