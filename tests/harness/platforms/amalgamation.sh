#!/usr/bin/env bash
# Writes the amalgamation (lib/amalgamation), compiles it as its README describes, and compares results.
#
#     tests/platforms.sh amalgamation [STAGE]...
#
#     quick     with the installed utf8proc, by clang if it is installed; only the kernels are optimized. Translations,
#               and the bits of every instruction set of this processor, with fewer sentences; ctest runs this stage
#     gcc, clang, libc++, musl-x86_64, musl-aarch64
#               translations, and the bits of every instruction set of this processor. libc++ is that of Debian
#               (libc++-14-dev libc++abi-14-dev). musl is that of zig (PyPI: ziglang); musl-aarch64 runs in
#               qemu-user-static and compares fewer bits.
#     sanitize  with AddressSanitizer and UndefinedBehaviorSanitizer
#     shared    the functions that a shared library exports, and the names in a static one
#     conan     the recipe, with Conan 2 (PyPI: conan)
#     vcpkg     the port, with the CMake scripts of vcpkg's repository, a copy of which is XF_VCPKG. They run as its
#               program runs them, but the program itself, which is not in the repository, does not run.
#
# Without an argument, runs all stages except quick, and vcpkg only if XF_VCPKG is set. They need the sources of
# utf8proc in XF_SOURCES (default: build/platforms/sources): cd build/platforms/sources && apt-get source utf8proc
#
# XF_PYTHON is the Python that has the packages of PyPI (python3).
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
root=$PWD
stages=("$@")
[ $# -gt 0 ] || stages=(gcc clang libc++ musl-x86_64 musl-aarch64 sanitize shared conan ${XF_VCPKG:+vcpkg})
python=${XF_PYTHON:-python3}
build=$root/build/platforms/amalgamation
skip() { echo "platforms.sh: $*; see tests/harness/platforms/amalgamation.sh" >&2; exit 77; }
fail() { echo "platforms.sh: amalgamation: $*" >&2; exit 1; }

if [ "${stages[0]}" = quick ]; then
    build=$build-quick utf8proc=system
    [ -e /usr/include/rapidjson/reader.h ] || skip "the Debian package rapidjson-dev is missing"
else
    utf8proc=$(echo "${XF_SOURCES:-$root/build/platforms/sources}"/utf8proc-*/)
    [ -e "$utf8proc/utf8proc.c" ] || skip "the sources of utf8proc are missing"
fi
mkdir -p "$build"
cd "$build"
rm -rf xformer-amalgamation*
# The same bytes, also in a checkout with another umask.
python3 "$root/lib/amalgamation/amalgamate.py" xformer-amalgamation.tar.gz --utf8proc "$utf8proc"
(umask 077 && TZ=Asia/Tokyo python3 "$root/lib/amalgamation/amalgamate.py" second.tar.gz --utf8proc "$utf8proc")
cmp xformer-amalgamation.tar.gz second.tar.gz
tar xf xformer-amalgamation.tar.gz
sources=$(echo "$build"/xformer-amalgamation-*.?.?)
model=$root/examples/translate/en-de.xf

# compile FOLDER COMMAND...: compiles all sources into the folder, two at a time, and the kernels also with the options
# in kernel_options.
kernel_options=
compile() {
    local folder=$1 name options
    shift
    mkdir -p "$folder"
    for name in xformer xformer_{base,ref,avx2,avx512,neon,int8_dot,int8_i8mm}; do
        options=$kernel_options
        case $name in xformer | xformer_ref) options= ;; esac
        echo "$folder/$name.o" "${sources##*/}/$name.cpp" $options # a blank at the end would join two lines
    done | xargs -P "$(nproc)" -L 1 "$@" -std=c++20 -pthread -Wall -Wextra -Werror -I"$sources" -c -o
    # A file that this list lacks would not be compiled.
    [ "$(ls "$sources"/*.cpp | wc -l)" = "$(ls "$folder"/xformer*.o | wc -l)" ] || fail "$sources has other files"
}

# translates COMMAND...: the sentences of the guides.
translates() {
    local english german found
    while IFS='|' read -r english german; do
        found=$("$@" "$model" "$english")
        [ "$found" = "$german" ] || fail "$1 translates '$english' as '$found', expected '$german'"
    done <<'END'
Choose File - Save.|Wählen Sie Datei – Speichern.
The file could not be found.|Die Datei konnte nicht gefunden werden.
Do you want to save the changes?|Möchten Sie die Änderungen speichern?
The password is wrong.|Das Passwort ist falsch.
END
}

# bits PROGRAM... -- ARGUMENT...: compares hashes, those of "base" with its own file.
bits() {
    local command=() expected=$root/tests/golden/bits.txt
    while [ "$1" != -- ]; do command+=("$1") && shift; done
    shift
    if [ "${1-}" = base ]; then expected=$root/tests/golden/bits_base.txt; fi
    local status=0
    "${command[@]}" "$model" "$root/examples/translate/data/small.test.tsv" "$expected" "$@" >bits.log || status=$?
    [ $status = 0 ] || [ $status = 77 ] || { cat bits.log; fail "${command[*]}: other bits"; }
    echo "$* $(tail -n 1 bits.log)"
}

# programs FOLDER COMPILER-C... -- LINK-OPTION...: the example and the program that compares bits, in C.
programs() {
    local folder=$1 command=()
    shift
    while [ "$1" != -- ]; do command+=("$1") && shift; done
    shift
    "${command[@]}" -I"$sources" "$sources/example.c" "$folder"/*.o -o "$folder/example" "$@"
    "${command[@]}" -std=c11 -I"$sources" "$root/tests/golden/bits.c" "$folder"/*.o -o "$folder/bits" "$@"
}

stage() {
    local link=(-pthread -lstdc++ -lm) zig=("$python" -m ziglang) triple program name isa
    case $1 in
        quick)
            local cc=${CC:-cc} cxx=${CXX:-c++}
            if command -v clang++ >/dev/null; then cc=clang cxx=clang++; fi # in half the time of GCC
            kernel_options=-O2 # a compiler may change bits only when it optimizes
            compile "$1" "$cxx" -O0 -Wpedantic
            programs "$1" "$cc" -- "${link[@]}" -lutf8proc
            translates "$1/example"
            for isa in base avx2 avx512 avx512vnni neon; do bits "$1/bits" -- $isa few; done | tee "$1/tested"
            local least=1 # base
            if grep -qw avx2 /proc/cpuinfo; then least=2; fi
            [ "$(grep -c ' 1 instruction sets, 0 hashes differ' "$1/tested")" -ge $least ] || fail "too few were tested"
            # Two files that are not part of the amalgamation.
            "$cxx" -std=c++20 -fsyntax-only -Wall -Wextra -Wpedantic -Wshadow -Werror -I"$root/include" -I"$root/lib" \
                -I"$root/cpu" "$root"/cpu/openblas/{confine,blas}.cpp
            "$cxx" --version | head -n 1
            ;;
        gcc | clang | libc++)
            local cc=gcc cxx=(g++) extra=()
            if [ "$1" != gcc ]; then cc=clang cxx=(clang++); fi
            command -v "${cxx[0]}" >/dev/null || skip "${cxx[0]} was not found"
            if [ "$1" = libc++ ]; then
                cxx+=(-stdlib=libc++) link=(-pthread -lc++ -lc++abi -lm)
                [ -e /usr/lib/llvm-14/include/c++/v1/string ] || skip "libc++-14-dev is missing"
            fi
            compile "$1" "${cxx[@]}" -O2
            programs "$1" $cc -- "${link[@]}"
            translates "$1/example"
            bits "$1/bits" --
            bits "$1/bits" -- base
            ;;
        musl-*)
            triple=${1#musl-}-linux-musl
            "${zig[@]}" version >/dev/null 2>&1 || skip "zig was not found"
            compile "$1" "${zig[@]}" c++ -target "$triple" -O2
            # C++, because zig adds its C++ library only to a program that is linked by c++.
            mkdir -p "$1/c"
            for program in "$sources/example.c" "$root/tests/golden/bits.c"; do
                name=$(basename "$program" .c)
                "${zig[@]}" cc -target "$triple" -I"$sources" -c "$program" -o "$1/c/$name.o"
                "${zig[@]}" c++ -target "$triple" "$1/c/$name.o" "$1"/*.o -o "$1/$name"
            done
            if [ "$1" = musl-aarch64 ]; then
                command -v qemu-aarch64-static >/dev/null || skip "qemu-user-static is missing"
                for isa in neon neon-dot neon-i8mm; do bits qemu-aarch64-static -cpu max "$1/bits" -- $isa few; done
                # No ARMv8.2: an instruction of a newer processor would end the program.
                bits qemu-aarch64-static -cpu cortex-a72 "$1/bits" -- neon few
                return
            fi
            translates "$1/example"
            bits "$1/bits" --
            bits "$1/bits" -- base
            ;;
        sanitize)
            # With clang, because GCC takes several times longer. RapidJSON does arithmetic on null pointers.
            local checks=(-fsanitize=address,undefined -fno-sanitize=pointer-overflow -fno-sanitize-recover=all -O0 -g1)
            command -v clang++ >/dev/null || skip "clang++ was not found"
            compile "$1" clang++ "${checks[@]}"
            programs "$1" clang "${checks[@]}" -- -fsanitize-link-c++-runtime "${link[@]}"
            translates "$1/example"
            bits "$1/bits" -- auto few
            bits "$1/bits" -- base few
            ;;
        shared)
            compile "$1" g++ -O0 -fPIC -fvisibility=hidden
            g++ -shared "$1"/*.o -o "$1/libxformer.so" -pthread -Wl,--version-script="$sources/xformer.map" -Wl,-z,defs
            diff <(sed -nE 's/^ +(xf_\w+);$/\1/p' "$root/lib/xformer.map") \
                <(nm -D --defined-only "$1/libxformer.so" | sed -nE 's/^.* T (\w+)@@.*$/\1/p') ||
                fail "the exported functions differ from lib/xformer.map"
            # Names that could conflict with those of a program: all except the API, classes of handles (xf_model::...),
            # the namespace xf, and what the C++ library defines in every object.
            nm --defined-only --extern-only "$1"/*.o | sed -nE 's/^[0-9a-f]+ [A-Z] (.*)$/\1/p' |
                grep -vE '^xf_|[0-9]xf_[a-z]|2xf|^_Z[A-Z]*(S[a-z]|9__gnu)|^_Z(nwmPv|dlPvS_)$|^DW\.ref\.' >"$1/names" || true
            [ ! -s "$1/names" ] || { cat "$1/names"; fail "these names are outside the namespace xf"; }
            gcc -I"$sources" "$sources/example.c" -L"$1" -lxformer -Wl,-rpath,"$build/$1" -o "$1/example"
            translates "$1/example"
            ;;
        conan) # as a debug build, which takes less time
            "$python" -c "import conan" 2>/dev/null || skip "conan was not found"
            conan() { CONAN_HOME=$build/conan/home "$python" -m conans.conan "$@" >conan/log 2>&1; }
            mkdir conan
            conan profile detect && conan create "$sources" -s build_type=Debug &&
                conan create "$sources" -s build_type=Debug -o '&:shared=True' ||
                { tail -n 40 conan/log; fail "conan"; }
            [ "$(grep -c '^trained 3 steps$' conan/log)" = 1 ] || fail "use_c did not train"
            ;;
        vcpkg)
            [ -e "${XF_VCPKG-}/scripts/ports.cmake" ] || skip "XF_VCPKG is not a copy of vcpkg's repository"
            local dir=$build/vcpkg version name variables=()
            mkdir -p vcpkg/installed
            # The release build without optimization, which takes less time.
            printf '%s\n' "include($XF_VCPKG/triplets/x64-linux.cmake)" 'set(VCPKG_BUILD_TYPE release)' \
                "set(VCPKG_CHAINLOAD_TOOLCHAIN_FILE $XF_VCPKG/scripts/toolchains/linux.cmake)" \
                'set(VCPKG_C_FLAGS "")' 'set(VCPKG_CXX_FLAGS "")' \
                'set(VCPKG_C_FLAGS_RELEASE -O0)' 'set(VCPKG_CXX_FLAGS_RELEASE -O0)' >vcpkg/x64-linux.cmake
            version=$(sed -nE 's/.*"version": "(.*)".*/\1/p' "$sources/vcpkg/vcpkg.json")
            for name in CMD=BUILD PORT=xformer VERSION="$version" CURRENT_PORT_DIR="$sources/vcpkg" FEATURES=core \
                TARGET_TRIPLET=x64-linux TARGET_TRIPLET_FILE="$dir/x64-linux.cmake" _HOST_TRIPLET=x64-linux \
                _VCPKG_INSTALLED_DIR="$dir/installed" BUILDTREES_DIR="$dir/buildtrees" PACKAGES_DIR="$dir/packages" \
                DOWNLOADS="$dir/downloads" VCPKG_ROOT_DIR="$XF_VCPKG" VCPKG_BASE_VERSION=2026-01-01 \
                VCPKG_CONCURRENCY="$(nproc)" VCPKG_COMMAND=/bin/false NINJA="$(command -v ninja)" \
                "VCPKG_PORT_CONFIGS=$(printf "$XF_VCPKG/ports/%s/vcpkg-port-config.cmake;" vcpkg-cmake{,-config})"; do
                variables+=("-D$name")
            done
            cmake "${variables[@]}" -P "$XF_VCPKG/scripts/ports.cmake" >vcpkg/log 2>&1 &&
                cp -R vcpkg/packages/xformer_x64-linux vcpkg/installed/x64-linux &&
                cmake -S "$sources/test_package" -B vcpkg/test -DVCPKG_TARGET_TRIPLET=x64-linux \
                    -DVCPKG_MANIFEST_MODE=OFF -DVCPKG_INSTALLED_DIR="$dir/installed" \
                    -DCMAKE_TOOLCHAIN_FILE="$XF_VCPKG/scripts/buildsystems/vcpkg.cmake" >>vcpkg/log 2>&1 &&
                cmake --build vcpkg/test >>vcpkg/log 2>&1 || { tail -n 40 vcpkg/log; fail "vcpkg"; }
            grep -q "xformer_DIR.*$dir/installed/x64-linux/share/xformer" vcpkg/test/CMakeCache.txt ||
                fail "the test of the port found another xformer"
            vcpkg/test/use_c | grep '^trained 3 steps$' && vcpkg/test/use_cpp >vcpkg/log
            ;;
        *) fail "unknown stage '$1'" ;;
    esac
}

for name in "${stages[@]}"; do
    rm -rf "${build:?}/$name"
    stage "$name"
    echo "platforms.sh: amalgamation, $name passed"
done
