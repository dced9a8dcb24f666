// Proves the emulation's matrix product against plain sums in double, and that a row's bits know nothing of the others.
//
// SPDX-License-Identifier: Apache-2.0
#include "gemm.h"

#include <cstring>
#include <random>

#include "common.cuh"
#include "device_buffer.hpp"

// The plugin's own, which is not in this program.
int32_t xf::cuda::check(xf_device *, cudaError_t code, const char *, xf_error *) {
    return code == cudaSuccess ? XF_OK : XF_ERROR_BACKEND;
}

namespace {

using xf::cuda::bf16;
using xf::cuda::Gemm;

template <class T>
std::vector<T> draw(size_t count, uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<T> x(count);
    for (T &value : x) value = static_cast<float>(random() % 20001) / 10000.0f - 1.0f;
    return x;
}

template <class T, class R>
void check_product(int64_t M, int64_t N, int64_t K, bool a_transposed, bool b_transposed, float beta, bool bias,
                   bool relu) {
    const int64_t lda = (a_transposed ? M : K) + 3, ldb = (b_transposed ? K : N) + 1, ldc = N + 2;
    const auto size = [](int64_t n) { return static_cast<size_t>(n); };
    const auto a = draw<T>(size((a_transposed ? K : M) * lda), 1), b = draw<T>(size((b_transposed ? N : K) * ldb), 2);
    const auto c = draw<R>(size(M * ldc), 3);
    const auto add = draw<R>(size(N), 4);
    Stream stream;
    xf_stream holder{};
    holder.stream = stream.handle;
    const Buffer<T> da(a), db(b);
    const Buffer<R> dc(c);
    const Buffer<R> dbias(add);
    const uint32_t type = sizeof(T) == 2 ? XF_BF16 : XF_FP32, result = sizeof(R) == 2 ? XF_BF16 : XF_FP32;
    const Gemm args{M,      N,    K,
                    da.ptr, lda,  a_transposed,
                    db.ptr, ldb,  b_transposed,
                    dc.ptr, ldc,  type,
                    result, beta, bias ? dbias.ptr : nullptr,
                    relu,   true};
    CHECK_EQ(xf::cuda::gemm(&holder, args, nullptr), XF_OK);
    const std::vector<R> got = dc.get(stream);
    for (int64_t i = 0; i < M; ++i)
        for (int64_t j = 0; j < N; ++j) {
            double want = beta * double{float{c[size(i * ldc + j)]}} + (bias ? float{add[size(j)]} : 0.0f);
            for (int64_t k = 0; k < K; ++k)
                want += double{float{a[size(a_transposed ? k * lda + i : i * lda + k)]}} *
                        double{float{b[size(b_transposed ? j * ldb + k : k * ldb + j)]}};
            if (relu && want < 0) want = 0;
            CHECK_NEAR(float{got[size(i * ldc + j)]}, want, sizeof(R) == 2 ? 4e-3 * std::fabs(want) + 1e-5 : 2e-5);
        }
    for (int64_t i = 0; i < M; ++i)  // between the rows nothing is written
        CHECK_EQ(float{got[size(i * ldc + N)]}, float{c[size(i * ldc + N)]});
    // One row by itself has the bits it had among the others.
    Gemm one = args;
    const int64_t row = M / 2;
    one.M = 1;
    one.a = da.ptr + row * (a_transposed ? 1 : lda);
    one.c = dc.ptr + row * ldc;
    CHECK_EQ(cudaMemcpyAsync(dc.ptr, c.data(), c.size() * sizeof(R), cudaMemcpyHostToDevice, stream.handle),
             cudaSuccess);
    CHECK_EQ(xf::cuda::gemm(&holder, one, nullptr), XF_OK);
    const std::vector<R> again = dc.get(stream);
    CHECK_EQ(std::memcmp(&again[size(row * ldc)], &got[size(row * ldc)], size(N) * sizeof(R)), 0);
}

XF_TEST(products_are_correct) {
    for (const bool a_transposed : {false, true})
        for (const bool b_transposed : {false, true}) {
            check_product<float, float>(37, 33, 300, a_transposed, b_transposed, 0, true, true);
            check_product<float, float>(5, 70, 7, a_transposed, b_transposed, 1, false, false);
            check_product<bf16, bf16>(34, 9, 65, a_transposed, b_transposed, 0, true, false);
            check_product<bf16, float>(3, 4, 1000, a_transposed, b_transposed, 1, false, false);
        }
    check_product<float, float>(3, 5, 0, false, false, 0, true, false);
    check_product<float, float>(3, 5, 0, false, false, 1, false, false);
}

XF_TEST(products_are_queued_and_keep_nans) {
    Stream stream;
    xf_stream holder{};
    holder.stream = stream.handle;
    const Buffer<float> a(std::vector<float>{NAN, 1}), b(std::vector<float>{1, 1}), c(std::vector<float>{5});
    const Gemm args{1, 1, 2, a.ptr, 2, false, b.ptr, 1, false, c.ptr, 1, XF_FP32, XF_FP32, 0, nullptr, true, false};
    CHECK_EQ(xf::cuda::gemm(&holder, args, nullptr), XF_OK);
    CHECK_EQ(c.ptr[0], 5.0f);
    CHECK(std::isnan(c.get(stream)[0]));
    Gemm empty = args;
    empty.M = 0;
    CHECK_EQ(xf::cuda::gemm(&holder, empty, nullptr), XF_OK);
}

}  // namespace
