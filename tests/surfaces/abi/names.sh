#!/bin/sh
# Checks that the headers declare, the version script lists, and the library exports the same functions.
#
#   names.sh INCLUDE_FOLDER MAP LIBRARY C_COMPILER
#
# SPDX-License-Identifier: Apache-2.0
set -eu
include=$1 map=$2 library=$3 compiler=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# -fpreprocessed removes comments and keeps macros.
cat "$include"/xformer/*.h | "$compiler" -fpreprocessed -dD -E -P -x c - 2>/dev/null | grep -v '^#' |
    tr '\n' ' ' | grep -oE 'XF_API[^(;]*\(' | grep -oE 'xf_[a-z0-9_]+\($' | tr -d '(' | sort >"$work/headers"
sed 's/#.*//' "$map" | grep -oE 'xf_[a-z0-9_]+' | sort >"$work/map"
nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort >"$work/library"

[ "$(wc -l <"$work/headers")" -ge 80 ] || { echo "found only $(wc -l <"$work/headers") names in the headers, expected at least 80"; exit 1; }
failed=0
for one in headers map library; do
    if [ -n "$(uniq -d "$work/$one")" ]; then
        echo "twice in the $one: $(uniq -d "$work/$one")"
        failed=1
    fi
done
for other in map library; do
    if ! diff "$work/headers" "$work/$other" >"$work/difference"; then
        echo "the headers (<) and the $other (>) differ:"
        grep '^[<>]' "$work/difference"
        failed=1
    fi
done
# The C++ headers are inline code on top of the C headers: they may only use functions and types that exist.
grep -ohE '(struct|enum) xf_[a-z0-9_]+' "$include"/xformer/*.h | cut -d' ' -f2 | sort -u >"$work/types"
for header in "$include"/xformer/*.hpp; do
    [ -f "$header" ] || continue
    if grep -n XF_API "$header"; then
        echo "$header declares an exported function"
        failed=1
    fi
    "$compiler" -fpreprocessed -E -P -x c++ "$header" 2>/dev/null | grep -oE '(^|[^a-z0-9_.>])xf_[a-z0-9_]+ *\(' |
        grep -oE 'xf_[a-z0-9_]+' | sort -u | comm -23 - "$work/map" |
        comm -23 - "$work/types" >"$work/unknown"
    if [ -s "$work/unknown" ]; then
        echo "$header calls functions that do not exist:"
        cat "$work/unknown"
        failed=1
    fi
done
# Functions that comments name must exist, too.
grep -ohE 'xf_[a-z0-9_]+\(\)' "$include"/xformer/*.h | tr -d '()' | sort -u | comm -23 - "$work/map" >"$work/unknown"
if [ -s "$work/unknown" ]; then
    echo "comments of the headers name functions that do not exist:"
    cat "$work/unknown"
    failed=1
fi
echo "$(wc -l <"$work/headers") names"
exit $failed
