#!/usr/bin/env bash
# Builds the server in build/serve and serves the two models of examples/translate on http://localhost:5000; see
# README.md.
#
#     examples/serve/run.sh [OPTION of xformer-serve]...
#
# With --model, it serves other models. Installs missing Debian packages first and asks no questions. Ctrl-C ends it.
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

if [ ! -e tests/packages.sh ]; then
    echo "run.sh: found no sources of libxformer in $PWD; expected a copy of its repository. To build the examples with" \
        "an installed library: cmake -S examples -B FOLDER, then cmake --build FOLDER" >&2
    exit 1
fi
tests/packages.sh serve
build=build/serve
mkdir -p build
echo "Building into $build"
cuda=(-DXF_CUDA=OFF) # saves minutes of compilation without a GPU
if nvidia-smi -L >"$build.log" 2>&1; then cuda=(-DXF_CUDA=AUTO -DXF_CUDA_ARCHITECTURES=native); fi
# cpu/all and cuda/all are the plugins; without them the library computes slowly.
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DXF_BUILD_TESTS=OFF "${cuda[@]}" >"$build.log" 2>&1 &&
    cmake --build "$build" --target xformer_serve cpu/all cuda/all >>"$build.log" 2>&1 || {
    tail -n 40 "$build.log" >&2
    echo "run.sh: the build failed; see $build.log for its output" >&2
    exit 1
}
for argument in "$@"; do
    case "$argument" in
        --model | --model=* | --help | -h) exec "$build/bin/xformer-serve" "$@" ;;
    esac
done
models=(--model examples/translate/en-de.xf --model examples/translate/en-fr.xf)
exec "$build/bin/xformer-serve" "${models[@]}" "$@"
