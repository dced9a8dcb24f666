// Proves the collectives of a warp against their definitions, cp.async, and bf16.
//
// SPDX-License-Identifier: Apache-2.0
#include <random>

#include "device_buffer.hpp"

namespace {

constexpr unsigned kAll = 0xFFFFFFFFu;
constexpr int kShuffles = 7;

void shuffles(int *dst) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int x = static_cast<int>(threadIdx.x) * 10;
    int *to = dst + threadIdx.x * kShuffles;
    to[0] = __shfl_sync(kAll, x, 5);
    to[1] = __shfl_sync(kAll, x, lane + 1);
    to[2] = __shfl_xor_sync(kAll, x, 16);
    to[3] = __shfl_up_sync(kAll, x, 3);
    to[4] = static_cast<int>(__shfl_xor_sync(kAll, x * 1e10, 1) / 1e10);
    to[5] = static_cast<int>(__shfl_xor_sync(kAll, (static_cast<long long>(x) << 33) + 1, 2) >> 33);
    const unsigned half = lane < 16 ? 0x0000FFFFu : 0xFFFF0000u;
    to[6] = 0;
    for (int i = 0; i < (lane < 16 ? 3 : 5); ++i) to[6] = __shfl_xor_sync(half, x, 1);
}

XF_TEST(shuffles_move_the_right_values) {
    const Stream stream;
    const Buffer<int> dst(64 * kShuffles);
    CHECK_EQ(cuda_host::launch(shuffles, dim3(1), dim3(64), 0, stream.handle, dst.ptr), cudaSuccess);
    const std::vector<int> got = dst.get(stream);
    for (int i = 0; i < 64; ++i) {
        const int lane = i % 32, warp = i - lane;
        const int last = lane < 3 ? lane : lane - 3;
        const int want[kShuffles] = {5, (lane + 1) % 32, lane ^ 16, last, lane ^ 1, lane ^ 2, lane ^ 1};
        for (int j = 0; j < kShuffles; ++j)
            CHECK_EQ(got[static_cast<size_t>(i * kShuffles + j)], (warp + want[j]) * 10);
    }
}

using bf16 = __nv_bfloat16;

// d [16, 8] = c + a [16, 16] b [16, 8], all row-major, with fragments loaded number by number.
void product(const bf16 *a, const bf16 *b, const float *c, float *d) {
    const unsigned g = threadIdx.x / 4, t = threadIdx.x % 4 * 2;
    const auto pair = [](bf16 x, bf16 y) { return uint32_t{x.__x} | uint32_t{y.__x} << 16; };
    const auto of_a = [&](unsigned row, unsigned column) {
        return pair(a[row * 16 + column], a[row * 16 + column + 1]);
    };
    const auto of_b = [&](unsigned row) { return pair(b[row * 8 + g], b[(row + 1) * 8 + g]); };
    const uint32_t fa[4] = {of_a(g, t), of_a(g + 8, t), of_a(g, t + 8), of_a(g + 8, t + 8)};
    const uint32_t fb[2] = {of_b(t), of_b(t + 8)};
    float sum[4] = {c[g * 8 + t], c[g * 8 + t + 1], c[(g + 8) * 8 + t], c[(g + 8) * 8 + t + 1]};
    cuda_host::mma_m16n8k16_bf16(sum, fa, fb);
    d[g * 8 + t] = sum[0], d[g * 8 + t + 1] = sum[1], d[(g + 8) * 8 + t] = sum[2], d[(g + 8) * 8 + t + 1] = sum[3];
}

XF_TEST(mma_computes_a_product) {
    std::mt19937 random(5);
    std::vector<bf16> a(256), b(128);
    std::vector<float> c(128);
    const auto draw = [&] { return static_cast<float>(random() % 2001) / 1000.0f - 1.0f; };
    for (bf16 &x : a) x = draw();
    for (bf16 &x : b) x = draw();
    for (float &x : c) x = draw();
    const Stream stream;
    const Buffer<bf16> da(a), db(b);
    const Buffer<float> dc(c), dd(128);
    CHECK_EQ(cuda_host::launch(product, dim3(1), dim3(32), 0, stream.handle, da.ptr, db.ptr, dc.ptr, dd.ptr),
             cudaSuccess);
    const std::vector<float> got = dd.get(stream);
    for (size_t i = 0; i < 16; ++i)
        for (size_t j = 0; j < 8; ++j) {
            double want = c[i * 8 + j];
            for (size_t k = 0; k < 16; ++k) want += double{float{a[i * 16 + k]}} * double{float{b[k * 8 + j]}};
            CHECK_NEAR(got[i * 8 + j], want, 1e-5);
        }
}

// Four matrices whose element (matrix, row, column) is 64 matrix + 8 row + column; rows 48 bytes apart.
void matrices(uint32_t *dst) {
    auto *shared = static_cast<uint16_t *>(cuda_host::dynamic_shared());
    const unsigned lane = threadIdx.x;
    for (unsigned c = 0; c < 8; ++c) shared[lane * 24 + c] = static_cast<uint16_t>(lane * 8 + c);
    __syncwarp();
    const uint16_t *row = shared + lane * 24;
    uint32_t x4[4], x4_trans[4], x2[2], x2_trans[2];
    cuda_host::ldmatrix_x4(x4, row);
    cuda_host::ldmatrix_x4_trans(x4_trans, row);
    cuda_host::ldmatrix_x2(x2, lane < 16 ? row : nullptr);
    cuda_host::ldmatrix_x2_trans(x2_trans, lane < 16 ? row : nullptr);
    uint32_t *to = dst + 12 * lane;
    for (int i = 0; i < 4; ++i) to[i] = x4[i], to[4 + i] = x4_trans[i];
    for (int i = 0; i < 2; ++i) to[8 + i] = x2[i], to[10 + i] = x2_trans[i];
}

XF_TEST(ldmatrix_loads_the_pair_of_each_lane) {
    const Stream stream;
    const Buffer<uint32_t> dst(12 * 32);
    CHECK_EQ(cuda_host::launch(matrices, dim3(1), dim3(32), 32 * 48, stream.handle, dst.ptr), cudaSuccess);
    const std::vector<uint32_t> got = dst.get(stream);
    for (uint32_t lane = 0; lane < 32; ++lane)
        for (uint32_t i = 0; i < 12; ++i) {
            const uint32_t matrix = i < 8 ? i % 4 : i % 2, g = lane / 4, c = lane % 4 * 2;
            const bool transposed = (i >= 4 && i < 8) || i >= 10;
            const uint32_t first = 64 * matrix + (transposed ? 8 * c + g : 8 * g + c);
            CHECK_EQ(got[12 * lane + i], first | (first + (transposed ? 8u : 1u)) << 16);
        }
}

// The contents of shared memory after each step of two groups of copies, one of them not valid.
void copies(const float *src, float *dst) {
    auto *shared = static_cast<float *>(cuda_host::dynamic_shared());
    for (int i = 0; i < 12; ++i) shared[i] = -1;
    const auto note = [&](int step) {
        for (int i = 0; i < 3; ++i) dst[3 * step + i] = shared[4 * i + 3];
    };
    cuda_host::cp_async16(shared, src);
    cuda_host::cp_async_commit();
    cuda_host::cp_async16(shared + 4, src + 4);
    cuda_host::cp_async16(shared + 8, nullptr, false);
    note(0);
    cuda_host::cp_async_wait<1>();
    note(1);
    cuda_host::cp_async_wait<0>();
    note(2);
    cuda_host::cp_async_commit();
    cuda_host::cp_async_wait<1>();
    note(3);
    cuda_host::cp_async_wait<0>();
    note(4);
}

XF_TEST(asynchronous_copies_arrive_at_the_wait) {
    const Stream stream;
    const Buffer<float> src(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}), dst(15);
    CHECK_EQ(cuda_host::launch(copies, dim3(1), dim3(1), 48, stream.handle, src.ptr, dst.ptr), cudaSuccess);
    const std::vector<float> got = dst.get(stream);
    const float n = NAN;
    const float want[15] = {n, n, n, n, n, n, 4, n, n, 4, n, n, 4, 8, 0};
    for (size_t i = 0; i < 15; ++i) CHECK(std::isnan(want[i]) ? std::isnan(got[i]) : got[i] == want[i]);
}

XF_TEST(bf16_rounds_to_nearest_even) {
    const struct {
        uint32_t from;
        uint16_t to;
    } table[] = {
        {0x00000000, 0x0000}, {0x80000000, 0x8000}, {0x3F800000, 0x3F80}, {0x3F808000, 0x3F80}, {0x3F818000, 0x3F82},
        {0x3F808001, 0x3F81}, {0x3F807FFF, 0x3F80}, {0xBF818000, 0xBF82}, {0x7F7FFFFF, 0x7F80}, {0x7F7F7FFF, 0x7F7F},
        {0x7F800000, 0x7F80}, {0xFF800000, 0xFF80}, {0x7FC00000, 0x7FFF}, {0x7F800001, 0x7FFF}, {0xFFFFFFFF, 0x7FFF},
        {0x00000001, 0x0000}, {0x00008000, 0x0000}, {0x00008001, 0x0001}, {0x00018000, 0x0002},
    };
    for (const auto &row : table) CHECK_EQ(__float2bfloat16_rn(__uint_as_float(row.from)).__x, row.to);
    for (uint32_t bits = 0; bits < 65536; ++bits) {
        const float x = __uint_as_float(bits << 16);
        if (!std::isnan(x)) CHECK_EQ(__bfloat162float(__float2bfloat16_rn(x)), x);
    }
}

}  // namespace
