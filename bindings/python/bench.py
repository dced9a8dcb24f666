#!/usr/bin/env python3
"""Measures the binding. tests/harness/bench/bindings.sh compares it with the same program in C and other languages.

    bench.py MODEL SENTENCES OUTPUT ROUNDS

Translates the lines of SENTENCES ROUNDS times, 32 per call, on one thread. Prints the seconds of each round, then
writes the translations to OUTPUT, one per line.

SPDX-License-Identifier: Apache-2.0
"""
import sys
import time

import xformer


def main() -> None:
    model, sentences, output, rounds = sys.argv[1:]
    with open(sentences, encoding="utf-8") as file:
        texts = file.read().splitlines()
    with xformer.Context({"context.threads": 1}) as context:
        decoder = xformer.Decoder(xformer.Model.load(context, model))
        translations = []
        for _ in range(int(rounds)):
            start = time.monotonic()
            parts = [decoder.translate(texts[at : at + 32]) for at in range(0, len(texts), 32)]
            translations = [hypotheses[0].text for part in parts for hypotheses in part]
            print("%.6f" % (time.monotonic() - start), flush=True)
    with open(output, "w", encoding="utf-8") as file:
        file.writelines("%s\n" % text for text in translations)


main()
