#!/usr/bin/env bash
# Builds for another platform and runs there, in an emulator, what shows that results have the bits of x86-64.
#
#     tests/platforms.sh aarch64 [--build | bits | ops [PATTERN]]
#
# aarch64: ARM64 Linux. Needs these packages of Debian 12, after `dpkg --add-architecture arm64 && apt-get update`:
#     g++-aarch64-linux-gnu qemu-user-static libstdc++6:arm64 libutf8proc-dev:arm64
#     libopenblas-serial-dev:arm64 libcmocka-dev:arm64
# Without an argument, runs both stages:
#     bits    the hashes of tests/golden/bits.txt with each instruction set, and on a CPU without SDOT
#     ops     tests/unit/backend with each instruction set
# The build is below build/platforms. An emulator measures no speed.
#
# Exit status: 0 success, 1 a stage failed, 77 something is missing.
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [ "${1-}" != aarch64 ]; then
    echo "platforms.sh: unknown platform '${1-}', expected aarch64" >&2
    exit 2
fi
stage=${2-all}
build=build/platforms/aarch64
libraries=/usr/lib/aarch64-linux-gnu
missing=()
command -v aarch64-linux-gnu-g++ >/dev/null || missing+=(g++-aarch64-linux-gnu)
command -v qemu-aarch64-static >/dev/null || missing+=(qemu-user-static)
[ -e $libraries/libstdc++.so.6 ] || missing+=(libstdc++6:arm64)
[ -e $libraries/libutf8proc.so ] || missing+=(libutf8proc-dev:arm64)
[ -e $libraries/openblas-serial/libopenblas.a ] || missing+=(libopenblas-serial-dev:arm64)
[ -e $libraries/libcmocka.so ] || missing+=(libcmocka-dev:arm64)
if [ ${#missing[@]} -gt 0 ]; then
    echo "platforms.sh: missing Debian packages: ${missing[*]}; see the header of this file" >&2
    exit 77
fi

mkdir -p $build
cmake -S . -B $build -G Ninja -DCMAKE_TOOLCHAIN_FILE="$PWD/tests/harness/platforms/aarch64.cmake" \
    -DXF_CUDA=OFF -DXF_CUDA_HOST=OFF -DXF_MPI=OFF -DXF_UNITY=ON >$build.log 2>&1 &&
    cmake --build $build --target xformer_openblas translate bits backend_ops >>$build.log 2>&1 || {
    grep -E -A 5 '(error|FAILED):' $build.log || tail -n 40 $build.log
    echo "platforms.sh: the build failed; its complete output is in $build.log" >&2
    exit 1
}

# on CPU PROGRAM...: without -L, see tests/harness/platforms/aarch64.cmake.
on() { qemu-aarch64-static -cpu "$1" -E XF_BACKEND_PATH="$PWD/$build/lib" "$build/bin/$2" "${@:3}"; }
inputs=(examples/translate/en-de.xf examples/translate/data/small.test.tsv tests/golden/bits.txt)

failed=()
if [ "$stage" = all ] || [ "$stage" = bits ]; then
    on max bits "${inputs[@]}" || failed+=(bits)
    # No ARMv8.2: an instruction of a newer CPU would end the program, and naming its instruction set is an error.
    on cortex-a72 bits "${inputs[@]}" neon || failed+=("bits on cortex-a72")
    ! on cortex-a72 bits "${inputs[@]}" neon-dot || failed+=("neon-dot is not refused on cortex-a72")
fi
if [ "$stage" = all ] || [ "$stage" = ops ]; then
    on max backend_ops "${3-openblas/*}" || failed+=(ops)
fi
echo "platforms.sh: aarch64, ${#failed[@]} failed: ${failed[*]:-none}"
[ ${#failed[@]} -eq 0 ]
