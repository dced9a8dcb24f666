#!/usr/bin/env bash
# The C++ headers in other programs: each header by itself, and programs that use all of them with every standard
# from C++17 on and every compiler, with common warnings as errors and without run-time type
# information.
#
#   headers.sh ROOT C++_COMPILER...      missing compilers are skipped
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
root=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
flags=(-fsyntax-only -fno-rtti -Werror -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wundef
    -Wold-style-cast -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-qual -Wnull-dereference -Wdouble-promotion
    -Wzero-as-null-pointer-constant -Wextra-semi -Wmissing-declarations "-I$root/include")
failed=0
runs=0

# The umbrella includes all headers except experimental.hpp; they define no macros except include guards.
for header in "$root"/include/xformer/*.hpp; do
    name=$(basename "$header" .hpp)
    printf '#include "xformer/%s.hpp"\n#include "xformer/%s.hpp"\n' "$name" "$name" >"$work/$name.alone.cpp"
    if [ "$name" != xformer ] && [ "$name" != experimental ] &&
        ! grep -qF "#include \"xformer/$name.hpp\"" "$root/include/xformer/xformer.hpp"; then
        echo "xformer.hpp does not include $name.hpp"
        failed=1
    fi
    guard=XFORMER_${name^^}_HPP
    if [ "$(grep -cE '^ *# *define' "$header")" != 1 ] || ! grep -qx "#define $guard" "$header"; then
        echo "$name.hpp defines other macros than $guard"
        failed=1
    fi
done
# The version in the name of the namespace is that of the headers.
version=v$(sed -nE 's/^#define XF_VERSION_MAJOR ([0-9]+)$/\1/p' "$root/include/xformer/version.h")
version+=_$(sed -nE 's/^#define XF_VERSION_MINOR ([0-9]+)$/\1/p' "$root/include/xformer/version.h")
if grep -hE '^inline namespace' "$root"/include/xformer/*.hpp | grep -vx "inline namespace $version {"; then
    echo "expected inline namespace $version"
    failed=1
fi
cp "$root"/tests/surfaces/install/consumer/use.cpp "$root"/examples/first/translate.cpp "$work"

# compile COMPILER STANDARD FILE...
compile() {
    local compiler=$1 standard=$2 file
    shift 2
    for file in "$@"; do
        runs=$((runs + 1))
        "$compiler" "-std=$standard" "${flags[@]}" "$file" || {
            echo "FAILED: $compiler -std=$standard $file"
            failed=1
        }
    done
}

compile "$1" c++17 "$work"/*.alone.cpp "$work/translate.cpp"
declare -A seen
for compiler in "$@"; do
    path=$(command -v "$compiler" || true)
    if [ -z "$path" ]; then
        echo "NOT TESTED: $compiler was not found"
        continue
    fi
    path=$(readlink -f "$path")
    if [ -n "${seen[$path]-}" ]; then continue; fi
    seen[$path]=yes
    for standard in c++17 c++20 c++2b; do
        if ! echo | "$path" "-std=$standard" -fsyntax-only -x c++ - 2>/dev/null; then
            echo "NOT TESTED: $compiler has no -std=$standard"
            continue
        fi
        compile "$path" $standard "$work/use.cpp"
    done
    if "$path" -std=c++14 "${flags[@]}" "$work/base.alone.cpp" 2>"$work/log" || ! grep -q "need C++17" "$work/log"; then
        echo "FAILED: $compiler -std=c++14 should report which standard the headers need"
        failed=1
    fi
done
[ $runs -ge 12 ] || { echo "only $runs runs, expected at least 12: is a compiler missing?"; exit 1; }
echo "$runs runs"
exit $failed
