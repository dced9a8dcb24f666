#!/usr/bin/env bash
# Checks that every compiled file is formatted with .clang-format and the version that CONTRIBUTING.md names, because
# other versions break lines differently. Headers of released versions (tests/surfaces/abi/include-*) are not checked.
#
#     format.sh ROOT      to fix a file: clang-format-14 -i FILE
#
# Exits with 77 if clang-format 14 is not installed.
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
    echo "NOT TESTED: clang-format $wanted is not installed (Debian: clang-format-$wanted)"
    exit 77
fi

# The check must reject a file with another format.
if printf 'int  f( ) {return 0;}\n' | "$format" --style=file --assume-filename=lib/f.cpp --dry-run -Werror 2>/dev/null; then
    echo "FAILED: $format accepts a file with another format"
    exit 1
fi

mapfile -t files < <(find bindings cpu cuda docs examples include lib tests -path 'tests/surfaces/abi/include-*' -prune -o \
    -path 'bindings/rust/*' -prune -o -type f \
    '(' -name '*.c' -o -name '*.h' -o -name '*.cpp' -o -name '*.hpp' -o -name '*.inl' -o -name '*.cu' -o -name '*.cuh' ')' \
    -print | sort)
[ ${#files[@]} -ge 400 ] || { echo "FAILED: only ${#files[@]} files were found"; exit 1; }
"$format" --style=file --dry-run -Werror "${files[@]}"
echo "${#files[@]} files are formatted as .clang-format specifies"
