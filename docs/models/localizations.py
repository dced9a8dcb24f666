#!/usr/bin/env python3
"""Pairs for training from two localizations of Firefox or Thunderbird (MPL-2.0).

localizations.py ENGLISH OTHER PAIRS.tsv HELD_OUT.tsv...

ENGLISH and OTHER are folders into which language packs (.xpi) were unpacked, for example those of Debian's packages
firefox-esr-l10n-en-gb and firefox-esr-l10n-fr. Two texts with the same name in files of the same name are a pair. Texts
with several forms (singular, plural) are left out, as are keys, styles, and near copies of pairs in a HELD_OUT file.

SPDX-License-Identifier: Apache-2.0
"""
import collections
import pathlib
import re
import sys

from dictionary import near_held_out, read_held_out

TAG = re.compile(r"</?[a-z][^<>]*>")
NAMED = re.compile(r"\{ (-[\w-]+)[^{}]*\}")  # a term of Fluent, such as { -brand-short-name }
VARIABLE = re.compile(r"\{[^{}]*\}|%\d*\$?[A-Za-z]|#\d")
# Names of values that are no texts: access keys, shortcuts, styles, sizes, URLs.
OTHER_VALUE = re.compile(r"(?:key\d*|style|width|height|url|command|charset|pattern|format|size)$", re.I)


def messages(text):
    """Yields (name, value) of a file in Fluent, as the format is used by these programs."""
    name, attribute, value = None, "", []

    def finished():
        if name is not None and value:
            yield name + attribute, " ".join(part for part in value if part)

    for line in text.splitlines():
        start = re.match(r"(-?[A-Za-z][\w-]*) *=(.*)$", line)
        inner = re.match(r" +(\.[A-Za-z][\w-]*) *=(.*)$", line)
        if start or inner or not line.startswith(" "):
            yield from finished()
            value = []
        if start:
            name, attribute = start[1], ""
            value = [start[2].strip()]
        elif inner:
            attribute = inner[1]
            value = [inner[2].strip()]
        elif line.startswith(" ") and value:
            value.append(line.strip())
    yield from finished()


def properties(text):
    """Yields (name, value) of a .properties file."""
    for line in text.replace("\\\n", "").splitlines():
        match = re.match(r"([^#!=:\s][^=:\s]*)\s*[=:]\s*(.*)$", line)
        if match:
            yield match[1], re.sub(r"\\u([0-9A-Fa-f]{4})", lambda code: chr(int(code[1], 16)), match[2])


def texts(folder):
    """Returns a dictionary from (file, name) to the text."""
    found, terms = {}, {}
    for path in sorted(pathlib.Path(folder).rglob("*")):
        if path.suffix not in (".ftl", ".properties"):
            continue
        read = messages if path.suffix == ".ftl" else properties
        for name, value in read(path.read_text(encoding="utf-8-sig")):
            if name.startswith("-"):
                terms[name] = value
            else:
                found[path.name, name] = value
    for key, value in found.items():
        value = NAMED.sub(lambda match: terms.get(match[1], match[0]), value)
        found[key] = " ".join(TAG.sub("", value).split())
    return found


def is_usable(name, pair):
    counts = [len(text.split()) for text in pair]
    variables = [sorted(VARIABLE.findall(text)) for text in pair]
    return (not OTHER_VALUE.search(name) and min(counts) >= 1 and max(counts) <= 60 and
            max(counts) <= 3 * min(counts) + 2 and variables[0] == variables[1] and
            pair[0].lower() != pair[1].lower() and
            not any("->" in text or "\\n" in text or "{" in VARIABLE.sub("", text) for text in pair) and
            all(any(letter.isalpha() for letter in VARIABLE.sub("", text)) for text in pair))


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    held_out = read_held_out(sys.argv[4:])
    english, other = texts(sys.argv[1]), texts(sys.argv[2])
    counts, pairs = collections.Counter(), {}
    for key in english.keys() & other.keys():
        pair = english[key], other[key]
        if pair in pairs or not is_usable(key[1], pair):
            continue
        if near_held_out(held_out, pair):
            counts["near a held-out pair"] += 1
        else:
            pairs[pair] = None
    counts["pairs"] = len(pairs)
    with open(sys.argv[3], "w", encoding="utf-8") as out:
        out.writelines("\t".join(pair) + "\n" for pair in sorted(pairs))
    for what, count in sorted(counts.items()):
        print("%s: %d" % (what, count))


if __name__ == "__main__":
    main()
