// The second kernel of a column sum, and the complete sum of a tensor; see column_sums.cuh.
//
// SPDX-License-Identifier: Apache-2.0
#include "column_sums.cuh"

namespace xf::cuda {
namespace {

// One block per 32 columns.
__global__ void __launch_bounds__(kSumThreads)
    add_tiles_kernel(const float *partial, int64_t tiles, int64_t N, float *dst) {
    __shared__ float warp_sums[kSumWarps][kWarp];
    const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
    const int64_t n = int64_t{blockIdx.x} * kWarp + lane;
    float sum = 0.0f;
    if (n < N)
#pragma unroll 4
        for (int64_t tile = warp; tile < tiles; tile += kSumWarps) sum += partial[tile * N + n];
    warp_sums[warp][lane] = sum;
    __syncthreads();
    if (warp != 0 || n >= N) return;
    float total = 0.0f;
#pragma unroll
    for (int w = 0; w < kSumWarps; ++w) total += warp_sums[w][lane];
    dst[n] += total;
}

template <class T>
int32_t sum_tiles(xf_stream *stream, const T *src, int64_t ld, int64_t M, int64_t N, float *partial, xf_error *err) {
    const bool vector = whole_vectors<T>(N, ld) && aligned(src);
    return launch(stream, err, "bias_tiles",
                  vector ? tile_sums_kernel<T, true, false> : tile_sums_kernel<T, false, false>, tile_grid(M, N),
                  dim3(kSumThreads), 0, static_cast<const T *>(nullptr), src, ld, M, N, partial);
}

}  // namespace

float *partial_sums(xf_stream *stream, int64_t M, int64_t N, xf_error *err) {
    return static_cast<float *>(scratch(stream, partial_bytes(M, N), err));
}

int32_t add_tiles(xf_stream *stream, const float *partial, int64_t M, int64_t N, float *dst, xf_error *err) {
    return launch(stream, err, "bias_sum", add_tiles_kernel, dim3(blocks(N, kWarp)), dim3(kSumThreads), 0, partial,
                  ceil_div(M, kSumRows), N, dst);
}

int32_t add_column_sums(xf_stream *stream, const void *src, int64_t ld, int64_t M, int64_t N, float *partial,
                        float *dst, xf_error *err) {
    const int32_t status = dispatch(stream, [&](auto zero) {
        return sum_tiles(stream, static_cast<const decltype(zero) *>(src), ld, M, N, partial, err);
    });
    return status == XF_OK ? add_tiles(stream, partial, M, N, dst, err) : status;
}

}  // namespace xf::cuda
