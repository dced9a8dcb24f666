#!/usr/bin/env python3
"""Compares lists of facts, one per line. Existing facts must remain; new facts are allowed.

    compare.py NAME OLD NEW [NAME OLD NEW]...

Prints removed and new facts, and for each list "NAME: same", "NAME: BROKEN" if a fact was removed or has another value,
or "NAME: grown" if there are only new facts. In a line "FACT = VALUE" whose FACT ends in " minimum" the value may
decrease, in " maximum" increase, and in " default" change; this counts as growth. Exits with 1 if a list is broken, else
with 2 if one has grown, else with 0.

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
        sys.exit(f"compare.py: {path} contains a name twice")
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
