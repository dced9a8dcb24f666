#!/usr/bin/env bash
# Every file that is compiled is as .clang-format says, by the version that CONTRIBUTING.md names: others break lines
# elsewhere. Headers of released versions (tests/surfaces/abi/include-*) remain as they were released.
#
#     format.sh ROOT      what to do when it fails: clang-format-14 -i FILE...
#
# Ends with 77 where there is no clang-format 14.
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$1"
wanted=14

format=
for name in "clang-format-$wanted" clang-format; do
    if command -v "$name" >/dev/null && "$name" --version | grep -q "version $wanted\."; then
        format=$name
        break
    fi
done
if [ -z "$format" ]; then
    echo "there is no clang-format $wanted (Debian: clang-format-$wanted): the format of the sources is not tested"
    exit 77
fi

# A file that is not in the format is refused, or this test proves nothing.
if printf 'int  f( ) {return 0;}\n' | "$format" --style=file --assume-filename=lib/f.cpp --dry-run -Werror 2>/dev/null; then
    echo "FAILED: $format takes what is not in the format"
    exit 1
fi

mapfile -t files < <(find bindings cpu cuda docs examples include lib tests -path 'tests/surfaces/abi/include-*' -prune -o \
    -path 'bindings/rust/*' -prune -o -type f \
    '(' -name '*.c' -o -name '*.h' -o -name '*.cpp' -o -name '*.hpp' -o -name '*.inl' -o -name '*.cu' -o -name '*.cuh' ')' \
    -print | sort)
[ ${#files[@]} -ge 400 ] || { echo "FAILED: only ${#files[@]} files were found"; exit 1; }
"$format" --style=file --dry-run -Werror "${files[@]}"
echo "${#files[@]} files are as .clang-format says"
