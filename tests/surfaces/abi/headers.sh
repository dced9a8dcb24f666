#!/bin/sh
# Compiles each public C header by itself, and the umbrella header, with every supported standard of C and C++ and
# -Werror.
#
#   headers.sh INCLUDE_FOLDER C_COMPILER... -- C++_COMPILER...      missing compilers are skipped
#
# C89 to C23, and C++98 to C++23 without exceptions and RTTI: each header with the oldest and the newest standard, the
# umbrella header also with those in between. tests/surfaces/hpp/headers.sh does the same for the C++ headers.
#
# SPDX-License-Identifier: Apache-2.0
set -eu
include=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
warnings="-fsyntax-only -Wall -Wextra -Wpedantic -Wundef -Wshadow -Werror"
failed=0
runs=0

# One file per header, which includes it twice and defines something, and one that uses the macros of the umbrella.
for header in "$include"/xformer/*.h; do
    name=$(basename "$header" .h)
    printf '#include "xformer/%s.h"\n#include "xformer/%s.h"\nint after_%s;\n' "$name" "$name" "$name" >"$work/$name.c"
done
cat >"$work/use.c" <<'USE'
#include "xformer/xformer.h"
int use(void);
int use(void) {
    xf_batch batch = XF_BATCH_INIT;
    xf_error err;
    err.status = XF_OK;
    return batch.sentences == 0 && err.status == 0 && XF_VERSION_NUM >= 0 && xf_version() != 0;
}
USE
for file in "$work"/*.c; do cp "$file" "${file%.c}.cpp"; done

# check COMPILER STANDARD FLAGS FILES
check() {
    compiler=$1 standard=$2 flags=$3
    shift 3
    echo 'int x;' >"$work/probe.txt"
    case $standard in c++*) language=c++ ;; *) language=c ;; esac
    if [ $standard = c++23 ] && ! "$compiler" -std=c++23 -fsyntax-only -x c++ "$work/probe.txt" 2>/dev/null; then
        standard=c++2b  # its name in clang to version 16
    fi
    if ! "$compiler" "-std=$standard" -fsyntax-only -x $language "$work/probe.txt" 2>/dev/null; then
        echo "NOT TESTED: $compiler has no -std=$standard"
        return
    fi
    runs=$((runs + 1))
    # shellcheck disable=SC2086
    if ! "$compiler" "-std=$standard" $warnings $flags -I"$include" "$@"; then
        echo "FAILED: $compiler -std=$standard"
        failed=1
    fi
}

cxx=0
for compiler in "$@"; do
    if [ "$compiler" = -- ]; then
        cxx=1
        continue
    fi
    if ! command -v "$compiler" >/dev/null; then
        echo "NOT TESTED: $compiler was not found"
        continue
    fi
    if [ $cxx = 0 ]; then
        flags="-Wstrict-prototypes -Wold-style-definition"
        for standard in c89 c2x; do check "$compiler" $standard "$flags" "$work"/*.c; done
        for standard in c99 c11 c17; do check "$compiler" $standard "$flags" "$work/xformer.c" "$work/use.c"; done
    else
        flags="-fno-exceptions -fno-rtti"
        for standard in c++98 c++23; do check "$compiler" $standard "$flags" "$work"/*.cpp; done
        for standard in c++11 c++14 c++17 c++20; do
            check "$compiler" $standard "$flags" "$work/xformer.cpp" "$work/use.cpp"
        done
    fi
done
[ $runs -ge 10 ] || { echo "only $runs runs, expected at least 10: is a compiler missing?"; exit 1; }
# Constants are numbers of 32 bits: an enumeration with a name could become the type of a member or a parameter, whose
# size a compiler option changes.
if grep -nE '\benum[[:space:]]+[A-Za-z_]' "$include"/xformer/*.h | grep -v "^[^:]*:[0-9]*:[[:space:]]*\*"; then
    echo "FAILED: the headers name an enumeration"
    failed=1
fi
echo "$runs runs over $(ls "$work"/*.c | wc -l) files"
exit $failed
