#!/usr/bin/env python3
"""Prints the numbers of a model card: architecture, scores, everyday sentences, and the curves of its training.

card.py TRANSLATE MODEL.xf CORPUS LOG...

TRANSLATE is the program; CORPUS is a folder with dev.tsv and test.tsv; each LOG is the output of `translate train`. The
sentences are those of everyday.txt, none left out. The last line is the model's row for `paper table2 --models`.

SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import re
import subprocess
import sys

SENTENCES = pathlib.Path(__file__).with_name("everyday.txt")


def run(*command, text=None):
    return subprocess.run(command, input=text, stdout=subprocess.PIPE, text=True, check=True).stdout


def cost(log, option):
    """Returns the steps, tokens, and floating-point operations of a training.

    The operations are counted as by `paper table2`, for pairs of the mean length.
    """
    shown = pathlib.Path(log).read_text()
    epoch = re.search(r"^epoch +(\d+) pairs in (\d+) batches, (\d+) source and (\d+) target tokens", shown, re.M)
    steps = re.findall(r"^(?:(?:dev|averaged) +|translate: interrupted after )step (\d+)", shown, re.M)
    if not epoch or not steps:
        raise ValueError(f"{log} is not the log of a training that evaluated its model")
    pairs, batches, *tokens = map(int, epoch.groups())
    s, t = (count / pairs for count in tokens)
    layers = int(option["encoder_layers"]), int(option["decoder_layers"])
    d, d_ff, V = (int(option[key]) for key in ("d_model", "d_ff", "vocab_size"))
    heads = int(option["heads"]) * (int(option["d_k"]) + int(option["d_v"]))
    encoder = s * (2 * d * heads + 2 * d * d_ff) + s * s * heads
    decoder = t * (3 * d * heads + 2 * d * d_ff) + s * d * heads + (t * (t + 1) / 2 + s * t) * heads
    trained = pairs * max(map(int, steps)) / batches
    return (max(map(int, steps)), (s + t) * trained,
            6 * (layers[0] * encoder + layers[1] * decoder + t * d * V) * trained)


def inspect(translate, model):
    """Returns the values that `translate inspect` prints and the options of the model, both by name."""
    shown = run(translate, "inspect", "--model", model)
    value = dict(re.findall(r"^  (\S.*?) {2,}(.*)$", shown, re.M))
    return value, {key.removeprefix("model."): text for key, text in value.items() if key.startswith("model.")}


def properties(value, option, costs):
    """The rows of the first table."""
    yield "size", f"{int(value['size'].split()[0]) / 1e6:.1f} MB in {value['weights']}"
    yield "model", (f"{option['encoder_layers']} + {option['decoder_layers']} layers, d_model {option['d_model']}, "
                    f"d_ff {option['d_ff']}, {option['heads']} heads of {option['d_k']}, {option['norm']}-norm")
    yield "vocabulary", f"{int(option['vocab_size']):,} pieces"
    each = " + ".join(f"{operations:.1e}" for _, _, operations in costs)
    yield "cost of the training", f"{each} floating-point operations"


def scores(translate, model, test, *options):
    """Returns pairs, perplexity, BLEU, chrF2, and target tokens per second."""
    shown = run(translate, "evaluate", "--model", model, "--test", str(test), "--threads", "1", *options)
    return [re.search(pattern, shown, re.M)[1] for pattern in
            (r"^test +(\d+)", r"^perplexity +(\S+)", r"^BLEU +(\S+)", r"^chrF2 +(\S+)", r"(\d+) target tokens/s")]


def curve(log):
    """The rows of the evaluations in a log: step, perplexity, BLEU, time."""
    line = re.compile(
        r"^(dev|averaged) +step (\d+) .*dev perplexity ([\d.]+)  dev BLEU ([\d.]+)  ([\d:]+)$", re.M)
    for kind, step, perplexity, bleu, time in line.findall(pathlib.Path(log).read_text()):
        yield f"{int(step):,}{', average' if kind == 'averaged' else ''}", perplexity, bleu, time


def print_table(head, rows):
    print(f"\n| {' | '.join(head)} |\n|{' --- |' * len(head)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__.split("\n\n")[1])
    translate, model, corpus, *logs = sys.argv[1:]
    value, option = inspect(translate, model)
    costs = [cost(log, option) for log in logs]
    print_table(("", ""), properties(value, option, costs))
    rows = []
    for name in "dev", "test":
        test = pathlib.Path(corpus, name + ".tsv")
        greedy, beam = scores(translate, model, test, "--greedy"), scores(translate, model, test)
        rows.append((name, *beam[:2], greedy[2], f"**{beam[2]}**", beam[3], greedy[4], beam[4]))
    print_table(("set", "sentences", "perplexity per token", "BLEU, greedy", "BLEU, beam 4, alpha 0.6", "chrF2",
                 "tokens/s, greedy", "tokens/s, beam 4"), rows)
    lines = SENTENCES.read_text()
    print_table(("sentence", "translation"), zip(
        lines.splitlines(), run(translate, "translate", "--model", model, text=lines).splitlines()))
    for log in logs:
        print_table(("update", "dev perplexity", "dev BLEU", "time"), curve(log))
    steps, tokens, operations = map(sum, zip(*costs))
    _, _, perplexity, _, bleu, *_ = rows[-1]
    print("", "\t".join([pathlib.Path(model).name, str(steps), value["total"], f"{tokens:.0f}",
                         perplexity, bleu.strip("*"), "nan", f"{operations:.6e}"]), sep="\n")


try:
    main()
except (OSError, ValueError, subprocess.CalledProcessError) as error:
    sys.exit(f"card.py: {error}")
