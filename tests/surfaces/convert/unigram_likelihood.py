#!/usr/bin/env python3
"""Compares unigram tokenizers trained by this library and by the sentencepiece package: bits for the same text.

    unigram_likelihood.py LIBRARY DATA [--lines N] [--size V]

LIBRARY is a built libxformer.so, DATA a folder with *.tsv or *.tsv.xz files. Both train V pieces on N lines and encode
the same lines. The likelihood uses the relative frequencies of the pieces, which training maximizes. The settings are
equivalent: NFKC, separate digits, and the same number of pieces besides the bytes. The exit status is 1 if this library
is more than 1 % worse. Requires the package sentencepiece (PyPI). No other test runs this script.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import collections
import math
import os
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "..", "..", "bindings", "python"), HERE]
import sentencepiece_check  # noqa: E402 (requires the path above)


def bits(sentences):
    counts = collections.Counter(id_ for ids in sentences for id_ in ids)
    total = sum(counts.values())
    return -sum(n * math.log2(n / total) for n in counts.values()), total


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("data")
    parser.add_argument("--lines", type=int, default=100000)
    parser.add_argument("--size", type=int, default=8000)
    given = parser.parse_args()
    os.environ["XFORMER_LIBRARY"] = os.path.abspath(given.library)
    import sentencepiece
    import xformer

    lines = []
    for line in sentencepiece_check.read_lines(given.data):
        if len(lines) == given.lines:
            break
        lines.append(" ".join(line.decode().split()))
    options = {"tokenizer.kind": "unigram", "tokenizer.vocab_size": given.size, "context.threads": 1}
    context = xformer.Context({"context.device": "cpu:ref", "context.threads": 1})
    corpus = xformer.Corpus.from_pairs(context, list(zip(lines[::2], lines[1::2])))
    begin = time.perf_counter()
    ours = xformer.Tokenizer.train(context, corpus, options)
    middle = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "their")
        settings = {
            "normalization_rule_name": "nfkc", "split_digits": True, "character_coverage": 0.9999,
            "vocab_size": given.size - 253, "byte_fallback": False,  # without the 256 bytes, with an unknown piece
        }  # fmt: skip
        sentencepiece_check.train(path, settings, b"", lines)
        theirs = sentencepiece.SentencePieceProcessor(model_file=path)
    end = time.perf_counter()
    (own, own_tokens), (their, their_tokens) = bits(map(ours.encode, lines)), bits(map(theirs.encode, lines))
    print("library: %.0f bits, %d tokens, %.0f s" % (own, own_tokens, middle - begin))
    print("package: %.0f bits, %d tokens, %.0f s" % (their, their_tokens, end - middle))
    print("%+.2f %% of likelihood" % (100 * (their - own) / their))
    return int(own > 1.01 * their)


if __name__ == "__main__":
    sys.exit(main())
