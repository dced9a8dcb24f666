#!/usr/bin/env bash
# Builds everything and runs all tests: in a release build, and with the address and undefined-behavior sanitizers.
#
#     tests/run.sh            all
#     tests/run.sh release    only the release build
#     tests/run.sh sanitize   only the sanitizer build
#     tests/run.sh docs       only the documentation
#
# Installs missing packages (tests/packages.sh), needs no terminal, and ends with a count. Fuzzing, soak tests, and
# benchmarks are separate commands; see CONTRIBUTING.md.
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

what=${1:-all}
case "$what" in
    all | release | sanitize | docs) ;;
    *)
        echo "run.sh: unknown argument '$what', expected all, release, sanitize, or docs" >&2
        exit 2
        ;;
esac

jobs=$(nproc)
passed=0
failed=0
skipped=0

# If gold is installed, it links the tests, in half the time; libraries use the default linker.
linker=
if command -v ld.gold >/dev/null; then linker=gold; fi

building=0
testing=0
before=0

# spend NAME: adds the processor seconds since the last call to the variable NAME.
spend() {
    local now
    mkdir -p build
    times >build/times # not in a command substitution, which would count only itself
    now=$(awk 'NR == 2 { gsub(/[ms]/, " "); print int($1 * 60 + $2 + $3 * 60 + $4) }' build/times)
    printf -v "$1" %d $((${!1} + now - before))
    before=$now
}

say() { printf '\n== %s\n' "$*"; }

# build FOLDER CMAKE-OPTION...: configures and compiles with -Werror.
build() {
    local folder=$1
    shift
    mkdir -p "$folder"
    cmake -S . -B "$folder" -G Ninja -DXF_WERROR=ON -DXF_TEST_LINKER=$linker "$@" >"$folder.log" 2>&1 &&
        cmake --build "$folder" -j "$jobs" >>"$folder.log" 2>&1 || {
        tail -n 60 "$folder.log" >&2
        echo "run.sh: the build failed; its complete output is in $folder.log" >&2
        echo "tests: 0 passed, 1 failed"
        exit 1
    }
    spend building
}

# count_tests FOLDER CTEST-OPTION...: runs ctest and adds the counts to the totals.
count_tests() {
    local folder=$1 log=$1/ctest.log line bad total absent
    shift
    ctest --test-dir "$folder" --output-on-failure -j "$jobs" "$@" 2>&1 | tee "$log" || true
    spend testing
    line=$(grep -E '^[0-9]+% tests passed, [0-9]+ tests? failed out of [0-9]+' "$log" || true)
    if [ -z "$line" ]; then
        echo "run.sh: ctest did not run any test in $folder" >&2
        failed=$((failed + 1))
        return
    fi
    bad=$(sed -E 's/.*passed, ([0-9]+) tests? failed.*/\1/' <<<"$line")
    total=$(sed -E 's/.*out of ([0-9]+).*/\1/' <<<"$line")
    absent=$(grep -cE '^[[:space:]]+[0-9]+ - .* \(Skipped\)' "$log" || true) # ctest counts them as passed
    passed=$((passed + total - bad - absent))
    failed=$((failed + bad))
    skipped=$((skipped + absent))
}

tests/packages.sh test

if [ "$what" = all ] || [ "$what" = release ]; then
    say "Release build"
    # The library folder is that of Debian, because tests/surfaces/package makes packages of this build. The headers of
    # the C++ library are precompiled, and each folder is one file. The build of CONTRIBUTING.md, which compiles each file
    # separately, and tests/checkers.sh tidy find missing includes.
    build build/release -DCMAKE_BUILD_TYPE=Release -DXF_CUDA_ARCHITECTURES=90-real -DXF_PRECOMPILE=ON -DXF_UNITY=ON \
        -DCMAKE_INSTALL_LIBDIR="lib/$(c++ -print-multiarch)"
    count_tests build/release
fi

if [ "$what" = all ] || [ "$what" = sanitize ]; then
    say "Build with the address and undefined-behaviour sanitizers"
    # With -Og the core compiles in 60 to 80 % of the time of -O1, and the kernels in half; the tests take the same time.
    # Line tables only, precompiled headers, and each folder as one file also save time.
    flags="-Og -g1 -DNDEBUG"
    build build/sanitize -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_C_FLAGS_RELWITHDEBINFO="$flags" \
        -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="$flags" -DXF_SANITIZE=address,undefined -DXF_PRECOMPILE=ON -DXF_UNITY=ON \
        -DXF_BUILD_EXAMPLES=OFF -DXF_CUDA=OFF -DXF_WERROR=OFF # GCC prints false warnings with sanitizers
    # Tests labelled slow measure speed or take minutes with a sanitizer; those labelled sources do not depend on the build.
    # Both ran above.
    ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 \
        count_tests build/sanitize -LE 'slow|sources'
fi

if [ "$what" = all ] || [ "$what" = docs ]; then
    say "Documentation"
    if docs/build.sh build/docs; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
    spend building
fi

echo
# The limit of their sum is 30: see CONTRIBUTING.md.
awk "BEGIN { printf \"processor minutes: %.1f to build, %.1f to test\\n\", $building / 60, $testing / 60 }"
counts="$passed passed, $failed failed"
if [ "$skipped" -gt 0 ]; then counts+=", $skipped skipped"; fi # the output above names each and its missing tool
echo "tests: $counts"
[ "$failed" -eq 0 ]
