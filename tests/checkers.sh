#!/usr/bin/env bash
# Runs a checker over the quick suite, or over the sources, and ends with a count.
#
#     tests/checkers.sh asan-clang    address, undefined behavior, and leaks, with clang (tests/run.sh does it with GCC)
#     tests/checkers.sh thread        data races, with GCC: with clang, tests cannot replace operator new
#     tests/checkers.sh memory        reads of uninitialized memory, with clang
#     tests/checkers.sh memcheck      valgrind: invalid or uninitialized memory; leaks
#     tests/checkers.sh helgrind      valgrind: locks and threads, in tests without a thread pool; see below
#     tests/checkers.sh tidy          clang-tidy, with the list of .clang-tidy
#     tests/checkers.sh cppcheck      cppcheck; tests/harness/checkers/cppcheck.txt lists its false positives
#     tests/checkers.sh analyzer      GCC's -fanalyzer over the tests in C, which call the API
#     tests/checkers.sh all
#
# XF_CHECK_ONLY=REGEX selects tests or sources by name. XF_CHECK_SECONDS is the limit of each test (600). Builds are
# below build/checkers, without the emulated GPU; XF_CHECK_BUILD=FOLDER selects another build for valgrind (a release
# build runs several times faster and has no line numbers). Needs no terminal. Not part of tests/run.sh, because all
# checkers together take hours.
#
# No report about this project is suppressed; for RapidJSON, arithmetic on a null pointer is. Programs that a checker
# cannot run are skipped:
#   api_allocation            replaces malloc(), as the checkers do
#   fault_injected, fault_late    (memory) interpose the C library and hide its writes
#   hpp                       (memory) uses C++17, where std::string is compiled into the C++ library
#   unit_core_cpu_quota, fault_kills, storm_*, soak    (valgrind) kill, fork, or signal processes within time limits
#
# The memory sanitizer requires that the whole program is instrumented. This project, the kernels of its plugin for each
# instruction set, and the headers of the C++ library are. For other libraries tests/harness/checkers/foreign.cpp marks the
# memory that each function writes, and foreign_blas.cpp does so for OpenBLAS.
#
# The thread pool passes tasks with std::atomic, whose ordering helgrind does not know. Its reports about programs with
# a pool are therefore useless; the checker "thread" covers them.
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

jobs=$(nproc)
only=${XF_CHECK_ONLY-}
seconds=${XF_CHECK_SECONDS:-600}
folder=build/checkers
compiled="-O1 -g1 -DNDEBUG"
# clang's checks for undefined behavior, except vptr and function, whose runtime exists only in C++ programs.
undefined=alignment,array-bounds,bool,builtin,enum,float-cast-overflow,integer-divide-by-zero,nonnull-attribute,null
undefined+=,object-size,pointer-overflow,return,returns-nonnull-attribute,shift,signed-integer-overflow,unreachable
undefined+=,vla-bound
# Without address space randomization: newer kernels use more bits than the runtimes of clang 14 expect.
plain=(setarch "$(uname -m)" -R)

# build NAME CMAKE-OPTION...: the quick suite, in $folder/NAME.
build() {
    local to=$folder/$1
    shift
    mkdir -p "$to"
    # -z muldefs: tests that count memory define operator new, and so do clang's runtimes.
    cmake -S . -B "$to" -G Ninja -DXF_CUDA=OFF -DXF_CUDA_HOST=OFF -DXF_MPI=OFF -DXF_BUILD_EXAMPLES=OFF \
        -DXF_PRECOMPILE=ON -DXF_UNITY=ON -DCMAKE_BUILD_TYPE=RelWithDebInfo \
        -DCMAKE_C_FLAGS_RELWITHDEBINFO="$compiled" -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="$compiled" \
        -DCMAKE_EXE_LINKER_FLAGS=-Wl,-z,muldefs "$@" >"$to.log" 2>&1 &&
        python3 tests/harness/checkers/suite.py "$to" --only "$only" --targets >"$to.targets" &&
        xargs ninja -C "$to" -j "$jobs" <"$to.targets" >>"$to.log" 2>&1 || {
        grep -E -A 5 '(error|FAILED):' "$to.log" || tail -n 40 "$to.log"
        echo "checkers: the build failed; its complete output is in $to.log"
        return 1
    }
}

# suite FOLDER [WITHOUT] [-- WRAPPER...]
suite() {
    local built=$1 without=${2:-(?!)}
    shift 2
    python3 tests/harness/checkers/suite.py "$built" --only "$only" --without "api_allocation|$without" \
        --seconds "$seconds" "$@"
}

# sanitized NAME SANITIZERS [FLAG [CMAKE-OPTION...]]
sanitized() {
    build "$1" -DXF_SANITIZE="$2" -DCMAKE_CXX_FLAGS="${3-}" "${@:4}" &&
        suite "$folder/$1" "${without:-(?!)}" -- "${plain[@]}" env LD_PRELOAD="${preload-}"
}

# Valgrind replaces malloc(), which the operator new of tests that replace it calls.
under_valgrind() {
    local tool=$1 built=${XF_CHECK_BUILD:-$folder/valgrind}
    shift
    { [ -n "${XF_CHECK_BUILD-}" ] || build valgrind; } &&
        suite "$built" 'unit_core_cpu_quota|fault_kills|storm_|soak|_cuda' --log "$folder/$tool" -- \
            valgrind -q --tool="$tool" --soname-synonyms=somalloc=nouserintercepts --error-exitcode=99 "$@"
}

# Sources that do not need MPI.
sources() { git ls-files 'lib/*.cpp' 'cpu/*.cpp' | grep -v -E 'lib/comm/mpi' | grep -E -- "$only"; }

tidy() {
    local list=$folder/tidy.list log=$folder/tidy.log found
    # Without unity builds, and with the compiler whose warnings clang-tidy knows.
    CC=clang CXX=clang++ cmake -S . -B "$folder/tidy" -G Ninja -DXF_CUDA=OFF -DXF_CUDA_HOST=OFF -DXF_BUILD_TESTS=OFF \
        -DXF_BUILD_EXAMPLES=OFF >"$folder/tidy.cmake.log"
    sources >"$list"
    xargs -P "$jobs" -n 4 clang-tidy-14 -p "$folder/tidy" --quiet <"$list" >"$log" 2>/dev/null || true
    found=$(grep -E '(warning|error): .*\[' "$log" | sort -u | tee /dev/stderr | wc -l)
    echo "$(wc -l <"$list") sources, $found findings"
    [ "$found" = 0 ]
}

cppchecked() {
    local log=$folder/cppcheck.log found
    sources >"$folder/cppcheck.list"
    cppcheck -q -j "$jobs" --enable=warning,performance,portability --std=c++20 --language=c++ \
        --suppressions-list=tests/harness/checkers/cppcheck.txt \
        -Iinclude -Ilib -Icpu --file-list="$folder/cppcheck.list" >"$log" 2>&1 || {
        cat "$log"
        return 1
    }
    found=$(grep -cE ': (error|warning|performance|portability): ' "$log" || true)
    cat "$log"
    echo "$(wc -l <"$folder/cppcheck.list") sources, $found findings"
    [ "$found" = 0 ]
}

analyzed() {
    local log=$folder/analyzer.log file count=0 found
    cmake -S . -B "$folder/analyzer" -G Ninja -DXF_CUDA=OFF -DXF_CUDA_HOST=OFF -DXF_BUILD_EXAMPLES=OFF \
        >"$folder/analyzer.cmake.log" # for version.h and the like
    : >"$log"
    # Tests do not check the results of malloc() and fopen().
    local granted
    granted="-Wno-analyzer-possible-null-argument -Wno-analyzer-possible-null-dereference"
    while read -r file; do
        count=$((count + 1))
        # shellcheck disable=SC2086 # several words
        gcc -std=c11 -D_GNU_SOURCE -O1 -fanalyzer $granted -Iinclude -I"$folder/analyzer/include" -Itests \
            -Itests/surfaces/api -Itests/surfaces/hosts -DXF_TEST_PLUGIN='""' -DXF_TEST_LIBRARY='""' -DXF_TEST_FOLDERS='""' \
            -c "$file" -o /dev/null 2>>"$log" || echo "error: $file" >>"$log"
    done < <(git ls-files 'tests/surfaces/api/*.c' 'tests/harness/fault/*.c' 'tests/surfaces/hosts/*.c' 'tests/harness/soak/*.c' 'tests/harness/storms/*.c' |
        grep -v strange.c | grep -E -- "$only") # strange.c includes a generated file
    found=$(grep -cE '(\[-Wanalyzer|error: )' "$log" || true)
    grep -E '(\[-Wanalyzer|error: )' "$log" || true
    echo "$count sources, $found findings"
    [ "$found" = 0 ]
}

run() {
    case $1 in
        asan-clang)
            ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 \
                CC=clang CXX=clang++ sanitized asan-clang "address,$undefined" -fsanitize-ignorelist="$PWD/tests/harness/fuzz/ignore.txt"
            ;;
        thread) TSAN_OPTIONS=allocator_may_return_null=1 sanitized thread thread ;;
        memory)
            # Linked as C programs, without the operator new of the runtime, which tests could not replace.
            local preload=$PWD/$folder/foreign.so without='fault_injected|fault_late|^hpp$'
            local program="clang <FLAGS> <CMAKE_CXX_LINK_FLAGS> <LINK_FLAGS> <OBJECTS> -o <TARGET> <LINK_LIBRARIES>"
            clang++ -std=c++20 -O1 -fPIC -shared tests/harness/checkers/foreign.cpp -o "$preload" &&
                MSAN_OPTIONS=allocator_may_return_null=1 CC=clang CXX=clang++ \
                    sanitized memory memory "" -DCMAKE_CXX_LINK_EXECUTABLE="$program -lstdc++ -lm"
            ;;
        memcheck)
            under_valgrind memcheck --leak-check=full --show-leak-kinds=definite,indirect \
                --errors-for-leak-kinds=definite,indirect
            ;;
        helgrind)
            only='^unit_(core_checked|comm_comm|data_shuffle)$'
            under_valgrind helgrind
            ;;
        tidy) tidy ;;
        cppcheck) cppchecked ;;
        analyzer) analyzed ;;
    esac
}

checkers=(tidy cppcheck analyzer asan-clang thread memory memcheck helgrind)
what=${1-}
case $what in
    all) ;;
    asan-clang | thread | memory | memcheck | helgrind | tidy | cppcheck | analyzer) checkers=("$what") ;;
    *)
        echo "checkers.sh: unknown checker '$what', expected one of ${checkers[*]}, all" >&2
        exit 2
        ;;
esac
tests/packages.sh checkers
mkdir -p "$folder"
failed=()
for checker in "${checkers[@]}"; do
    printf '\n== %s\n' "$checker"
    run "$checker" || failed+=("$checker")
done
echo
echo "checkers: ${#checkers[@]} run, ${#failed[@]} with findings: ${failed[*]:-none}"
[ ${#failed[@]} -eq 0 ]
