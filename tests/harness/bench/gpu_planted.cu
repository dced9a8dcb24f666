// gpu_planted: kernels with one planted fault each, which compute-sanitizer must find; part of tests/gpu.sh.
//
//     compute-sanitizer --tool TOOL gpu_planted TOOL      memcheck, racecheck, initcheck or synccheck
//
// A sanitizer whose filter matches no kernel reports nothing. Therefore this program runs first: a kernel of the same
// namespace that writes after the end of an array, races in shared memory, reads uninitialized memory, or has a barrier
// that half of a warp never reaches.
//
// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>

namespace xf::cuda {

__global__ void planted_memcheck(int *x, int n) { x[n + threadIdx.x] = 1; }
__global__ void planted_racecheck(int *x, int) {
    __shared__ int shared[64];
    shared[threadIdx.x] = static_cast<int>(threadIdx.x);
    x[threadIdx.x] = shared[63 - threadIdx.x];  // of another warp, without a barrier
}
__global__ void planted_initcheck(int *x, int n) { x[threadIdx.x] = x[n / 2 + threadIdx.x]; }
__global__ void planted_synccheck(int *x, int) {
    if (threadIdx.x % 32 < 16) __syncwarp(0xFFFFFFFFu);
    x[threadIdx.x] = 1;
}

}  // namespace xf::cuda

int main(int argc, char **argv) {
    using namespace xf::cuda;
    const struct {
        const char *name;
        void (*kernel)(int *, int);
    } all[] = {{"memcheck", planted_memcheck},
               {"racecheck", planted_racecheck},
               {"initcheck", planted_initcheck},
               {"synccheck", planted_synccheck}};
    constexpr int kNumbers = 1024;
    int *x = nullptr;
    if (argc < 2 || cudaMalloc(&x, kNumbers * sizeof *x) != cudaSuccess) {
        std::fprintf(stderr, "gpu_planted: no tool was named, or there is no GPU\n");
        return 2;
    }
    for (const auto &one : all)
        if (std::strcmp(one.name, argv[1]) == 0) one.kernel<<<1, 64>>>(x, kNumbers);
    std::printf("%s: %s\n", argv[1], cudaGetErrorString(cudaDeviceSynchronize()));
    return 0;
}
