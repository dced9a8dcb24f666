#!/usr/bin/env bash
# Builds for another platform and runs there, in an emulator, what shows that results have the bits of x86-64.
#
#     tests/platforms.sh aarch64 [--build | few | bits | ops [PATTERN] | suite [REGEX] | packages | bindings]
#
# aarch64: ARM64 Linux. Needs these packages of Debian 12, after `dpkg --add-architecture arm64 && apt-get update`:
#     g++-aarch64-linux-gnu qemu-user-static libstdc++6:arm64 libutf8proc-dev:arm64
#     libopenblas-serial-dev:arm64 libcmocka-dev:arm64
# XF_QEMU is the emulator (qemu-aarch64-static). The stages:
#     few     the hashes of tests/golden/bits.txt for few sentences, with each instruction set, and tests/unit/core: less
#             than 4 minutes; ctest runs this stage as platform_aarch64
#     bits    all hashes of bits.txt with each instruction set, and on a CPU without SDOT: half an hour of CPU time
#     ops     tests/unit/backend with each instruction set
#     suite   the programs of the quick suite, or those whose names match REGEX: hours; see docs/benchmarks/platforms.md
#     packages    tests/surfaces/package: the Debian packages for arm64 (also needs dpkg-dev)
#     bindings    tests/harness/platforms/bindings.sh: Python, Rust, Go, and Java (downloads Debian packages)
# Without an argument, runs bits, suite, packages, and bindings. The build is below build/platforms. An emulator
# measures no speed.
#
#     tests/platforms.sh macos-arm64 | macos-x86_64 | musl-x86_64 | musl-aarch64
#
# Compiles and links with zig, and runs the programs for musl. tests/harness/platforms/zig.sh lists the requirements.
#
#     tests/platforms.sh i686 | s390x
#
# See tests/harness/platforms/compilers.sh.
#
#     tests/platforms.sh hip
#
# Compiles the CUDA backend for AMD GPUs: tests/harness/platforms/hip.sh.
#
#     tests/platforms.sh wasm [STAGE]...
#
# Compiles with emscripten and runs in Node.js: tests/harness/platforms/wasm.sh.
#
#     tests/platforms.sh amalgamation [STAGE]...
#
# Compiles the amalgamation with several compilers and C++ libraries: tests/harness/platforms/amalgamation.sh.
#
#     tests/platforms.sh windows [STAGE]...
#
# Compiles with mingw-w64 and runs in wine: tests/harness/platforms/windows.sh.
#
# Exit status: 0 success, 1 a stage failed, 77 something is missing.
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case ${1-} in
    aarch64) ;;
    macos-arm64 | macos-x86_64 | musl-x86_64 | musl-aarch64) exec tests/harness/platforms/zig.sh "$@" ;;
    i686 | s390x) exec tests/harness/platforms/compilers.sh "$@" ;;
    amalgamation | hip | wasm | windows) exec "tests/harness/platforms/$1.sh" "${@:2}" ;;
    *)
        echo "platforms.sh: unknown platform '${1-}', see the header of this file" >&2
        exit 2
        ;;
esac
stage=${2-all}
export XF_QEMU=${XF_QEMU:-qemu-aarch64-static}
build=build/platforms/aarch64
# bench_gpu_kernels does not depend on the CPU, first and first_train need the order of ctest, and host_loads_ counts the
# mappings of a plain process. soak would count the memory of the emulator, which grows with each fork of storm_forks.
excluded='bench_gpu_kernels|first|host_loads_|soak|storm_forks'
libraries=/usr/lib/aarch64-linux-gnu
missing=()
command -v aarch64-linux-gnu-g++ >/dev/null || missing+=(g++-aarch64-linux-gnu)
command -v "$XF_QEMU" >/dev/null || missing+=(qemu-user-static)
[ -e $libraries/libstdc++.so.6 ] || missing+=(libstdc++6:arm64)
[ -e $libraries/libutf8proc.so ] || missing+=(libutf8proc-dev:arm64)
[ -e $libraries/openblas-serial/libopenblas.a ] || missing+=(libopenblas-serial-dev:arm64)
[ -e $libraries/libcmocka.so ] || missing+=(libcmocka-dev:arm64)
if [ ${#missing[@]} -gt 0 ]; then
    echo "platforms.sh: missing Debian packages: ${missing[*]}; see the header of this file" >&2
    exit 77
fi

# A dynamic loader with the C library of another version hangs when a program starts a thread.
mkdir -p $build
printf '#include <thread>\nint main() { std::thread([] {}).join(); }\n' |
    aarch64-linux-gnu-g++ -x c++ -o $build/thread - && timeout 60 "$XF_QEMU" $build/thread || {
    echo "platforms.sh: $XF_QEMU cannot run a program with a thread; do not set QEMU_LD_PREFIX, so that qemu takes the" \
        "dynamic loader of libc6:arm64" >&2
    exit 77
}

# suite OPTION...: see tests/harness/checkers/suite.py.
suite() { QEMU_CPU=max python3 tests/harness/checkers/suite.py $build --suite . --without "$excluded" "$@"; }
targets() {
    echo xformer_openblas
    case $stage in
        few) echo bits && suite --only unit_core --targets ;;
        bits | --build) echo bits ;;
        ops) echo backend_ops ;;
        packages | bindings) echo translate ;;
        *) echo host_plugin && suite --targets ;;
    esac
}
cmake -S . -B $build -G Ninja -DCMAKE_TOOLCHAIN_FILE="$PWD/tests/harness/platforms/aarch64.cmake" \
    -DCMAKE_INSTALL_PREFIX=/usr -DCMAKE_INSTALL_LIBDIR=lib/aarch64-linux-gnu -DXF_NCCL=OFF \
    -DXF_CUDA=OFF -DXF_CUDA_HOST=OFF -DXF_MPI=OFF -DXF_UNITY=ON -DXF_PRECOMPILE=ON >$build.log 2>&1 &&
    targets | xargs cmake --build $build --target >>$build.log 2>&1 || {
    grep -E -A 5 '(error|FAILED):' $build.log || tail -n 40 $build.log
    echo "platforms.sh: the build failed; its complete output is in $build.log" >&2
    exit 1
}

# on CPU PROGRAM...: without -L, see tests/harness/platforms/aarch64.cmake.
on() { "$XF_QEMU" -cpu "$1" -E XF_BACKEND_PATH="$PWD/$build/lib" "$build/bin/$2" "${@:3}"; }
inputs=(examples/translate/en-de.xf examples/translate/data/small.test.tsv tests/golden/bits.txt)

failed=()
if [ "$stage" = few ]; then
    for isa in neon neon-dot neon-i8mm; do on max bits "${inputs[@]}" $isa few || failed+=("bits $isa"); done
    suite --only unit_core --jobs "$(nproc)" || failed+=(unit_core)
fi
if [ "$stage" = all ] || [ "$stage" = bits ]; then on max bits "${inputs[@]}" || failed+=(bits); fi
if [ "$stage" = all ] || [ "$stage" = bits ] || [ "$stage" = few ]; then
    # No ARMv8.2: an instruction of a newer CPU would end the program, and naming its instruction set is an error.
    on cortex-a72 bits "${inputs[@]}" auto few || failed+=("bits on cortex-a72")
    ! on cortex-a72 bits "${inputs[@]}" neon-dot few || failed+=("neon-dot is not refused on cortex-a72")
fi
if [ "$stage" = ops ]; then on max backend_ops "${3-openblas/*}" || failed+=(ops); fi
if [ "$stage" = all ] || [ "$stage" = suite ]; then
    suite --only "${3-}" --without "golden_bits|$excluded" --jobs "$(nproc)" --seconds 3600 || failed+=(suite)
fi
if [ "$stage" = all ] || [ "$stage" = packages ]; then
    # PKG_CONFIG_LIBDIR: the libraries that libxformer needs, see tests/harness/platforms/aarch64.cmake.
    PKG_CONFIG_LIBDIR=$libraries/pkgconfig ctest --test-dir $build -R '^package$' --no-tests=error --output-on-failure ||
        failed+=(packages)
fi
if [ "$stage" = all ] || [ "$stage" = bindings ]; then
    tests/harness/platforms/bindings.sh $build || failed+=(bindings)
fi
echo "platforms.sh: aarch64, ${#failed[@]} failed: ${failed[*]:-none}"
[ ${#failed[@]} -eq 0 ]
