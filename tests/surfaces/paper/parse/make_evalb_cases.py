#!/usr/bin/env python3
"""Makes evalb_cases.tsv: random trees beside disturbed copies of them, scored by EVALB's rules.

The rules are written here anew from EVALB's documentation, on nested lists and with collections.Counter, and share no
idea with evalb.c but the rules. Where they apply (no punctuation, no bracket twice, neither TOP, ADVP nor PRT), the
numbers are checked against PYEVALB 0.1.3 (PyPI) as well, and the maker fails if they differ.

    python3 make_evalb_cases.py > evalb_cases.tsv

SPDX-License-Identifier: Apache-2.0
"""
import random
import sys
from collections import Counter

from PYEVALB import parser, scorer

LABELS = ["S", "NP", "VP", "PP", "ADVP", "PRT", "TOP", "SBAR"]
PLAIN = ["S", "NP", "VP", "PP", "SBAR"]
PUNCTUATION = [",", ".", ":", ";", "!", "?", "...", "-", "--", "`", "``", "'", "''", '"', "\u2018", "\u2019", "\u201a",
               "\u201c", "\u201d", "\u201e", "\u00ab", "\u00bb", "\u2013", "\u2014", "\u2026"]


def random_tree(rng, words, labels):
    """A bracket [label, children...] over the words; a leaf is the number of its word."""
    def build(begin, end, depth):
        node = [rng.choice(labels)]
        at = begin
        while at < end:
            size = rng.randint(1, end - at)
            if depth < 5 and rng.random() < 0.6 and (size < end - begin or rng.random() < 0.3):
                node.append(build(at, at + size, depth + 1))
                at += size
            else:
                node.append(at)
                at += 1
        return node
    return build(0, words, 0)


def disturb(rng, node, labels):
    """The tree with some labels changed, some brackets taken away, some put in."""
    out = [rng.choice(labels) if rng.random() < 0.1 else node[0]]
    for child in node[1:]:
        if isinstance(child, int):
            out.append([rng.choice(labels), child] if rng.random() < 0.05 else child)
            continue
        changed = disturb(rng, child, labels)
        if rng.random() < 0.15:
            out.extend(changed[1:])
        else:
            out.append(changed)
    if len(out) > 3 and rng.random() < 0.2:
        k = rng.randint(1, len(out) - 2)
        out[k:k + 2] = [[rng.choice(labels)] + out[k:k + 2]]
    return out


def linear(node):
    if isinstance(node, int):
        return "XX"
    return " ".join(["(" + node[0]] + [linear(child) for child in node[1:]] + [")" + node[0]])


def penn(node, words):
    if isinstance(node, int):
        return f"(XX {words[node]})"
    return f"({node[0]} " + " ".join(penn(child, words) for child in node[1:]) + ")"


def leaves(node):
    return [node] if isinstance(node, int) else [leaf for child in node[1:] for leaf in leaves(child)]


def spans(node, words):
    """The counted brackets: label, and the words that are not punctuation, by their places among these."""
    kept = [i for i, word in enumerate(words) if word not in PUNCTUATION]
    found = Counter()

    def walk(n):
        inside = [i for i in leaves(n) if i in kept]
        label = "ADVP" if n[0] == "PRT" else n[0]
        if inside and label != "TOP":
            found[label, kept.index(inside[0]), kept.index(inside[-1]) + 1] += 1
        for child in n[1:]:
            if not isinstance(child, int):
                walk(child)
    walk(node)
    return found


def score(words, gold, test):
    """errors, gold brackets, test brackets, matched, crossing, complete."""
    if leaves(test) != list(range(len(words))):
        return 1, 0, 0, 0, 0, 0
    if all(word in PUNCTUATION for word in words):
        return 0, 0, 0, 0, 0, 0
    a, b = spans(gold, words), spans(test, words)
    matched = sum((a & b).values())
    crossing = sum(count for (_, s, e), count in b.items()
                   if any(gs < s < ge < e or s < gs < e < ge for _, gs, ge in a))
    return 0, sum(a.values()), sum(b.values()), matched, crossing, int(a == b)


def check_with_pyevalb(words, gold, test, ours):
    trees = [parser.create_from_bracket_string(penn(node, words)) for node in (gold, test)]
    result = scorer.Scorer().score_trees(*trees)
    theirs = (result.gold_brackets, result.test_brackets, result.matched_brackets, result.cross_brackets)
    assert theirs == ours[1:5], (penn(gold, words), penn(test, words), theirs, ours)


def main():
    rng = random.Random(4)
    checked = 0
    print("# By make_evalb_cases.py: sentence, gold, test, errors, gold brackets, test brackets, matched, crossing, "
          "complete.")
    for case in range(400):
        plain = case % 2 == 0
        labels = PLAIN if plain else LABELS
        count = rng.randint(1, 14)
        words = [rng.choice(PUNCTUATION) if not plain and rng.random() < 0.25 else f"w{i}" for i in range(count)]
        gold = random_tree(rng, count, labels)
        test = disturb(rng, gold, labels) if rng.random() < 0.8 else random_tree(rng, count, labels)
        if not plain and rng.random() < 0.1:  # a word more, which is an error
            test.append(count)
        numbers = score(words, gold, test)
        once = all(n == 1 for tree in (gold, test) for n in spans(tree, words).values())
        if plain and once:
            check_with_pyevalb(words, gold, test, numbers)
            checked += 1
        print(" ".join(words), linear(gold), linear(test), *numbers, sep="\t")
    print(f"{checked} of 400 also checked with PYEVALB", file=sys.stderr)
    assert checked >= 60


if __name__ == "__main__":
    main()
