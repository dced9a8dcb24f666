#!/usr/bin/env bash
# Puts what runs have found into the tree: of each target's inputs, the fewest and smallest that reach what all reach.
#
#     tests/fuzz/merge.sh [TARGET...]
#
# Inputs in the tree stay, as some are there for a defect that was mended rather than for what they reach.
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=${XF_FUZZ_BUILD:-$here/../../build/fuzz}
most=${XF_FUZZ_MOST:-120000} # bytes of new inputs that a target may add
if [ $# -eq 0 ]; then set -- $(cd "$here/corpus" && ls); fi
for target in "$@"; do
    if [ ! -d "$build/corpus/$target" ]; then continue; fi
    chosen=$(mktemp -d)
    cp "$here/corpus/$target"/* "$chosen"
    # Only what adds to these is copied, small inputs first.
    "$build/bin/fuzz_$target" -merge=1 -timeout=10 -use_value_profile=0 "$chosen" "$build/corpus/$target" \
        >"$build/$target.merge.log" 2>&1
    bytes=0
    while read -r size file; do
        if [ -e "$here/corpus/$target/$file" ]; then continue; fi
        bytes=$((bytes + size))
        if [ $bytes -gt "$most" ]; then break; fi
        cp "$chosen/$file" "$here/corpus/$target/$file"
    done < <(cd "$chosen" && find . -maxdepth 1 -type f -printf '%s %f\n' | sort -n)
    rm -r "$chosen"
    echo "$target: $(ls "$here/corpus/$target" | wc -l) inputs, $(du -sb "$here/corpus/$target" | cut -f1) bytes"
done
