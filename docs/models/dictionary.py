#!/usr/bin/env python3
"""Pairs for training from the dictionary of Debian's package trans-de-en (Ding, GPL-2+).

dictionary.py DICTIONARY SENTENCES.tsv PHRASES.tsv HELD_OUT.tsv...

DICTIONARY is usr/share/trans/de-en of the package. An entry has variants, separated by "|" (a headword and its
examples) and ";" (synonyms). The first synonym of each variant becomes a pair, English TAB German: whole sentences go
to SENTENCES.tsv, and phrases to PHRASES.tsv if their English words occur at least twice in the sentences, because most
others are technical terms. A pair is left out if it is a near copy of a pair in a HELD_OUT file.

SPDX-License-Identifier: Apache-2.0
"""
import collections
import re
import sys

# Grammar {m}, fields [bot.], explanations (of sth.), abbreviations /abbr./, and links <see>.
NOTES = re.compile(r"\{[^{}]*\}|\[[^\[\]]*\]|\([^()]*\)|(?<!\S)/[^/]*/(?!\S)|<[^<>]*>")
# Places for other words, an omission, or an alternative that remains after choices().
OPEN = re.compile(r"\b(?:etw|jd|jds|jdm|jdn|sth|sb|usw|etc|o's)\b|…|\.\.\.|[/{}()\[\]<>|=]")
TYPOGRAPHY = str.maketrans("’‘“”„", "''\"\"\"")
SENTENCE = re.compile(r"[A-ZÄÖÜ\"].*[.!?]\"?$")


def choices(text):
    """Keeps the first of alternatives that are single words: "He / It is" becomes "He is"."""
    while True:
        shorter = re.sub(r"(\S+) / \S+", r"\1", text)
        if shorter == text:
            return text
        text = shorter


def first_synonym(variant):
    text = variant
    while True:  # notes may be nested
        shorter = NOTES.sub(" ", text)
        if shorter == text:
            break
        text = shorter
    text = choices(text.split(";")[0].translate(TYPOGRAPHY))
    return re.sub(r"\s+([,.!?])", r"\1", " ".join(text.split()))


def folded_words(text):
    return re.sub(r"[\W_]+", " ", re.sub(r"\d+", "0", text.lower())).split()


def four_grams(words):
    return {" ".join(words[i:i + 4]) for i in range(max(1, len(words) - 3))}


class HeldOut:
    """The sentences of one language in held-out files."""

    def __init__(self):
        self.sizes, self.containing = [], collections.defaultdict(list)

    def add(self, text):
        grams = four_grams(folded_words(text))
        for gram in grams:
            self.containing[gram].append(len(self.sizes))
        self.sizes.append(len(grams))

    def has_near(self, text):
        """Returns whether text equals a sentence, shares half of the 4-grams with one, or contains 60 % of one's."""
        grams = four_grams(folded_words(text))
        common = collections.Counter(i for gram in grams for i in self.containing.get(gram, ()))
        return any(count >= 0.5 * (len(grams) + self.sizes[i] - count) or
                   (self.sizes[i] >= 3 and count >= 0.6 * self.sizes[i]) for i, count in common.items())


def read_held_out(paths):
    """Returns a HeldOut for each side of the pairs in these files."""
    held_out = HeldOut(), HeldOut()
    for path in paths:
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                for side, text in zip(held_out, line.rstrip("\n").split("\t")):
                    side.add(text)
    return held_out


def near_held_out(held_out, pair):
    return any(side.has_near(text) for side, text in zip(held_out, pair))


def pairs_of(path):
    """Yields (English, German). The variants of both sides correspond by position."""
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            sides = line.rstrip("\n").split(" :: ")
            if line.startswith("#") or len(sides) != 2:
                continue
            german, english = (side.split(" | ") for side in sides)
            if len(german) == len(english):
                yield from ((first_synonym(e), first_synonym(g)) for e, g in zip(english, german))


def is_usable(english, german):
    counts = len(english.split()), len(german.split())
    return (min(counts) >= 1 and max(counts) <= 60 and max(counts) <= 3 * min(counts) + 2 and
            not OPEN.search(english) and not OPEN.search(german) and english.lower() != german.lower())


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    held_out = read_held_out(sys.argv[4:])
    counts, seen = collections.Counter(), set()
    sentences, phrases = [], []
    for pair in pairs_of(sys.argv[1]):
        if not is_usable(*pair) or pair in seen:
            continue
        seen.add(pair)
        if near_held_out(held_out, pair):
            counts["near a held-out pair"] += 1
        elif all(SENTENCE.match(text) and len(text.split()) >= 3 for text in pair):
            sentences.append(pair)
        else:
            phrases.append(pair)
    words = collections.Counter(word for pair in sentences for word in folded_words(pair[0]))
    common = [pair for pair in phrases if all(words[word] >= 2 for word in folded_words(pair[0]))]
    counts.update({"sentences": len(sentences), "phrases": len(common), "rare phrases": len(phrases) - len(common)})
    for path, pairs in zip(sys.argv[2:], (sentences, common)):
        with open(path, "w", encoding="utf-8") as out:
            out.writelines("\t".join(pair) + "\n" for pair in pairs)
    for what, count in sorted(counts.items()):
        print("%s: %d" % (what, count))


if __name__ == "__main__":
    main()
