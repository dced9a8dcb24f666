#!/usr/bin/env python3
"""Checks that converted SentencePiece tokenizers produce the same ids and texts as the sentencepiece package.

    sentencepiece_check.py LIBRARY DATA [--lines N] [--only NAME] [--jobs N] [--keep FOLDER]

LIBRARY is a built libxformer.so. DATA contains folders with *.tsv or *.tsv.xz files, lines of source TAB target. The
script trains models with all settings that change the output (MODELS), and compares every line of both sides, 10,000
hostile strings, and a few very long ones. It prints a line for each model and the first differences; the exit status is
1 if there are any. Requires the package sentencepiece (PyPI). No other test runs this script.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import ctypes
import glob
import lzma
import os
import random
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "..", "..", "bindings", "python"), HERE]
import spm  # noqa: E402
import texts  # noqa: E402 (requires the path above)

USER = ["<sep>", "ing", "e.g.", "hello world", "ü", "▁the", "der", "derd"]
CONTROL = ["[CTL]", "<lang:de>"]
SYMBOLS = {"user_defined_symbols": USER, "control_symbols": CONTROL}
NO_ESCAPE = b"\x1a\x02\x28\x00"  # normalizer_spec { escape_whitespaces: false }; concatenated messages are merged

# name: (trainer settings, bytes to append to the model)
MODELS = {
    "unigram": ({"model_type": "unigram", "vocab_size": 16000}, b""),
    "bpe": ({"model_type": "bpe", "vocab_size": 16000}, b""),
    "unigram-cf-bytes": ({"normalization_rule_name": "nmt_nfkc_cf", "byte_fallback": True}, b""),
    "bpe-nfkc-bytes-digits": (
        {"model_type": "bpe", "normalization_rule_name": "nfkc", "byte_fallback": True, "split_digits": True},
        b"",
    ),
    "unigram-identity-symbols": ({"normalization_rule_name": "identity", "add_dummy_prefix": False, **SYMBOLS}, b""),
    "bpe-symbols-bytes": ({"model_type": "bpe", "byte_fallback": True, **SYMBOLS}, b""),
    "bpe-identity-spaces": (
        {"model_type": "bpe", "normalization_rule_name": "identity", "remove_extra_whitespaces": False, **SYMBOLS},
        b"",
    ),
    "unigram-spaces-suffix": (
        {"remove_extra_whitespaces": False, "treat_whitespace_as_suffix": True, "byte_fallback": True, **SYMBOLS},
        b"",
    ),
    "bpe-suffix": ({"model_type": "bpe", "treat_whitespace_as_suffix": True}, b""),
    "unigram-phrases": ({"split_by_whitespace": False, "split_by_unicode_script": False}, b""),
    "bpe-phrases-no-prefix": (
        {"model_type": "bpe", "split_by_whitespace": False, "add_dummy_prefix": False, "vocab_size": 2000},
        b"",
    ),
    "unigram-no-escape": ({**SYMBOLS}, NO_ESCAPE),
    "unigram-nfkc_cf-surface": (
        {"normalization_rule_name": "nfkc_cf", "unk_surface": "?", "bos_id": -1, "eos_id": 0, "unk_id": 1}, b""
    ),
}  # fmt: skip


def read_lines(folder):
    """Yields both sides of every pair, as bytes without the line end."""
    for path in sorted(glob.glob(os.path.join(folder, "**", "*.tsv*"), recursive=True)):
        if "origin" in os.path.basename(path):
            continue
        with lzma.open(path) if path.endswith(".xz") else open(path, "rb") as file:
            for line in file:
                yield from line.rstrip(b"\n").split(b"\t")


def train(path, settings, more, lines):
    settings = {"model_type": "unigram", "vocab_size": 8000, "hard_vocab_limit": False, **settings}
    with open(path, "wb") as file:
        file.write(spm.train(lines, **settings) + more)


class Ours:
    """Calls the C functions with reusable buffers, because the Python package costs more time than most sentences."""

    def __init__(self, path):
        import xformer
        from xformer._abi import lib

        self.lib = lib
        self.context = xformer.Context({"context.device": "cpu:ref", "context.threads": 1})
        self.tokenizer = xformer.Tokenizer.load(self.context, path)
        self.ids = (ctypes.c_int32 * (1 << 22))()
        self.text = ctypes.create_string_buffer(1 << 24)
        self.count = ctypes.c_size_t()

    def encode(self, text):
        done = self.lib.xf_tokenizer_encode(
            self.tokenizer._c, text, len(text), self.ids, len(self.ids), ctypes.byref(self.count), None
        )
        assert done == 0, (done, text[:80])
        return self.ids[: self.count.value]

    def decode(self, ids):
        self.ids[: len(ids)] = ids
        done = self.lib.xf_tokenizer_decode(
            self.tokenizer._c, self.ids, len(ids), self.text, len(self.text), ctypes.byref(self.count), None
        )
        assert done == 0, (done, ids[:80])
        return ctypes.string_at(self.text, self.count.value).decode("utf-8")


def compare(name, folder, data, limit):
    """Trains and converts a model. Returns the number of differences."""
    import sentencepiece
    from xformer.convert import __main__ as convert

    settings, more = MODELS[name]
    path = os.path.join(folder, name)
    sample = [line.decode() for i, line in enumerate(read_lines(data)) if i % 60 == 0][:20000]
    if not os.path.exists(path + ".model"):
        train(path + ".model", settings, more, sample)
    if convert.main(["from-sentencepiece", path + ".model", path + ".json"]) != 0:
        return 1
    theirs = sentencepiece.SentencePieceProcessor(model_file=path + ".model")
    ours = Ours(path + ".json")
    size = len(ours.tokenizer)
    differences, counted, spent = 0, 0, [0.0, 0.0]

    def check(batch):
        nonlocal differences, counted
        begin = time.perf_counter()
        ids = [theirs.encode(text) for text in batch]
        decoded = [theirs.decode(line) for line in ids]
        middle = time.perf_counter()
        own = [ours.encode(text) for text in batch]
        own_decoded = [ours.decode(line) for line in ids]
        spent[0] += middle - begin
        spent[1] += time.perf_counter() - middle
        counted += len(batch)
        if ids == own and decoded == own_decoded:
            return
        for text, a, b, c, d in zip(batch, ids, own, decoded, own_decoded):
            if a == b and c == d:
                continue
            differences += 1
            if differences <= 5:
                at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
                print("  %s: %r: token %d, package %s, library %s; package %r, library %r" % (
                    name, text[:80], at, a[at : at + 6], b[at : at + 6], c[:80], d[:80]))  # fmt: skip

    if size != theirs.get_piece_size():
        print("  %s: %d pieces, package %d" % (name, size, theirs.get_piece_size()))
        differences += 1
    rng = random.Random(22)
    honest = [line.encode() for line in sample]
    check(texts.hostile(honest, USER + CONTROL, 10000))
    check(texts.long(honest))
    for _ in range(1000):  # any sequence of ids that a model can produce
        ids = [rng.randrange(size) for _ in range(rng.randint(0, 30))]
        if ours.decode(ids) != theirs.decode(ids):
            differences += 1
            print("  %s: decoded %s: package %r, library %r" % (name, ids, theirs.decode(ids), ours.decode(ids)))
    batch = []
    for number, line in enumerate(read_lines(data)):
        if limit and number >= limit:
            break
        batch.append(line)
        if len(batch) == 1000:
            check(batch)
            batch = []
    check(batch)
    line = "%-26s %8d texts, %d differences; package %.0f s, library %.0f s"
    print(line % (name, counted, differences, *spent), flush=True)
    return differences


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("data")
    parser.add_argument("--lines", type=int, default=0, help="number of lines to compare; 0: all")
    parser.add_argument("--only", choices=MODELS)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--keep", help="folder to store the models in, and reuse them from")
    given = parser.parse_args()
    os.environ["XFORMER_LIBRARY"] = os.path.abspath(given.library)
    folder = given.keep or tempfile.mkdtemp()
    os.makedirs(folder, exist_ok=True)
    if given.only:
        return min(1, compare(given.only, folder, given.data, given.lines))
    waiting, running, failed = list(MODELS), [], 0
    while waiting or running:
        if waiting and len(running) < given.jobs:
            name = waiting.pop(0)
            command = [sys.executable, "-B", os.path.abspath(__file__), given.library, given.data, "--only", name]
            running.append(subprocess.Popen([*command, "--lines", str(given.lines), "--keep", folder]))
            continue
        failed += running.pop(0).wait() != 0
    print("%d of %d models differ" % (failed, len(MODELS)))
    return min(1, failed)


if __name__ == "__main__":
    sys.exit(main())
