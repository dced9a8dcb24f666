#!/bin/sh
# The ABI gate: checks that everything on which programs of the frozen version rely still exists unchanged.
#
#   gate.sh BASELINE_FOLDER INCLUDE_FOLDER LIBRARY OPTIONS_PROGRAM C_COMPILER [OUTPUT_FOLDER]
#
# Four comparisons with what freeze.sh recorded in BASELINE_FOLDER. The result of each is "same", "grown", or "BROKEN":
#   acc        functions and types of the library, by abi-compliance-checker: breaks of compiled programs
#   surface    the same dump as text: also breaks of the next compilation (const, names), version nodes, and SONAME
#   constants  macros and enumerators, which debug information does not contain
#   options    the option table: keys, types, choices, bounds, defaults
# OPTIONS_PROGRAM prints the current option table; "-" skips that comparison (for a library that cannot run here).
# OUTPUT_FOLDER receives the current abi.dump, constants.txt, and options.txt.
#
# Exits with 0 if nothing changed or no release was frozen, 1 if something is broken, 2 if the ABI has grown and freeze.sh
# has not recorded it yet, and 77 if tools are missing (Debian: abi-dumper, abi-compliance-checker).
#
# SPDX-License-Identifier: Apache-2.0
set -eu
baseline=$1 include=$2 library=$3 options=$4 compiler=$5 output=${6-}
here=$(dirname "$0")
set -- "$baseline"/xformer-*.dump "$baseline"/include-* "$baseline"/constants.txt "$baseline"/options.txt
found=0
for file; do [ ! -e "$file" ] || found=$((found + 1)); done
if [ $found = 0 ]; then
    echo "No release has been frozen, so there is nothing to compare with; freeze.sh records the ABI at the first tag."
    exit 0
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
command -v abi-compliance-checker >/dev/null || { echo "NOT TESTED: abi-compliance-checker was not found"; exit 77; }

new=${output:-$work/new}
mkdir -p "$new"
sh "$here/dump.sh" "$library" "$include" "$new/abi.dump"
python3 "$here/constants.py" "$include" "$compiler" >"$new/constants.txt"
if [ "$options" != - ]; then "$options" >"$new/options.txt"; fi

set -- "$baseline"/xformer-*.dump
if [ $# -ne 1 ] || [ ! -f "$1" ]; then
    echo "gate.sh: $baseline does not contain exactly one xformer-VERSION.dump"
    exit 1
fi
old=$1

status=0
abi-compliance-checker -binary -l xformer -old "$old" -new "$new/abi.dump" -report-path "$work/report.html" -log-path "$work/log" \
    >"$work/acc" 2>&1 || status=$?
if ! grep '^Binary compatibility: ' "$work/acc" >"$work/verdict" || [ $status -gt 1 ]; then
    cat "$work/acc"
    echo "abi-compliance-checker printed no result"
    exit 1
fi
if [ $status = 0 ]; then echo 'acc: same' >"$work/result"; else cat "$work/verdict"; echo 'acc: BROKEN' >"$work/result"; fi

perl "$here/normalise.pl" --surface "$old" >"$work/surface.old"
perl "$here/normalise.pl" --surface "$new/abi.dump" >"$work/surface.new"
set -- surface "$work/surface.old" "$work/surface.new" constants "$baseline/constants.txt" "$new/constants.txt"
if [ "$options" != - ]; then set -- "$@" options "$baseline/options.txt" "$new/options.txt"; fi
status=0
python3 "$here/compare.py" "$@" >>"$work/result" || status=$?
[ $status -le 2 ] || { cat "$work/result"; exit 1; }
# Any other change of the dump (a size, the name of a parameter) must also be recorded.
if grep -qx 'surface: same' "$work/result" && ! cmp -s "$old" "$new/abi.dump"; then
    diff -u "$old" "$new/abi.dump" | tail -n +3 | head -n 40
    sed -i 's/^surface: same$/surface: grown/' "$work/result"
fi
cat "$work/result"

if grep -q ': BROKEN$' "$work/result"; then
    echo "The ABI is broken: programs that use the frozen version would fail. See tests/surfaces/abi/README.md."
    exit 1
fi
if grep -q ': grown$' "$work/result"; then
    echo "The ABI has grown, which is allowed: record it with tests/surfaces/abi/freeze.sh."
    exit 2
fi
