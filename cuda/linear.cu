// Linear maps (paper s. 3.2.2, eq. 2; the feed-forward s. 3.3): forward, gradient of the input, of the weights.
//
//     dst = act(src W^T + b)        diff_src = diff_dst W        diff_W += diff_dst^T src,  diff_b += column sums
//
// The products are gemm()'s. Own kernels here: the mask of a ReLU's gradient, and the column sums. The mask's kernel
// adds the columns of what it writes, the gradient of the bias before the ReLU, which else would be read once more.
//
// Column sums: a block adds a tile of 256 rows of 256 columns. A warp-wide line of threads has eight columns each; line
// w adds rows w, w + 8, w + 16 ... of the tile, and the eight lines are added in order. A second kernel adds the tiles
// of a column the same way: line w tiles w, w + 8 ..., then the lines in order. So the order of a sum is a function of
// M alone.
//
// Bound, by memory: the mask reads relu_dst and reads and writes diff_src, 3 M K numbers; the sums read M N numbers.
// At M = 25k, width 2048 and bf16 that is 310 MB, 72 us on an H200, and 102 MB, 24 us.
//
// SPDX-License-Identifier: Apache-2.0
#include <type_traits>

#include "gemm.h"
#include "ops.h"
#include "rows.cuh"

namespace xf::cuda {
namespace {

constexpr int kThreads = 256, kLines = kThreads / kWarp;
constexpr int64_t kSumRows = 256, kSumColumns = kWarp * kEight;
constexpr int kFlight = 4;  // rows on their way at a time

// Line w holds sums of eight columns per lane; column c of the block gets the sum over the lines, in order.
__device__ inline float sum_lines(const float (&sum)[kEight], float (&lines)[kLines][kSumColumns]) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp, line = static_cast<int>(threadIdx.x) / kWarp;
#pragma unroll
    for (int j = 0; j < kEight; ++j) lines[line][lane + j * kWarp] = sum[j];  // one bank per lane
    __syncthreads();
    const int c = static_cast<int>(threadIdx.x), at = c / kEight + c % kEight * kWarp;
    float total = 0.0f;
#pragma unroll
    for (int w = 0; w < kLines; ++w) total += lines[w][at];
    return total;
}

// partial[tile, n] = sum of src over the rows of the tile, unless partial is NULL. kMask: src becomes 0 before, where
// relu <= 0.
template <class T, bool kVector, bool kMask>
__global__ void __launch_bounds__(kThreads) tile_sums_kernel(const T *relu, std::conditional_t<kMask, T, const T> *src,
                                                             int64_t ld, int64_t M, int64_t N, float *partial) {
    __shared__ float lines[kLines][kSumColumns];
    const int64_t n0 = blockIdx.y * kSumColumns, n = n0 + threadIdx.x % kWarp * kEight;
    const int64_t first = blockIdx.x * kSumRows + threadIdx.x / kWarp;
    const int64_t end = (blockIdx.x + 1) * kSumRows < M ? (blockIdx.x + 1) * kSumRows : M;
    float sum[kEight] = {};
    for (int64_t m = first; m < end; m += kFlight * kLines) {
        Eight<T> masks[kFlight], rows[kFlight];
#pragma unroll
        for (int i = 0; i < kFlight; ++i) {
            const int64_t row = m + i * kLines, width = row < end ? N : 0;  // no row: nothing is read
            if constexpr (kMask) masks[i] = load8<kVector>(relu + row * N, n, width);
            rows[i] = load8<kVector>(src + row * ld, n, width);
        }
#pragma unroll
        for (int i = 0; i < kFlight; ++i) {
            const int64_t row = m + i * kLines;
            if constexpr (kMask) {
#pragma unroll
                for (int j = 0; j < kEight; ++j)
                    if (masks[i][j] <= 0.0f) rows[i].x[j] = from_float<T>(0.0f);
                store8<kVector>(src + row * ld, n, row < end ? N : 0, rows[i]);
            }
            if (row < end)
#pragma unroll
                for (int j = 0; j < kEight; ++j) sum[j] += rows[i][j];
        }
    }
    if (partial == nullptr) return;  // the whole grid
    const float total = sum_lines(sum, lines);
    if (n0 + threadIdx.x < N) partial[blockIdx.x * N + n0 + threadIdx.x] = total;
}

// bias[n] += sum over the tiles of partial[tile, n]; a block has 32 columns
__global__ void __launch_bounds__(kThreads)
    add_tiles_kernel(const float *partial, int64_t tiles, int64_t N, float *bias) {
    __shared__ float lines[kLines][kWarp];
    const int lane = static_cast<int>(threadIdx.x) % kWarp, line = static_cast<int>(threadIdx.x) / kWarp;
    const int64_t n = int64_t{blockIdx.x} * kWarp + lane;
    float sum = 0.0f;
    if (n < N)
#pragma unroll 4
        for (int64_t tile = line; tile < tiles; tile += kLines) sum += partial[tile * N + n];
    lines[line][lane] = sum;
    __syncthreads();
    if (line != 0 || n >= N) return;
    float total = 0.0f;
#pragma unroll
    for (int w = 0; w < kLines; ++w) total += lines[w][lane];
    bias[n] += total;
}

template <class T>
bool whole_vectors(int64_t columns, int64_t ld) {
    return columns % kEight == 0 && ld * static_cast<int64_t>(sizeof(T)) % 16 == 0;
}

unsigned blocks(int64_t count, int64_t each) { return static_cast<unsigned>(ceil_div(count, each)); }

// Memory for the sums of a tensor's tiles.
float *partial_sums(xf_stream *stream, int64_t M, int64_t N, xf_error *err) {
    return static_cast<float *>(scratch(stream, static_cast<size_t>(ceil_div(M, kSumRows) * N) * sizeof(float), err));
}

dim3 tile_grid(int64_t M, int64_t N) { return dim3(blocks(M, kSumRows), blocks(N, kSumColumns)); }

int32_t add_tiles(xf_stream *stream, const float *partial, int64_t M, int64_t N, float *bias, xf_error *err) {
    return launch(stream, err, "bias_sum", add_tiles_kernel, dim3(blocks(N, kWarp)), dim3(kThreads), 0, partial,
                  ceil_div(M, kSumRows), N, bias);
}

template <class T>
int32_t mask(xf_stream *stream, const xf_linear_bwd_data &a, xf_error *err) {
    float *partial = nullptr;
    if (a.diff_relu_bias != nullptr && (partial = partial_sums(stream, a.M, a.K, err)) == nullptr)
        return err != nullptr ? err->status : XF_ERROR_NO_MEMORY;
    const auto *relu_dst = static_cast<const T *>(a.relu_dst);
    auto *diff_src = static_cast<T *>(a.diff_src);
    const bool vector = whole_vectors<T>(a.K, a.ld_diff_src) && aligned(relu_dst, diff_src);
    const int32_t status =
        launch(stream, err, "relu_mask", vector ? tile_sums_kernel<T, true, true> : tile_sums_kernel<T, false, true>,
               tile_grid(a.M, a.K), dim3(kThreads), 0, relu_dst, diff_src, a.ld_diff_src, a.M, a.K, partial);
    if (status != XF_OK || partial == nullptr) return status;
    return add_tiles(stream, partial, a.M, a.K, a.diff_relu_bias, err);
}

template <class T>
int32_t add_column_sums(xf_stream *stream, const xf_linear_bwd_weights &a, xf_error *err) {
    float *partial = partial_sums(stream, a.M, a.N, err);
    if (partial == nullptr) return err != nullptr ? err->status : XF_ERROR_NO_MEMORY;
    const auto *diff_dst = static_cast<const T *>(a.diff_dst);
    const bool vector = whole_vectors<T>(a.N, a.ld_diff_dst) && aligned(diff_dst);
    const int32_t status =
        launch(stream, err, "bias_tiles", vector ? tile_sums_kernel<T, true, false> : tile_sums_kernel<T, false, false>,
               tile_grid(a.M, a.N), dim3(kThreads), 0, static_cast<const T *>(nullptr), diff_dst, a.ld_diff_dst, a.M,
               a.N, partial);
    return status == XF_OK ? add_tiles(stream, partial, a.M, a.N, a.diff_bias, err) : status;
}

}  // namespace

int32_t linear_fwd(xf_stream *stream, const xf_linear_fwd *args, xf_error *err) {
    const xf_linear_fwd &a = *args;
    Gemm g{};
    g.M = a.M, g.N = a.N, g.K = a.K;
    g.a = a.src, g.lda = a.ld_src;
    g.b = a.weights, g.ldb = a.K, g.b_transposed = true;
    g.c = a.dst, g.ldc = a.ld_dst;
    g.operand_type = g.result_type = stream->dtype;
    g.bias = a.bias;
    g.relu = (a.flags & XF_LINEAR_RELU) != 0;
    g.row_invariant = (a.flags & XF_LINEAR_ROW_INVARIANT) != 0;
    return gemm(stream, g, err);
}

int32_t linear_bwd_data(xf_stream *stream, const xf_linear_bwd_data *args, xf_error *err) {
    const xf_linear_bwd_data &a = *args;
    Gemm g{};
    g.M = a.M, g.N = a.K, g.K = a.N;
    g.a = a.diff_dst, g.lda = a.ld_diff_dst;
    g.b = a.weights, g.ldb = a.K;
    g.c = a.diff_src, g.ldc = a.ld_diff_src;
    g.operand_type = g.result_type = stream->dtype;
    g.beta = a.accumulate ? 1.0f : 0.0f;
    const int32_t status = gemm(stream, g, err);
    if (status != XF_OK || a.relu_dst == nullptr || a.M == 0) return status;
    return dispatch(stream, [&](auto zero) { return mask<decltype(zero)>(stream, a, err); });
}

int32_t linear_bwd_weights(xf_stream *stream, const xf_linear_bwd_weights *args, xf_error *err) {
    const xf_linear_bwd_weights &a = *args;
    if (a.M == 0) return XF_OK;  // sums of no terms, added
    Gemm g{};
    g.M = a.N, g.N = a.K, g.K = a.M;
    g.a = a.diff_dst, g.lda = a.ld_diff_dst, g.a_transposed = true;
    g.b = a.src, g.ldb = a.ld_src;
    g.c = a.diff_weights, g.ldc = a.K;
    g.operand_type = stream->dtype;
    g.result_type = XF_FP32;
    g.beta = 1.0f;
    const int32_t status = gemm(stream, g, err);
    if (status != XF_OK || a.diff_bias == nullptr) return status;
    return dispatch(stream, [&](auto zero) { return add_column_sums<decltype(zero)>(stream, a, err); });
}

}  // namespace xf::cuda
