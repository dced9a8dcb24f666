#!/usr/bin/env bash
# Prints how many lines of the loaders, the tokenizers, and the code for saving the fuzz inputs reach.
#
#     tests/harness/fuzz/coverage.sh [FOLDER]
#
# Builds fuzz_replay in FOLDER (build/fuzz-coverage) with clang's line counters, runs it on the inputs of every target, and
# prints a row for each source file. Lines that only a failing disk, a GPU, or another rank reaches are tested by
# tests/harness/fault and tests/unit/comm.
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source=$(cd "$here/../../.." && pwd)
folder=${1:-$source/build/fuzz-coverage}
version=$(clang --version | sed -n '1s/.*version \([0-9]*\).*/\1/p')
mkdir -p "$folder"
flags="-O1 -fprofile-instr-generate -fcoverage-mapping"
cmake -S "$source" -B "$folder" -G Ninja -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_BUILD_TYPE=None \
    -DCMAKE_C_FLAGS="$flags" -DCMAKE_CXX_FLAGS="$flags" -DXF_OPENBLAS=OFF -DXF_CUDA=OFF -DXF_MPI=OFF \
    -DXF_BUILD_EXAMPLES=OFF -DXF_INSTALL=OFF -DXF_PRECOMPILE=ON -DXF_UNITY=ON >"$folder.log"
cmake --build "$folder" --target fuzz_replay >>"$folder.log"
rm -f "$folder"/*.profraw
for target in $(cd "$here/corpus" && ls | sed "s/[.].*//"); do
    LLVM_PROFILE_FILE=$folder/$target.profraw "$folder/bin/fuzz_replay" "$target" "$folder/tests/harness/fuzz/corpus/$target" >>"$folder.log"
done
llvm-profdata-"$version" merge -o "$folder/all.profdata" "$folder"/*.profraw
cd "$source"
# Loading and saving files, including checkpoints; text; reading corpora.
files=(lib/core/{safetensors,safetensors_header,input,utf8,options}.cpp lib/nn/{model_file,model_file_load,model_file_save,user_metadata}.cpp
    lib/train/{checkpoint,position}.cpp lib/text/{,*/}*.cpp lib/data/{corpus,corpus_build,line_reader}.cpp)
llvm-cov-"$version" report "$folder/bin/fuzz_replay" -instr-profile="$folder/all.profdata" "${files[@]}" >"$folder/report.txt"
# The columns of llvm-cov from the right: three for branches, then lines, lines not reached, and their fraction.
awk -v OFS='\t' 'BEGIN { print "file", "lines", "not reached", "share" }
    /\.cpp |^TOTAL/ { print $1, $(NF - 5), $(NF - 4), $(NF - 3) }' "$folder/report.txt"
