#!/bin/sh
# The ABI gate: is everything that programs of the frozen version rely on still there and still the same?
#
#   gate.sh BASELINE_FOLDER INCLUDE_FOLDER LIBRARY OPTIONS_PROGRAM C_COMPILER [OUTPUT_FOLDER]
#
# Four comparisons with what freeze.sh has recorded in BASELINE_FOLDER, each "same", "grown" or "BROKEN":
#   acc        functions and types of the library, by abi-compliance-checker: what breaks programs that are compiled
#   surface    the same dump as text: also what breaks only their next compilation (const, names), nodes and SONAME
#   constants  macros and enumerators, which debug information does not know
#   options    the option table: keys, types, choices, bounds, defaults
# OPTIONS_PROGRAM prints today's option table; "-" leaves that comparison out (a library that cannot be run).
# OUTPUT_FOLDER receives today's abi.dump, constants.txt and options.txt.
#
# Exits with 0 when nothing has changed, 1 when something is broken, 2 when it has grown and freeze.sh has yet to record
# that, 77 when tools are missing (Debian: abi-dumper, abi-compliance-checker).
#
# SPDX-License-Identifier: Apache-2.0
set -eu
baseline=$1 include=$2 library=$3 options=$4 compiler=$5
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
command -v abi-compliance-checker >/dev/null || { echo "NOT TESTED: there is no abi-compliance-checker"; exit 77; }

new=${6-$work/new}
mkdir -p "$new"
sh "$here/dump.sh" "$library" "$include" "$new/abi.dump"
python3 "$here/constants.py" "$include" "$compiler" >"$new/constants.txt"
if [ "$options" != - ]; then "$options" >"$new/options.txt"; fi

set -- "$baseline"/xformer-*.dump
if [ $# -ne 1 ] || [ ! -f "$1" ]; then
    echo "gate.sh: $# dumps in $baseline, expected one xformer-VERSION.dump"
    exit 1
fi
old=$1

status=0
abi-compliance-checker -binary -l xformer -old "$old" -new "$new/abi.dump" -report-path "$work/report.html" -log-path "$work/log" \
    >"$work/acc" 2>&1 || status=$?
if ! grep '^Binary compatibility: ' "$work/acc" >"$work/verdict" || [ $status -gt 1 ]; then
    cat "$work/acc"
    echo "abi-compliance-checker gave no result"
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
# Whatever else changes in the dump (a size, the name of a parameter) is to be recorded too.
if grep -qx 'surface: same' "$work/result" && ! cmp -s "$old" "$new/abi.dump"; then
    diff -u "$old" "$new/abi.dump" | tail -n +3 | head -n 40
    sed -i 's/^surface: same$/surface: grown/' "$work/result"
fi
cat "$work/result"

if grep -q ': BROKEN$' "$work/result"; then
    echo "The ABI is broken: programs that use the frozen version would fail. See tests/abi/README.md."
    exit 1
fi
if grep -q ': grown$' "$work/result"; then
    echo "The ABI has grown, which is allowed: record it with tests/abi/freeze.sh."
    exit 2
fi
