#!/usr/bin/env bash
# Compiles for WebAssembly with emscripten and runs the result in Node.js: the target wasm of tests/platforms.sh.
#
#     tests/harness/platforms/wasm.sh [build | bits | js | units | browser | wasmtime]...
#
# Without an argument: bits, js, units, and browser. The stages:
#     build   only compiles xformer.wasm
#     bits    the hashes of tests/golden/bits_base.txt, which are those of x86-64 without OpenBLAS
#     js      the tests of bindings/js, and the size of xformer.wasm and xformer.js
#     units   the unit tests, except those of wasm.tsv
#     browser   tests/surfaces/browser: the page of examples/browser in Chromium, whose screenshots are then in
#             build/platforms/pictures
#     wasmtime   translation and training in wasmtime, compared with Node.js. Needs the Python package wasmtime and
#             wasm-opt of Binaryen 120, which Debian 13 has; XF_WASM_OPT is its command (wasm-opt)
#
# Needs the Debian packages emscripten, node-acorn, and rapidjson-dev, Node.js 18 or newer, and the sources of Debian in
# XF_SOURCES (default: build/platforms/sources):
#     mkdir -p build/platforms/sources && cd build/platforms/sources && apt-get source utf8proc cmocka
# Result: build/platforms/wasm/build/bin/xformer.wasm, which is also copied to bindings/js.
#
# Exit status: 0 success, 1 a stage failed, 77 something is missing.
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
here=$PWD/tests/harness/platforms
stages=" ${*:-bits js units browser} "
sources=${XF_SOURCES:-$PWD/build/platforms/sources}
build=$PWD/build/platforms/wasm prefix=$PWD/build/platforms/wasm/prefix
toolchain=/usr/share/emscripten/cmake/Modules/Platform/Emscripten.cmake
most_bytes=1572864 # of xformer.wasm and the JavaScript
skip() { echo "platforms.sh: $*; see tests/harness/platforms/wasm.sh" >&2; exit 77; }

command -v em++ >/dev/null && [ -e $toolchain ] || skip "emscripten was not found"
command -v node >/dev/null || skip "Node.js was not found"
[[ $stages != " browser " ]] || command -v chromium >/dev/null || skip "Chromium was not found"
utf8proc=$(echo "$sources"/utf8proc-*/) cmocka=$(echo "$sources"/cmocka-*/)
[ -e "$utf8proc/utf8proc.c" ] && [ -e "$cmocka/src/cmocka.c" ] || skip "the sources of utf8proc and cmocka are missing"
[ -d /usr/include/rapidjson ] || skip "the Debian package rapidjson-dev is missing"
export NODE_PATH=${NODE_PATH-/usr/share/nodejs} # acorn, for emscripten
# Node.js has fetch(), which emscripten 3.1.6 would use for files.
export NODE_OPTIONS=--no-experimental-fetch
# Without -finline-functions, emscripten leaves inlining to the linker: the file is smaller by a tenth, and models load
# three times slower.
flags="-msimd128 -fwasm-exceptions -finline-functions"

# package NAME FILE OPTION...: compiles a library of one file, and describes it to pkg-config.
package() {
    local name=$1 file=$2
    shift 2
    emcc -Os $flags -w "$@" -c "$file" -o "$prefix/$name.o"
    emar rcs "$prefix/lib/lib$name.a" "$prefix/$name.o"
}
describe() {
    printf 'Name: %s\nDescription: %s\nVersion: 0\nLibs: %s\nCflags: -I%s %s\n' "$1" "$1" "$2" "$prefix/include" "$3" \
        >"$prefix/lib/$1.pc"
}
mkdir -p "$prefix"/{include,lib}
cp -p "$utf8proc/utf8proc.h" "$cmocka"/include/cmocka*.h "$prefix/include/" # the same time: nothing is compiled again
ln -sfn /usr/include/rapidjson "$prefix/include/rapidjson"
# The header of cmocka would define uintptr_t in its own way.
own_type="-D_UINTPTR_T -D_UINTPTR_T_DEFINED"
describe RapidJSON "" ""
describe libutf8proc "-L$prefix/lib -lutf8proc" -DUTF8PROC_STATIC
describe cmocka "-L$prefix/lib -lcmocka" "$own_type"
if [ ! -e "$prefix/lib/libcmocka.a" ]; then
    : >"$prefix/config.h"
    package utf8proc "$utf8proc/utf8proc.c" -DUTF8PROC_STATIC
    package cmocka "$cmocka/src/cmocka.c" $own_type -sSUPPORT_LONGJMP=wasm -I"$cmocka/include" -I"$prefix" \
        -DHAVE_SIGNAL_H -DHAVE_STRINGS_H -DHAVE_INTTYPES_H -DHAVE_UNISTD_H -DHAVE_SYS_TYPES_H -DHAVE_SETJMP_H
fi

export PKG_CONFIG_LIBDIR=$prefix/lib
units=(unit_core unit_text unit_data unit_eval unit_nn unit_train unit_decode golden)
targets=(xformer_js)
[[ $stages == *" bits "* ]] && targets+=(bits)
[[ $stages == *" units "* ]] && targets+=("${units[@]}")
# -Os is half as large as -O2. The kernels are compiled with -O3 in any case.
cmake -S . -B "$build/build" -G Ninja -DCMAKE_TOOLCHAIN_FILE=$toolchain -DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=BOTH \
    -DCMAKE_FIND_ROOT_PATH_MODE_PACKAGE=BOTH -DCMAKE_C_FLAGS="$flags" -DCMAKE_CXX_FLAGS="$flags" \
    -DCMAKE_C_FLAGS_RELEASE="-Os -DNDEBUG" -DCMAKE_CXX_FLAGS_RELEASE="-Os -DNDEBUG" \
    -DBUILD_SHARED_LIBS=OFF -DXF_UNITY=ON -DXF_WERROR=ON -DXF_BUILD_EXAMPLES=OFF -DXF_INSTALL=OFF \
    -DXF_CUDA=OFF -DXF_CUDA_HOST=OFF -DXF_MPI=OFF -DXF_NCCL=OFF >"$build.log" 2>&1 &&
    cmake --build "$build/build" ${XF_JOBS:+-j$XF_JOBS} --target "${targets[@]}" >>"$build.log" 2>&1 || {
    grep -E -A 5 '(error|FAILED):' "$build.log" || tail -n 40 "$build.log"
    echo "platforms.sh: the build failed; its complete output is in $build.log" >&2
    exit 1
}
bin=$build/build/bin
cp "$bin/xformer.wasm" bindings/js/

failed=()
if [[ $stages == *" bits "* ]]; then
    node "$bin/bits.js" examples/translate/en-de.xf examples/translate/data/small.test.tsv tests/golden/bits_base.txt \
        base || failed+=(bits)
fi
if [[ $stages == *" js "* ]]; then
    NODE_OPTIONS='' node --test bindings/js/test/ || failed+=(js)
    package=(bindings/js/{xformer.wasm,xformer.js,wasm.js})
    bytes=$(cat "${package[@]}" | wc -c)
    echo "${package[*]}: $bytes bytes, compressed $(cat "${package[@]}" | gzip -9 | wc -c)"
    [ "$bytes" -le $most_bytes ] || failed+=("the size, expected at most $most_bytes bytes")
fi
if [[ $stages == *" browser "* ]]; then
    node examples/browser/assemble.mjs "$build/page" &&
        python3 tests/surfaces/browser/page.py "$build/page" "$PWD/build/platforms/pictures" || failed+=(browser)
fi
if [[ $stages == *" wasmtime "* ]]; then
    # emscripten 3.1.6 writes the first version of the exception instructions, which wasmtime does not have.
    inputs=(examples/translate/en-de.xf examples/translate/data/small.test.tsv)
    ${XF_WASM_OPT:-wasm-opt} --all-features --translate-to-exnref "$bin/xformer.wasm" -o "$build/exnref.wasm" &&
        python3 "$here/second_engine.py" "$build/exnref.wasm" "${inputs[@]}" >"$build.wasmtime" &&
        NODE_OPTIONS='' node "$here/second_engine.mjs" "${inputs[@]}" >"$build.node" &&
        python3 "$here/second_engine.py" --compare "$build.wasmtime" "$build.node" || failed+=(wasmtime)
fi
if [[ $stages == *" units "* ]]; then
    for unit in "${units[@]}"; do
        log=$build/$unit.log
        XF_TEST_DEVICES=cpu node "$bin/$unit.js" >"$log" 2>&1 && code=0 || code=$?
        # The exit status is the number of failures. Another one means that the program ended early.
        mapfile -t names < <(sed -n 's/^\[  FAILED  \] \([a-z_0-9]*\)$/\1/p' "$log" | sort -u)
        unexpected=$(printf '%s\n' ${names[@]+"${names[@]}"} | grep -v -x -F -f <(cut -f 1 "$here/wasm.tsv") || true)
        echo "$unit: $(grep -c '^\[       OK' "$log") tests passed, ${#names[@]} failed${unexpected:+: $unexpected}"
        [ "$code" -eq ${#names[@]} ] && [ -z "$unexpected" ] || failed+=("$unit, see $log")
    done
fi
echo "platforms.sh: wasm, ${#failed[@]} failed: ${failed[*]:-none}"
[ ${#failed[@]} -eq 0 ]
