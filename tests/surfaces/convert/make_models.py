#!/usr/bin/env python3
"""Writes the small models in models/ and the results of the sentencepiece package. Requires that package (PyPI).

    make_models.py PAIRS.tsv        lines of source TAB target to train on

NAME.model is the SentencePiece model, NAME.json the converted tokenizer. Each line of NAME.tsv has a text
(hexadecimal), its ids, and the decoded ids (hexadecimal). NAME.long has the number of ids of one long text, made of
these lines, and their hash; its segmentation depends on the rounding of sums. The character maps consist of a few
rules, because the built-in ones have 200 KB. tests/unit/text/sentencepiece_test.cpp and the tests of the Python package read these files.

SPDX-License-Identifier: Apache-2.0
"""
import os
import random
import subprocess
import sys
import tempfile

import spm
import texts

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "models")
USER = ["<sep>", "ing", "e.g.", "ü", "derd", "der"]
CONTROL = ["[CTL]"]
SYMBOLS = {"user_defined_symbols": USER, "control_symbols": CONTROL}
# key TAB replacement, in code points: deletion, to a space, to two letters, composition, several to one
RULES = "200B\t\n00AD\t\nA0\t20\n3000\t20\n2581\t20\n9\t20\nA\t20\nFB01\t66 69\nDF\t73 73\n65 301\tE9\n69 308\tEF\n2E 2E 2E\t2026\n"
MODELS = {
    "unigram": {"normalization_rule_tsv": "rules.tsv"},
    "unigram-symbols": {
        "normalization_rule_tsv": "rules.tsv", "remove_extra_whitespaces": False, "byte_fallback": True, **SYMBOLS
    },
    "unigram-suffix": {
        "normalization_rule_name": "identity", "treat_whitespace_as_suffix": True, "denormalization_rule_tsv": "after.tsv"
    },
    "bpe": {"model_type": "bpe", "normalization_rule_tsv": "rules.tsv", "byte_fallback": True},
    "bpe-symbols": {
        "model_type": "bpe", "normalization_rule_name": "identity", "add_dummy_prefix": False, "unk_surface": "?",
        "bos_id": -1, "eos_id": 0, "unk_id": 1, "split_by_whitespace": False, **SYMBOLS
    },
}  # fmt: skip


def main():
    with open(sys.argv[1], "rb") as file:
        lines = [side for line in file for side in line.rstrip(b"\n").split(b"\t")]
    random.Random(1).shuffle(lines)
    os.makedirs(OUT, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # models contain these file names
        with open("rules.tsv", "w") as file:
            file.write(RULES)
        with open("after.tsv", "w") as file:
            file.write("E4\t61 65\n21\t203D\n")
        for name, settings in MODELS.items():
            make(name, settings, lines)


def make(name, settings, lines):
    import sentencepiece

    size = 700 if settings.get("byte_fallback") else 450
    settings = {"model_type": "unigram", "vocab_size": size, "character_coverage": 0.999, **settings}
    path = os.path.join(OUT, name)
    with open(path + ".model", "wb") as file:
        file.write(spm.train([line.decode() for line in lines[:4000]], **settings))
    package = os.path.join(HERE, "..", "..", "..", "bindings", "python")
    environment = dict(os.environ, PYTHONPATH=package)
    command = [sys.executable, "-B", "-m", "xformer.convert", "from-sentencepiece", path + ".model", path + ".json"]
    subprocess.run(command, check=True, env=environment)
    processor = sentencepiece.SentencePieceProcessor(model_file=path + ".model")
    chosen = [line for line in lines[4000:] if len(line) < 80][:20]
    chosen = texts.hostile(chosen, USER + CONTROL, len(texts.HAND) + 56) + chosen
    os.path.exists(path + ".json.prev") and os.remove(path + ".json.prev")  # the library keeps the replaced file
    chosen = [text[:120] for text in chosen]
    whole = b"".join(chosen[(7919 * i + i * i) % len(chosen)] + b" " * (i % 2) for i in range(12000))
    ids, digest = processor.encode(whole), 0xCBF29CE484222325
    for id_ in ids:
        digest = (digest ^ id_) * 0x100000001B3 % (1 << 64)  # FNV-1a over ids
    with open(path + ".long", "w") as file:
        file.write("%d %d\n" % (len(ids), digest))
    with open(path + ".tsv", "w") as file:
        for text in chosen:
            ids = processor.encode(text)
            decoded = processor.decode(ids).encode()
            file.write("%s\t%s\t%s\n" % (text.hex(), " ".join(map(str, ids)), decoded.hex()))


if __name__ == "__main__":
    main()
