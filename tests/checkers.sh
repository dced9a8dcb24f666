#!/usr/bin/env bash
# Runs a checker over the quick suite, or over the sources, and ends with a count.
#
#     tests/checkers.sh asan-clang    address, undefined behaviour and leaks, by clang (tests/run.sh has them by GCC)
#     tests/checkers.sh thread        data races, by GCC: clang's runtime keeps tests from an operator new of their own
#     tests/checkers.sh memory        reads of memory that was never written, by clang
#     tests/checkers.sh memcheck      valgrind: memory that was never written, or is not one's own; leaks
#     tests/checkers.sh helgrind      valgrind: locks and threads, in tests that start no pool of threads; see below
#     tests/checkers.sh tidy          clang-tidy, with the list of .clang-tidy
#     tests/checkers.sh cppcheck      cppcheck; what it takes wrongly is in tests/checkers/cppcheck.txt
#     tests/checkers.sh analyzer      GCC's -fanalyzer over the tests that are C: callers of the API
#     tests/checkers.sh all
#
# With XF_CHECK_ONLY=REGEX only the tests or sources whose name matches. XF_CHECK_SECONDS: for each test (600). Builds
# below build/checkers, without the emulated GPU; XF_CHECK_BUILD=FOLDER is a build that valgrind takes instead (a release
# build runs several times as fast there, and has no line numbers). Needs no terminal. Hours for all: no part of
# tests/run.sh.
#
# Nothing of this project is suppressed in a sanitizer or in valgrind; of RapidJSON its arithmetic on a null pointer is.
# Left out are programs that a checker can't run:
#   api_allocation            takes the place of malloc(), as the checkers do
#   fault_injected, fault_late    (memory) stand between the C library and a program, and hide what it writes
#   hpp                       (memory) C++17, whose std::string is within the C++ library
#   test_cpu_quota, fault_kills, storm_*, soak    (valgrind) kill, fork or signal processes against the clock
#
# The memory sanitizer asks for a program all of which is compiled for it. What libraries write that are not, is told to
# it by tests/checkers/foreign.cpp, function by function, and of OpenBLAS by foreign_blas.cpp; all of this project, the
# kernels of its plugin for each instruction set and the headers of the C++ library are compiled for it.
#
# Helgrind knows locks and not the order of std::atomic, by which the pool of threads hands over its tasks: what it says
# of a program with a pool is of no worth, and thread says it instead.
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

jobs=$(nproc)
only=${XF_CHECK_ONLY-}
seconds=${XF_CHECK_SECONDS:-600}
folder=build/checkers
compiled="-O1 -g1 -DNDEBUG"
# What clang calls undefined, without vptr and function: their runtime is in C++ programs alone.
undefined=alignment,array-bounds,bool,builtin,enum,float-cast-overflow,integer-divide-by-zero,nonnull-attribute,null
undefined+=,object-size,pointer-overflow,return,returns-nonnull-attribute,shift,signed-integer-overflow,unreachable
undefined+=,vla-bound
# Address space as it was before kernels spread it wider than clang 14's runtimes expect.
plain=(setarch "$(uname -m)" -R)

# build NAME CMAKE-OPTION...: the quick suite, in $folder/NAME.
build() {
    local to=$folder/$1
    shift
    mkdir -p "$to"
    # -z muldefs: tests that count memory have their own operator new, and so have clang's runtimes.
    cmake -S . -B "$to" -G Ninja -DXF_CUDA=OFF -DXF_CUDA_HOST=OFF -DXF_MPI=OFF -DXF_BUILD_EXAMPLES=OFF \
        -DXF_PRECOMPILE=ON -DXF_UNITY=ON -DCMAKE_BUILD_TYPE=RelWithDebInfo \
        -DCMAKE_C_FLAGS_RELWITHDEBINFO="$compiled" -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="$compiled" \
        -DCMAKE_EXE_LINKER_FLAGS=-Wl,-z,muldefs "$@" >"$to.log" 2>&1 &&
        python3 tests/checkers/suite.py "$to" --only "$only" --targets >"$to.targets" &&
        xargs ninja -C "$to" -j "$jobs" <"$to.targets" >>"$to.log" 2>&1 || {
        grep -E -A 5 '(error|FAILED):' "$to.log" || tail -n 40 "$to.log"
        echo "checkers: the build failed; all of its output is in $to.log"
        return 1
    }
}

# suite FOLDER [WITHOUT] [-- WRAPPER...]
suite() {
    local built=$1 without=${2:-(?!)}
    shift 2
    python3 tests/checkers/suite.py "$built" --only "$only" --without "api_allocation|$without" \
        --seconds "$seconds" "$@"
}

# sanitized NAME SANITIZERS [FLAG [CMAKE-OPTION...]]
sanitized() {
    build "$1" -DXF_SANITIZE="$2" -DCMAKE_CXX_FLAGS="${3-}" "${@:4}" &&
        suite "$folder/$1" "${without:-(?!)}" -- "${plain[@]}" env LD_PRELOAD="${preload-}"
}

# Tests with an operator new of their own keep it: it asks malloc(), which valgrind takes.
under_valgrind() {
    local tool=$1 built=${XF_CHECK_BUILD:-$folder/valgrind}
    shift
    { [ -n "${XF_CHECK_BUILD-}" ] || build valgrind; } &&
        suite "$built" 'test_cpu_quota|fault_kills|storm_|soak|_cuda' --log "$folder/$tool" -- \
            valgrind -q --tool="$tool" --soname-synonyms=somalloc=nouserintercepts --error-exitcode=99 "$@"
}

# Those that need no MPI and no NCCL.
sources() { git ls-files 'lib/*.cpp' 'cpu/*.cpp' | grep -v -E 'lib/comm/(mpi|nccl)' | grep -E -- "$only"; }

tidy() {
    local list=$folder/tidy.list log=$folder/tidy.log found
    # Not as one file a folder, and by the compiler whose warnings clang-tidy knows.
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
        --suppressions-list=tests/checkers/cppcheck.txt \
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
    # Of what a test asks of malloc() or fopen() it takes for granted that it gets it.
    local granted
    granted="-Wno-analyzer-possible-null-argument -Wno-analyzer-possible-null-dereference"
    while read -r file; do
        count=$((count + 1))
        # shellcheck disable=SC2086 # several words
        gcc -std=c11 -D_GNU_SOURCE -O1 -fanalyzer $granted -Iinclude -I"$folder/analyzer/include" -Itests \
            -Itests/api -Itests/hosts -DXF_TEST_PLUGIN='""' -DXF_TEST_LIBRARY='""' -DXF_TEST_FOLDERS='""' \
            -c "$file" -o /dev/null 2>>"$log" || echo "error: $file" >>"$log"
    done < <(git ls-files 'tests/api/*.c' 'tests/fault/*.c' 'tests/hosts/*.c' 'tests/soak/*.c' 'tests/storms/*.c' |
        grep -v strange.c | grep -E -- "$only") # strange.c includes what the build writes
    found=$(grep -cE '(\[-Wanalyzer|error: )' "$log" || true)
    grep -E '(\[-Wanalyzer|error: )' "$log" || true
    echo "$count sources, $found findings"
    [ "$found" = 0 ]
}

run() {
    case $1 in
        asan-clang)
            ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 \
                CC=clang CXX=clang++ sanitized asan-clang "address,$undefined" -fsanitize-ignorelist="$PWD/tests/fuzz/ignore.txt"
            ;;
        thread) TSAN_OPTIONS=allocator_may_return_null=1 sanitized thread thread ;;
        memory)
            # Programs are linked as those of C, without the runtime's operator new, which would keep tests from having
            # their own.
            local preload=$PWD/$folder/foreign.so without='fault_injected|fault_late|^hpp$'
            local program="clang <FLAGS> <CMAKE_CXX_LINK_FLAGS> <LINK_FLAGS> <OBJECTS> -o <TARGET> <LINK_LIBRARIES>"
            clang++ -std=c++20 -O1 -fPIC -shared tests/checkers/foreign.cpp -o "$preload" &&
                MSAN_OPTIONS=allocator_may_return_null=1 CC=clang CXX=clang++ \
                    sanitized memory memory "" -DCMAKE_CXX_LINK_EXECUTABLE="$program -lstdc++ -lm"
            ;;
        memcheck)
            under_valgrind memcheck --leak-check=full --show-leak-kinds=definite,indirect \
                --errors-for-leak-kinds=definite,indirect
            ;;
        helgrind)
            only='^test_(checked|comm|data_shuffle)$'
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
        echo "checkers.sh: '$what' is none of ${checkers[*]}, all" >&2
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
