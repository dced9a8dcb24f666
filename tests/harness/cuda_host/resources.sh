#!/usr/bin/env bash
# Compiles the kernels for one GPU architecture and prints the resources that each uses. Fails if a kernel spills
# registers or has a stack frame, because both cause memory traffic that is not visible in the source.
#
#     tests/harness/cuda_host/resources.sh [ARCHITECTURE]     default: sm_90
#
# Requires nvcc (the variable NVCC, or in PATH), but no GPU.
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."

architecture=${1:-sm_90}
nvcc=${NVCC:-nvcc}
# Kernels that are allowed to, each with its reason: a grep -E pattern of the demangled name.
allowed=()

if ! command -v "$nvcc" >/dev/null; then
    echo "resources.sh: $nvcc was not found" >&2
    exit 2
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cd cuda
status=0
for file in $(grep -l __global__ -- *.cu | grep -vx plugin.cu); do  # the kernel of plugin.cu does nothing
    "$nvcc" -std=c++20 -O3 -arch="$architecture" -I../lib -I../include -I. -Xptxas -v -c "$file" -o "$folder/$file.o" \
        >"$folder/$file.log" 2>&1 || {
        cat "$folder/$file.log" >&2
        exit 1
    }
    # "Compiling entry function 'NAME'", then "N bytes stack frame, N bytes spill stores, N bytes spill loads", then
    # "Used N registers, used N barriers, N bytes smem".
    awk -v file="$file" '
        /Compiling entry function/ { split($0, part, "\x27"); name = part[2] }
        /bytes stack frame/ { stack = $1; stores = $5; loads = $9 }
        /Used [0-9]+ registers/ {
            shared = 0
            for (i = 1; i < NF; ++i) {
                if ($i == "Used") registers = $(i + 1)
                if ($(i + 1) == "bytes" && $(i + 2) ~ /^smem/) shared = $i
            }
            if (name != "") print file "\t" registers "\t" shared "\t" stack "\t" stores "\t" loads "\t" name
            name = ""
        }' "$folder/$file.log" >>"$folder/table"
done

[ -s "$folder/table" ] || { echo "resources.sh: ptxas printed no resources" >&2; exit 1; }
cut -f 7 "$folder/table" | { c++filt 2>/dev/null || cat; } |
    sed -E 's/\(anonymous namespace\):://; s/^void //; s/xf::cuda:://g; s/__nv_bfloat16/bf16/g; s/\(.*//' >"$folder/names"
printf '%-20s %9s %7s %6s %6s %6s  %s\n' file registers shared stack stores loads kernel
while IFS=$'\t' read -r file registers shared stack stores loads _ && read -r name <&3; do
    printf '%-20s %9s %7s %6s %6s %6s  %s\n' "$file" "$registers" "$shared" "$stack" "$stores" "$loads" "$name"
    [ $((stack + stores + loads)) -gt 0 ] || continue
    for pattern in ${allowed[@]+"${allowed[@]}"}; do
        grep -qE "$pattern" <<<"$name" && continue 2
    done
    echo "resources.sh: $name of $file has a stack frame of $stack bytes, stores $stores and loads $loads" >&2
    status=1
done <"$folder/table" 3<"$folder/names"
echo "$(wc -l <"$folder/table") kernels for $architecture"
exit $status
