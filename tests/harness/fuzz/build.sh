#!/usr/bin/env bash
# Builds the fuzzers with clang: tests/harness/fuzz/build.sh FOLDER PROGRAM...
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
folder=$1
shift
mkdir -p "$folder"
cmake -S "$source" -B "$folder" -G Ninja -DCMAKE_C_COMPILER="${CC:-clang}" -DCMAKE_CXX_COMPILER="${CXX:-clang++}" \
    -DCMAKE_BUILD_TYPE=None -DXF_FUZZ=ON -DXF_OPENBLAS=OFF -DXF_CUDA=OFF -DXF_MPI=OFF -DXF_BUILD_TESTS=OFF \
    -DXF_BUILD_EXAMPLES=OFF -DXF_INSTALL=OFF -DXF_PRECOMPILE=ON -DXF_UNITY=ON >"$folder.log"
cmake --build "$folder" -- "$@"
