#!/usr/bin/env bash
# Platforms that need only a cross compiler; called by tests/platforms.sh.
#
#     tests/platforms.sh i686 [REGEX]    builds for 32-bit x86 and runs the unit tests, or those whose names match REGEX
#     tests/platforms.sh s390x           checks that a big-endian processor is refused with one clear sentence
#
# i686 needs these packages of Debian 12, after `dpkg --add-architecture i386 && apt-get update`: g++-i686-linux-gnu
# libstdc++6:i386 libutf8proc-dev:i386 libopenblas-serial-dev:i386 libcmocka-dev:i386. s390x needs g++-s390x-linux-gnu.
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."

need() {
    command -v "$1-g++" >/dev/null && { [ $# = 1 ] || [ -e "$2" ]; } || {
        echo "platforms.sh: missing Debian packages; see tests/harness/platforms/compilers.sh" >&2
        exit 77
    }
}

if [ "$1" = s390x ]; then
    need s390x-linux-gnu
    found=$(s390x-linux-gnu-g++ -std=c++20 -fsyntax-only -Iinclude -Ilib lib/core/safetensors.cpp 2>&1) &&
        found="it compiles"
    grep -q 'error: static assertion failed: big-endian processors are not supported' <<<"$found" &&
        [ "$(grep -c 'error:' <<<"$found")" = 1 ] || {
        echo "platforms.sh: s390x is not refused by the static_assert of lib/core/safetensors.cpp: $found" >&2
        exit 1
    }
    echo "platforms.sh: s390x is refused: big-endian processors are not supported"
    exit 0
fi

need i686-linux-gnu /usr/lib/i386-linux-gnu/libcmocka.so
build=build/platforms/i686
mkdir -p $build
suite() { python3 tests/harness/checkers/suite.py $build --only "${only:-^unit_}" "$@"; }
only=${2-}
cmake -S . -B $build -G Ninja -DCMAKE_TOOLCHAIN_FILE="$PWD/tests/harness/platforms/i686.cmake" -DXF_CUDA=OFF \
    -DXF_CUDA_HOST=OFF -DXF_MPI=OFF -DXF_UNITY=ON -DXF_PRECOMPILE=ON >$build.log 2>&1 &&
    { echo xformer_openblas && suite --targets; } | xargs cmake --build $build --target >>$build.log 2>&1 || {
    grep -E -A 5 '(error|FAILED):' $build.log || tail -n 40 $build.log
    echo "platforms.sh: the build failed; its complete output is in $build.log" >&2
    exit 1
}
suite --jobs "$(nproc)"
