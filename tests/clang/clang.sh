#!/usr/bin/env bash
# The library and the openblas plugin built by clang with warnings as errors; then the plugin, as clang made it, through
# the case list. GCC accepts what clang doesn't, and the other way round; only both keep the sources at what is standard.
#
#     SOURCE=... FOLDER=... GENERATOR=... CMAKE=... BACKEND_OPS=... clang.sh
#
# Builds in FOLDER, which stays: a second run compiles what changed. Without clang++ it says so and ends with 77. The
# core is not optimised, for what is compiled is the question; the plugin is, for its kernels are compared with ref.
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail

if ! command -v clang++ >/dev/null || ! command -v clang >/dev/null; then
    echo "clang: not tested, for there is no clang++ (Debian: clang)"
    exit 77
fi
clang++ --version | head -n 1
"$CMAKE" -S "$SOURCE" -B "$FOLDER" -G "$GENERATOR" -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ \
    -DCMAKE_BUILD_TYPE=None -DXF_WERROR=ON -DXF_CUDA=OFF -DXF_BUILD_TESTS=OFF -DXF_BUILD_EXAMPLES=OFF -DXF_INSTALL=OFF \
    -DXF_PRECOMPILE=ON -DXF_UNITY=ON >"$FOLDER.log" 2>&1 || {
    cat "$FOLDER.log"
    exit 1
}
"$CMAKE" --build "$FOLDER" -j 2 >"$FOLDER.log" 2>&1 || {
    grep -E -A 5 '(error|warning):' "$FOLDER.log" || tail -n 40 "$FOLDER.log"
    exit 1
}
# Every case beside ref, and AVX2 beside AVX-512: what a compiler can change. The other checks are of the source.
passed=0
for check in parity instructions; do
    XF_TEST_PLUGINS="$FOLDER/lib/libxformer_openblas.so" "$BACKEND_OPS" "openblas/*$check" >"$FOLDER.log" 2>&1 || {
        grep -v -E '^\[ +(RUN|OK) ' "$FOLDER.log"
        exit 1
    }
    passed=$((passed + $(grep -c -E '^\[ +OK ' "$FOLDER.log" || true)))
done
echo "clang: the library, and a plugin that passes $passed tests of the case list"
test "$passed" -ge 2
