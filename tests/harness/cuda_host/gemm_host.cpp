// gemm() of the emulation: plain loops instead of a library (see cuda/gemm.h), queued on the stream as one task. The
// detector of races uses the plugin's own kernels where it can.
//
// An element is the sum of eight interleaved partial sums over k, each in blocks of 256 products, added in a fixed
// tree. So its bits depend on its row of op(a) and its column of op(b) alone, for every instruction set: products and
// sums are rounded one by one.
//
// SPDX-License-Identifier: Apache-2.0
#include "gemm.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "common.cuh"
#include "emulator.h"
#include "gemm_rows.h"
#include "races.h"

namespace xf::cuda {

struct GemmState {
    int32_t unused;
};

namespace {

typedef float Lanes __attribute__((vector_size(32), aligned(4), may_alias));
constexpr int kLanes = 8;
constexpr int64_t kTile = 32;   // rows and columns packed at a time
constexpr int64_t kBlock = 32;  // vectors of products added before they join the sum
constexpr int kColumns = 4;     // of c at once

#define XF_ALWAYS_INLINE inline __attribute__((always_inline))

// out[j] = row . columns[j]; all of length `vectors`, the columns concatenated.
XF_ALWAYS_INLINE void dots(const Lanes *row, const Lanes *columns, int64_t vectors, float *out) {
    Lanes sums[kColumns] = {};
    for (int64_t begin = 0; begin < vectors; begin += kBlock) {
        const int64_t end = std::min(begin + kBlock, vectors);
        Lanes part[kColumns] = {};
        for (int64_t k = begin; k < end; ++k)
            for (int j = 0; j < kColumns; ++j) part[j] += row[k] * columns[j * vectors + k];
        for (int j = 0; j < kColumns; ++j) sums[j] += part[j];
    }
    for (int j = 0; j < kColumns; ++j) {
        const Lanes s = sums[j];
        out[j] = ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
    }
}

XF_ALWAYS_INLINE void tile(const Lanes *a, const Lanes *b, int64_t rows, int64_t vectors, float *out) {
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < kTile; j += kColumns)
            dots(a + i * vectors, b + j * vectors, vectors, out + i * kTile + j);
}

void tile_base(const Lanes *a, const Lanes *b, int64_t rows, int64_t vectors, float *out) {
    tile(a, b, rows, vectors, out);
}
#ifdef __x86_64__
__attribute__((target("avx2"))) void tile_avx2(const Lanes *a, const Lanes *b, int64_t rows, int64_t vectors,
                                               float *out) {
    tile(a, b, rows, vectors, out);
}
bool have_avx2() { return __builtin_cpu_supports("avx2"); }
#else
constexpr auto tile_avx2 = tile_base;
bool have_avx2() { return false; }
#endif

template <class T>
void read(const T *src, int64_t ld, bool transposed, int64_t first, int64_t count, int64_t K, int64_t stride,
          float *to) {
    for (int64_t i = 0; i < count; ++i) {
        const int64_t row = first + i;
        for (int64_t k = 0; k < K; ++k)
            to[i * stride + k] = to_float(transposed ? src[k * ld + row] : src[row * ld + k]);
    }
}

// Rows first .. of op(a), or columns of op(b), along k, with zeros up to a multiple of the lanes.
void pack(const void *src, uint32_t type, int64_t ld, bool transposed, int64_t first, int64_t count, int64_t K,
          std::vector<float> &to) {
    std::fill(to.begin(), to.end(), 0.0f);
    const int64_t stride = static_cast<int64_t>(to.size()) / kTile;
    if (type == XF_BF16)
        read(static_cast<const bf16 *>(src), ld, transposed, first, count, K, stride, to.data());
    else
        read(static_cast<const float *>(src), ld, transposed, first, count, K, stride, to.data());
}

template <class T>
void store(const Gemm &g, int64_t row, int64_t column, const float *tile_row, int64_t count) {
    T *const c = static_cast<T *>(g.c) + row * g.ldc + column;
    for (int64_t j = 0; j < count; ++j) {
        float x = tile_row[j];
        if (g.beta != 0.0f) x += g.beta * to_float(c[j]);
        if (g.bias != nullptr) x += to_float(static_cast<const T *>(g.bias)[column + j]);
        if (g.relu && x < 0.0f) x = 0.0f;
        c[j] = from_float<T>(x);
    }
}

void multiply(const Gemm &g) {
    const auto rows_of = [](const void *ptr, uint32_t type, int64_t rows, int64_t columns, int64_t ld, const auto &f) {
        const int64_t size = type == XF_BF16 ? 2 : 4;
        for (int64_t i = 0; i < rows; ++i)
            f(static_cast<const char *>(ptr) + i * ld * size, static_cast<size_t>(columns * size));
    };
    namespace races = cuda_host::races;
    rows_of(g.a, g.operand_type, g.a_transposed ? g.K : g.M, g.a_transposed ? g.M : g.K, g.lda, races::read);
    rows_of(g.b, g.operand_type, g.b_transposed ? g.N : g.K, g.b_transposed ? g.K : g.N, g.ldb, races::read);
    if (g.bias != nullptr) rows_of(g.bias, g.result_type, 1, g.N, 0, races::read);
    if (g.beta != 0.0f) rows_of(g.c, g.result_type, g.M, g.N, g.ldc, races::read);
    rows_of(g.c, g.result_type, g.M, g.N, g.ldc, races::write);
    const int64_t vectors = ceil_div<int64_t>(g.K, kLanes);
    std::vector<float> a(static_cast<size_t>(kTile * vectors * kLanes)), b(a.size());
    float out[kTile * kTile];
    const auto product = have_avx2() ? tile_avx2 : tile_base;
    for (int64_t n = 0; n < g.N; n += kTile) {
        const int64_t columns = std::min(kTile, g.N - n);
        if (g.K > 0) pack(g.b, g.operand_type, g.ldb, !g.b_transposed, n, columns, g.K, b);
        for (int64_t m = 0; m < g.M; m += kTile) {
            const int64_t rows = std::min(kTile, g.M - m);
            if (g.K > 0) pack(g.a, g.operand_type, g.lda, g.a_transposed, m, rows, g.K, a);
            product(reinterpret_cast<const Lanes *>(a.data()), reinterpret_cast<const Lanes *>(b.data()), rows, vectors,
                    out);
            for (int64_t i = 0; i < rows; ++i) {
                if (g.result_type == XF_BF16)
                    store<bf16>(g, m + i, n, out + i * kTile, columns);
                else
                    store<float>(g, m + i, n, out + i * kTile, columns);
            }
        }
    }
}

}  // namespace

int32_t gemm(xf_stream *stream, const Gemm &args, xf_error *err) {
    if (args.M == 0 || args.N == 0) return XF_OK;
#ifdef XF_CUDA_HOST_RACES
    // The kernels of the plugin, so that they are checked, too. Large products would take minutes.
    if (rows_are_own(stream->device, args, 2)) return gemm_rows(stream, args, err);
    if (args.M * args.N * args.K <= int64_t{1} << 18) return gemm_plain(stream, args, err);
#endif
    return check(stream->device, cuda_host::enqueue(stream->stream, cuda_host::make_task([args] { multiply(args); })),
                 "gemm", err);
}

int32_t gemm_open(xf_device *, GemmState **state, xf_error *) {
    *state = new GemmState{};
    return XF_OK;
}

void gemm_close(xf_device *, GemmState *state) { delete state; }

const char *gemm_version() { return "plain loops"; }

}  // namespace xf::cuda
