#!/usr/bin/env bash
# Builds the library and the openblas plugin with clang and warnings as errors. Then runs the case list on that plugin
# and the fuzzers (tests/harness/fuzz) on the library, for 3 seconds each. GCC accepts code that clang rejects, and vice
# versa; with both compilers, the sources remain standard C and C++.
#
#     SOURCE=... FOLDER=... GENERATOR=... CMAKE=... BACKEND_OPS=... clang.sh
#
# Builds in FOLDER, which remains: a second run compiles only changes. Exits with 77 if clang++ is not installed. The
# core is built for the fuzzers, with sanitizers and -O1; the plugin without, because its kernels are compared with ref.
# The fuzzers take eleven times XF_FUZZ_SECONDS (3) of processor time. Without libFuzzer they are skipped.
#
# The fuzzers check for undefined behavior except null pointers, misaligned pointers, and object sizes. These checks apply
# to each access and take a quarter of the compile time; the sanitizer build does them on all stored inputs, and
# tests/harness/fuzz/run.sh on new ones.
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail

if ! command -v clang++ >/dev/null || ! command -v clang >/dev/null; then
    echo "clang: not tested: clang++ is not installed (Debian: clang)"
    exit 77
fi
clang++ --version | head -n 1
fuzz=OFF
if printf '#include <cstdint>\n#include <cstddef>\nextern "C" int LLVMFuzzerTestOneInput(const uint8_t *, size_t) { return 0; }\n' |
    clang++ -x c++ -fsanitize=fuzzer - -o "$FOLDER.probe" 2>/dev/null; then fuzz=ON; fi
undefined=array-bounds,bool,builtin,enum,float-cast-overflow,integer-divide-by-zero,nonnull-attribute,pointer-overflow
undefined+=,return,returns-nonnull-attribute,shift,signed-integer-overflow,unreachable,vla-bound
"$CMAKE" -S "$SOURCE" -B "$FOLDER" -G "$GENERATOR" -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ \
    -DCMAKE_BUILD_TYPE=None -DXF_WERROR=ON -DXF_CUDA=OFF -DXF_BUILD_TESTS=OFF -DXF_BUILD_EXAMPLES=OFF -DXF_INSTALL=OFF \
    -DXF_PRECOMPILE=ON -DXF_UNITY=ON -DXF_FUZZ=$fuzz -DXF_FUZZ_UNDEFINED=$undefined >"$FOLDER.log" 2>&1 || {
    cat "$FOLDER.log"
    exit 1
}
"$CMAKE" --build "$FOLDER" -j 1 >"$FOLDER.log" 2>&1 || {
    grep -E -A 5 '(error|warning):' "$FOLDER.log" || tail -n 40 "$FOLDER.log"
    exit 1
}
# Compares every case with ref, and AVX2 with AVX-512: a compiler can change these. The other checks test the source.
passed=0
for check in parity instructions; do
    XF_TEST_PLUGINS="$FOLDER/lib/libxformer_openblas.so" "$BACKEND_OPS" "openblas/*$check" >"$FOLDER.log" 2>&1 || {
        grep -v -E '^\[ +(RUN|OK) ' "$FOLDER.log"
        exit 1
    }
    passed=$((passed + $(grep -c -E '^\[ +OK ' "$FOLDER.log" || true)))
done
if [ $fuzz = ON ]; then
    # Findings remain in the folder.
    mkdir -p "$FOLDER/findings"
    # shellcheck disable=SC2016 # expanded by the inner shell
    (cd "$FOLDER/tests/harness/fuzz/corpus" && ls -d -- */ | tr -d /) |
        xargs -I '{}' env ASAN_OPTIONS=quarantine_size_mb=16 bash -c '
            mkdir -p "$1/found/$2" # new inputs are written here, not to the sources
            "$1/bin/fuzz_$2" -max_total_time="$3" -timeout=20 -malloc_limit_mb=256 -verbosity=1 \
                -artifact_prefix="$1/findings/$2-" "$1/found/$2" "$4/$2" \
                >"$1/findings/$2.log" 2>&1 ||
                { grep -v "^#" "$1/findings/$2.log" | tail -n 60; echo "clang: fuzz_$2 has a finding in $1/findings"; exit 1; }
        ' fuzz "$FOLDER" '{}' "${XF_FUZZ_SECONDS:-3}" "$FOLDER/tests/harness/fuzz/corpus"
    echo "clang: $(grep -h '^Done ' "$FOLDER"/findings/*.log | awk '{ n += $2 } END { print n }') inputs fuzzed"
else
    echo "clang: not fuzzed: libFuzzer is not installed (Debian: libclang-rt-14-dev)"
fi
echo "clang: the library, and a plugin that passes $passed tests of the case list"
test "$passed" -ge 2
