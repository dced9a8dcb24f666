#!/usr/bin/env bash
# Builds everything and runs all tests: once as released, once under the address and undefined-behaviour sanitizers.
#
#     tests/run.sh            all
#     tests/run.sh release    the release build alone
#     tests/run.sh sanitize   the sanitizer build alone
#     tests/run.sh docs       the documentation alone
#
# Installs what is missing (tests/packages.sh), needs no terminal, and ends with a count. Fuzzing, soak tests and
# benchmarks are commands of their own; see CONTRIBUTING.md.
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

what=${1:-all}
case "$what" in
    all | release | sanitize | docs) ;;
    *)
        echo "run.sh: '$what' is none of all, release, sanitize, docs" >&2
        exit 2
        ;;
esac

jobs=$(nproc)
passed=0
failed=0
skipped=0

# Tests are linked by a second linker, where binutils has it, in half the time; libraries by the usual one.
linker=
if command -v ld.gold >/dev/null; then linker=gold; fi

building=0
testing=0
before=0

# spend NAME: adds the processor seconds since the last call to the variable of this name.
spend() {
    local now
    mkdir -p build
    times >build/times # not in a substitution: there it would count nothing
    now=$(awk 'NR == 2 { gsub(/[ms]/, " "); print int($1 * 60 + $2 + $3 * 60 + $4) }' build/times)
    printf -v "$1" %d $((${!1} + now - before))
    before=$now
}

say() { printf '\n== %s\n' "$*"; }

# build FOLDER CMAKE-OPTION...: configures and compiles with warnings as errors.
build() {
    local folder=$1
    shift
    mkdir -p "$folder"
    cmake -S . -B "$folder" -G Ninja -DXF_WERROR=ON -DXF_TEST_LINKER=$linker "$@" >"$folder.log" 2>&1 &&
        cmake --build "$folder" -j "$jobs" >>"$folder.log" 2>&1 || {
        tail -n 60 "$folder.log" >&2
        echo "run.sh: the build failed; all of its output is in $folder.log" >&2
        echo "tests: 0 passed, 1 failed"
        exit 1
    }
    spend building
}

# count_tests FOLDER CTEST-OPTION...: runs ctest and adds to the totals.
count_tests() {
    local folder=$1 log=$1/ctest.log line bad total absent
    shift
    ctest --test-dir "$folder" --output-on-failure -j "$jobs" "$@" 2>&1 | tee "$log" || true
    spend testing
    line=$(grep -E '^[0-9]+% tests passed, [0-9]+ tests? failed out of [0-9]+' "$log" || true)
    if [ -z "$line" ]; then
        echo "run.sh: ctest ran no test in $folder" >&2
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
    # Where Debian has its libraries: tests/package makes packages of this build.
    # The C++ library is read once. That each file includes what it needs is proven by the build of CONTRIBUTING.md, and
    # by tests/checkers.sh tidy.
    build build/release -DCMAKE_BUILD_TYPE=Release -DXF_CUDA_ARCHITECTURES=90-real -DXF_PRECOMPILE=ON -DXF_UNITY=CUDA \
        -DCMAKE_INSTALL_LIBDIR="lib/$(c++ -print-multiarch)"
    count_tests build/release
fi

if [ "$what" = all ] || [ "$what" = sanitize ]; then
    say "Build with the address and undefined-behaviour sanitizers"
    # At -Og the core takes from a fifth to two fifths less to compile than at -O1, and the kernels half; what decodes and
    # trains in the tests takes the same time. With lines alone, the C++ library read once, each folder as one file.
    flags="-Og -g1 -DNDEBUG"
    build build/sanitize -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_C_FLAGS_RELWITHDEBINFO="$flags" \
        -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="$flags" -DXF_SANITIZE=address,undefined -DXF_PRECOMPILE=ON -DXF_UNITY=ON \
        -DXF_BUILD_EXAMPLES=OFF -DXF_CUDA=OFF -DXF_WERROR=OFF # GCC warns of what isn't there under sanitizers
    # Tests labelled slow prove speed or take minutes under a sanitizer, those labelled sources run nothing that is
    # compiled here; they ran above.
    ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 \
        count_tests build/sanitize -LE 'slow|sources'
fi

if [ "$what" = all ] || [ "$what" = docs ]; then
    say "Documentation"
    if docs/build.sh build/docs; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
    spend building
fi

echo
# Together they are to stay below 30: see CONTRIBUTING.md.
awk "BEGIN { printf \"processor minutes: %.1f to build, %.1f to test\\n\", $building / 60, $testing / 60 }"
counts="$passed passed, $failed failed"
if [ "$skipped" -gt 0 ]; then counts+=", $skipped skipped"; fi # named above, each with what it lacks
echo "tests: $counts"
[ "$failed" -eq 0 ]
