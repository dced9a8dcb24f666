#!/usr/bin/env bash
# Adds inputs that run.sh found to the archives: the fewest and smallest that reach new code.
#
#     tests/harness/fuzz/merge.sh [TARGET...]
#
# Existing inputs remain, because some reproduce a defect that was fixed and reach no new code.
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=${XF_FUZZ_BUILD:-$here/../../../build/fuzz}
most=${XF_FUZZ_MOST:-120000} # bytes of new inputs for each target
if [ $# -eq 0 ]; then set -- $(cd "$here/corpus" && ls | sed "s/[.].*//"); fi
for target in "$@"; do
    if [ ! -d "$build/corpus/$target" ]; then continue; fi
    chosen=$(mktemp -d) kept=$(mktemp -d)
    "$here/corpus.sh" unpack "$target" "$kept"
    cp "$kept"/* "$chosen"
    # Copies only inputs that reach code that these do not reach, small inputs first.
    "$build/bin/fuzz_$target" -merge=1 -timeout=10 -use_value_profile=0 "$chosen" "$build/corpus/$target" \
        >"$build/$target.merge.log" 2>&1
    bytes=0
    while read -r size file; do
        if [ -e "$kept/$file" ]; then continue; fi
        bytes=$((bytes + size))
        if [ $bytes -gt "$most" ]; then break; fi
        cp "$chosen/$file" "$kept/$file"
    done < <(cd "$chosen" && find . -maxdepth 1 -type f -printf '%s %f\n' | sort -n)
    "$here/corpus.sh" pack "$target" "$kept"
    echo "$target: $(ls "$kept" | wc -l) inputs, $(du -sb "$kept" | cut -f1) bytes"
    rm -r "$chosen" "$kept"
done
