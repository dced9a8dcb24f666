#!/usr/bin/env bash
# Compiles the CUDA backend for AMD GPUs; called by tests/platforms.sh.
#
#     tests/platforms.sh hip [FILE.cu...]
#
# Compiles cuda/*.cu, or these files, as HIP with the names of tests/harness/hip/include, and links them to a plugin, in
# which all names must be defined. Kernels of the plugin compute all products. No GPU is needed, and nothing runs on
# one: the emulation of tests/harness/cuda_host tests the same kernels. docs/adr/0005-cuda.md says what is missing for
# a backend.
#
# Needs the packages hipcc, libamdhip64-dev, and lld-15 of Debian 12. XF_HIP_ROOT is a folder into which they were
# unpacked instead of installed; XF_HIP_ARCH the GPU (gfx1030); XF_JOBS the number of compilers (2).
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
hip=${XF_HIP_ROOT-}/usr arch=${XF_HIP_ARCH:-gfx1030}
libraries=$hip/lib/x86_64-linux-gnu
clang=$hip/lib/llvm-15/bin/clang++
if [ ! -x "$clang" ] || [ ! -e "$hip/include/hip/hip_runtime.h" ]; then
    echo "platforms.sh: missing Debian packages; see tests/harness/platforms/hip.sh" >&2
    exit 77
fi
if [ -n "${XF_HIP_ROOT-}" ]; then
    export LD_LIBRARY_PATH=$libraries:$hip/lib/llvm-15/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
fi
build=build/platforms/hip
rm -rf $build
mkdir -p $build
common=(-x hip "--offload-arch=$arch" "--rocm-path=$hip" "--rocm-device-lib-path=$libraries/amdgcn/bitcode"
    -Itests/harness/hip/include "-I$hip/include" -Icuda -Ilib -Iinclude -std=c++20 -O2 -fPIC -fvisibility=hidden
    -fno-exceptions -fno-rtti -ffp-contract=off -fno-math-errno '-DXF_PLUGIN_VERSION="hip"'
    -Wall -Wextra -Werror -Wno-unused-parameter -Wno-unknown-pragmas -Wno-unused-command-line-argument
    -Wno-pass-failed -Wno-unused-result)

files=()
if [ $# -gt 0 ]; then
    files=("${@/#/cuda/}")
else
    for file in cuda/*.cu; do
        case $file in cuda/cublaslt.cu | cuda/gemm_choice.cu | cuda/gemm_cublaslt.cu) ;; *) files+=("$file") ;; esac
    done
    files+=(tests/harness/hip/gemm.cpp)
fi
compile() {
    local name=${1##*/}
    "$clang" "${common[@]}" -Rpass-analysis=kernel-resource-usage -c "$1" -o "$build/$name.o" >"$build/$name.log" 2>&1
}
failed=0
for file in "${files[@]}"; do
    while [ "$(jobs -rp | wc -l)" -ge "${XF_JOBS:-2}" ]; do wait -n || failed=1; done
    compile "$file" &
done
while [ "$(jobs -p | wc -l)" -gt 0 ]; do
    wait -n || failed=1
    jobs >/dev/null # forgets those that ended
done
for file in "${files[@]}"; do
    if [ -e "$build/${file##*/}.o" ]; then continue; fi
    echo "platforms.sh: $file:"
    grep -A 4 'error:' "$build/${file##*/}.log" | head -n 20
done
[ $failed = 0 ] || exit 1
echo "platforms.sh: hip: ${#files[@]} files compiled for $arch"
if [ $# -gt 0 ]; then exit 0; fi

"$clang" -shared --hip-link "--offload-arch=$arch" "--rocm-path=$hip" -Wl,-z,defs \
    -Wl,--version-script=cuda/exports.map $build/*.o -o $build/libxformer_cuda.so "-L$libraries" -lamdhip64
nm -D --defined-only $build/libxformer_cuda.so | grep -q ' T xf_plugin_init' || {
    echo "platforms.sh: hip: the plugin does not export its entry point" >&2
    exit 1
}
echo "platforms.sh: hip: libxformer_cuda.so has $(stat -c %s $build/libxformer_cuda.so) bytes; $(awk '
    /VGPRs: / { n = $(NF - 1); if (n > vgprs) vgprs = n; ++kernels }
    /ScratchSize/ { n = $(NF - 1); if (n > 0) ++spilling }
    END { printf "%d kernels, at most %d registers, %d with scratch memory", kernels, vgprs, spilling }' $build/*.log)"
