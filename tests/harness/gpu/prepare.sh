#!/usr/bin/env bash
# Fills the folder that is copied to the machine with the GPU: tests/gpu.sh --prepare [--data DIR]. Requires nvcc and
# the build dependencies, but no GPU.
#
#     prepare.sh FOLDER [--data DIR]
#
# FOLDER/visit.tar.xz  a tree with tests/gpu.sh and everything that calls 1, 2, and 3 need, in at most 8 MiB: the files of
#                      this checkout that they read; in gpu-carry/run the programs, the library, and its plugins; in
#                      gpu-carry/check the tests, gpu_planted, the CUPTI client, and plugins with cuBLASLt for decoding
#                      and with dependent launches
# FOLDER/data          for call 4, with --data DIR: the files train, dev, and test.tsv.xz of its folder en-de, and a
#                      tokenizer
#
# tests/gpu.sh of a checkout uses the programs of FOLDER/visit.tar.xz; the unpacked tree needs no checkout. The sizes are
# printed at the end.
#
# Environment: XF_GPU_ARCH (90a-real: H100 and H200), XF_GPU_PREBUILD (the build, build/gpu-prebuild), NVCC,
# XF_CMAKE_OPTIONS, XF_JOBS.
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
folder=$(realpath -m "$1") data=
if [ "${2-}" = --data ]; then data=$3; fi
build=$(realpath -m "${XF_GPU_PREBUILD:-build/gpu-prebuild}")
arch=${XF_GPU_ARCH:-90a-real}
nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}

die() {
    echo "prepare.sh: $1" >&2
    exit 1
}
source tests/harness/gpu/pack.sh
[ -x "$nvcc" ] || die "there is no nvcc"
# The programs. libstdc++ is linked statically, because that of the other machine may be older.
static="-static-libstdc++ -static-libgcc"
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DXF_CUDA=ON "-DXF_CUDA_ARCHITECTURES=$arch" \
    "-DCMAKE_CUDA_COMPILER=$nvcc" "-DCMAKE_EXE_LINKER_FLAGS=$static" \
    ${XF_CMAKE_OPTIONS-} "-DCMAKE_SHARED_LINKER_FLAGS=$static" "-DCMAKE_MODULE_LINKER_FLAGS=$static" >"$build.log" || die "see $build.log"
# Program and arguments of the tests that also run on the emulated GPU, and of one that is too slow there.
mapfile -t tests < <(find "$build/tests" -name CTestTestfile.cmake -exec sed -n -E \
    's|^add_test\(\[=\[(\w*_cuda\|unit_train_learning)\]=\] "[^"]*/bin/((unit\|golden)[^"]*)" *"?(\w*)"?\)$|\2 \4|p' {} + | sort -u)
[ ${#tests[@]} -gt 0 ] || die "$build has no tests that run on a GPU"
mapfile -t programs < <(printf '%s\n' "${tests[@]}" | cut -d ' ' -f 1 | sort -u)
openblas=()
if ninja -C "$build" -t query xformer_openblas >/dev/null 2>&1; then openblas=(xformer_openblas); fi
ninja -C "$build" ${XF_JOBS:+-j "$XF_JOBS"} xf_bench dump_batches translate backend_ops xformer_cuda "${openblas[@]}" "${programs[@]}"

visit=$build/visit # the tree
parts=$visit/gpu-carry
rm -rf "$visit"
mkdir -p "$folder" "$parts"/run/{bin,lib} "$parts"/check/{bin,lib,step}
cp "$build"/bin/{xf_bench,dump_batches,translate} "$parts/run/bin/"
cp -P "$build"/lib/libxformer*.so* "$parts/run/lib/"
(cd "$build/bin" && cp backend_ops "${programs[@]}" "$parts/check/bin/")
printf '%s\n' "${tests[@]}" >"$parts/check/tests.txt"
printf 'commit %s\nsource %s\nfor %s\nby %s, glibc %s\n' "$(git describe --always --dirty 2>/dev/null || echo unknown)" \
    "$PWD" "$arch" "$("$nvcc" --version | sed -n 's/.*release \([^,]*\).*/CUDA \1/p')" \
    "$(ldd --version | sed -n '1s/.* //p')" >"$parts/run/built.txt"

# Files that only the GPU stages use.
toolkit=$(dirname "$(dirname "$(realpath "$nvcc")")")
"$nvcc" -std=c++20 -O2 -arch="sm_${arch%-*}" tests/harness/bench/gpu_planted.cu -o "$parts/check/bin/gpu_planted"
cupti=$(find "$toolkit/" -name 'libcupti.so' 2>/dev/null | head -n 1)
if [ -n "$cupti" ]; then
    cc -O2 -shared -fPIC -I"$toolkit/include" -I"$toolkit/extras/CUPTI/include" tests/harness/bench/gpu_kernels.c "$cupti" \
        -o "$parts/check/lib/libgpu_kernels.so"
else
    echo "prepare.sh: CUPTI was not found: without the times of kernels"
fi

# Variants of the plugin with other constants in one file: compiles that file and links with the same commands.
variant() { # variant FOLDER FILE.cu OPTIONS
    local object compile link so=$parts/check/$1/libxformer_cuda.so
    mkdir "$parts/check/$1"
    object=$(ninja -C "$build" -t query lib/libxformer_cuda.so | grep -o "[^ ]*/$2\.o" | head -n 1)
    compile=$(ninja -C "$build" -t commands "$object" | tail -n 1)
    link=$(ninja -C "$build" -t commands lib/libxformer_cuda.so | tail -n 1)
    (cd "$build" && bash -c "${compile/ -o $object/ $3 -o $so.o}" && [ -f "$so.o" ] &&
        bash -c "$(sed "s|[^ ]*/$2\.o|$so.o|; s|-o lib/libxformer_cuda.so|-o $so|" <<<"$link")" && [ -f "$so" ])
    rm "$so.o"
}
variant step/by_cuBLASLt gemm_cublaslt.cu -DXF_CUDA_STEP_PRODUCTS=0
variant step/dependent_launch plugin.cu -DXF_CUDA_DEPENDENT_LAUNCH=1

# Libraries that are not part of the system.
for program in "$parts"/run/bin/* "$parts"/run/lib/*.so "$parts"/check/bin/*; do
    case $program in */run/*) to=run ;; *) to=check ;; esac
    ldd "$program" | sed -n 's/.* => \(\/[^ ]*\(utf8proc\|cmocka\)[^ ]*\) .*/\1/p' |
        while read -r library; do [ -e "$parts/run/lib/${library##*/}" ] || cp -L "$library" "$parts/$to/lib/"; done
done
find "$parts" -type f \( -path '*/bin/*' -o -name '*.so*' \) -exec strip {} +
(cd "$parts" && find run check -type f ! -name built.txt -print0 | sort -z | xargs -0 sha256sum | sha256sum |
    sed 's/\(.\{16\}\).*/sum \1/') >>"$parts/run/built.txt" # identifies the results
pack_visit "$visit" "$folder/visit.tar.xz"

if [ -n "$data" ]; then
    mkdir -p "$folder/data/en-de"
    cp -f "$data"/en-de/{train,dev,test}.tsv.xz "$folder/data/en-de/"
    if [ ! -f "$folder/data/en-de/tokenizer.json" ]; then
        xz -dc "$data/en-de/train.tsv.xz" >"$build/train.tsv"
        LD_LIBRARY_PATH=$parts/run/lib XF_BACKEND_PATH=$parts/run/lib "$parts/run/bin/dump_batches" \
            "train=$build/train.tsv" "dev=$build/train.tsv" "model=$build/fresh.xf" "batches=$build/batches" \
            "dev_batches=$build/dev_batches" count=1 preset=tiny context.device=cpu tokenizer.vocab_size=37000 \
            tokenizer.kind=bpe "save_tokenizer=$folder/data/en-de/tokenizer.json"
        rm -f "$build"/{train.tsv,fresh.xf,batches,dev_batches}
    fi
fi
echo "$folder, in MiB:"
(cd "$folder" && du -sm -- *)
echo "the checkout: $(git ls-files -co --exclude-standard 2>/dev/null | tr '\n' '\0' | du -cm --files0-from=- 2>/dev/null | sed -n '$s/\t.*//p')"
