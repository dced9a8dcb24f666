#!/usr/bin/env python3
"""Compares lists of facts, a fact a line: what programs rely on must stay, more may come.

    compare.py NAME OLD NEW [NAME OLD NEW]...

Prints what is gone and what has come, and of each list "NAME: same", "NAME: BROKEN" when something that was there is gone
or has another value, or "NAME: grown" when all is there and more. Of lines "FACT = VALUE" with a FACT that ends in
" minimum", " maximum" or " default" (options) the value may become smaller, larger, another; that is growth too.
Exits with 0, 1 when one is broken, else 2 when one has grown.

SPDX-License-Identifier: Apache-2.0
"""
import sys

SAME, BROKEN, GROWN = 0, 1, 2
WORDS = {SAME: "same", BROKEN: "BROKEN", GROWN: "grown"}


def facts(path):
    with open(path, encoding="utf-8") as lines:
        found = [line.rstrip("\n") for line in lines if line.strip()]
    if not found:
        sys.exit(f"compare.py: {path} is empty")
    pairs = dict((line.split(" = ", 1) if " = " in line else (line, "")) for line in found)
    if len(pairs) != len(found):
        sys.exit(f"compare.py: a name stands twice in {path}")
    return pairs


def allowed(name, old, new):
    if name.endswith(" minimum"):
        return float(new) <= float(old)
    if name.endswith(" maximum"):
        return float(new) >= float(old)
    return name.endswith(" default")


def compare(old, new):
    result = SAME
    for name, value in old.items():
        if name not in new:
            print(f"  gone:    {name}" + (f" = {value}" if value else ""))
            result = BROKEN
        elif new[name] != value:
            fine = allowed(name, value, new[name])
            print(f"  changed: {name} = {new[name]}, expected {value}" + (" (allowed)" if fine else ""))
            result = result if result == BROKEN else GROWN if fine else BROKEN
    for name in sorted(new.keys() - old.keys()):
        print(f"  new:     {name}" + (f" = {new[name]}" if new[name] else ""))
        result = result if result == BROKEN else GROWN
    return result


def main(arguments):
    results = set()
    for name, old, new in zip(arguments[0::3], arguments[1::3], arguments[2::3]):
        result = compare(facts(old), facts(new))
        print(f"{name}: {WORDS[result]}")
        results.add(result)
    return BROKEN if BROKEN in results else GROWN if GROWN in results else SAME


if __name__ == "__main__":
    if len(sys.argv) < 4 or len(sys.argv) % 3 != 1:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
