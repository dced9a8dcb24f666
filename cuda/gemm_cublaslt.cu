// gemm() with cuBLASLt and the algorithms of gemm_choice.h, except for the row-invariant products that gemm_rows.h
// computes.
//
// cuBLASLt's matrices are column-major. A row-major matrix read in that order is its transpose, so c = op(a) op(b) is
// requested as c^T = op(b)^T op(a)^T: the operands are exchanged and no data move.
//
// The algorithm requires rows that are as aligned as their distance allows. An operand that is not is copied first, and
// such a result is computed in a copy and copied back. The tensors of a model are always aligned.
//
// If an algorithm that was chosen for a rounded number of rows refuses the exact number, one is chosen for the exact
// shape. A row-invariant algorithm must not change, so the rows are divided into parts that it supports, with the same
// bits. If cuBLASLt has no algorithm or is missing, the kernel of gemm_plain.cu is used, for any number of rows.
//
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <new>

#include "caller.h"
#include "gemm_choice.h"
#include "gemm_rows.h"
#include "plugin.h"

namespace xf::cuda {
namespace {

constexpr int kThreads = 256;
constexpr size_t kLibraryBytes = size_t{16} << 20;  // estimate of a handle and its kernels for the context's account
constexpr size_t kStageAlignment = 256;
constexpr int64_t kBiasRow = 8;  // row distance that makes a bias 16-byte aligned or copied

template <class T>
__global__ void __launch_bounds__(kThreads)
    copy_rows_kernel(const T *src, T *dst, int64_t rows, int64_t columns, int64_t ld) {
    const int64_t step = int64_t{gridDim.x} * kThreads;
    for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < rows * columns; i += step) {
        const int64_t at = i / columns * ld + i % columns;
        dst[at] = src[at];
    }
}

template <class T>
int32_t copy_rows(xf_stream *stream, const void *src, void *dst, int64_t rows, int64_t columns, int64_t ld,
                  xf_error *err) {
    const int64_t blocks = ceil_div<int64_t>(rows * columns, kThreads),
                  most = int64_t{64} * stream->device->multiprocessors;
    return launch(stream, err, "gemm_copy", copy_rows_kernel<T>,
                  dim3(static_cast<unsigned>(blocks < most ? blocks : most)), dim3(kThreads), 0,
                  static_cast<const T *>(src), static_cast<T *>(dst), rows, columns, ld);
}

// An operand as passed to the library: the caller's memory, or a copy in the stream's workspace.
struct Staged {
    void *ptr;
    int64_t rows, columns, ld;
    uint32_t type;
    bool copied = false;
    size_t offset = 0;  // of the copy

    // Decides whether a copy is needed and reserves its space in the workspace.
    void plan(size_t *bytes) {
        copied = reinterpret_cast<uintptr_t>(ptr) % row_alignment(ld, type) != 0;
        offset = *bytes;
        if (!copied) return;
        const auto span = static_cast<size_t>((rows - 1) * ld + columns) * bytes_of(type);
        *bytes += (span + kStageAlignment - 1) / kStageAlignment * kStageAlignment;
    }
    int32_t move(xf_stream *stream, const void *src, void *dst, xf_error *err) const {
        return type == XF_BF16 ? copy_rows<uint16_t>(stream, src, dst, rows, columns, ld, err)
                               : copy_rows<uint32_t>(stream, src, dst, rows, columns, ld, err);
    }
};

int32_t run(xf_stream *stream, const Gemm &g, const Choice &choice, const Description &d, xf_error *err) {
    const GemmState &state = *stream->device->gemm;
    Staged a{const_cast<void *>(g.a), g.a_transposed ? g.K : g.M, g.a_transposed ? g.M : g.K, g.lda, g.operand_type};
    Staged b{const_cast<void *>(g.b), g.b_transposed ? g.N : g.K, g.b_transposed ? g.K : g.N, g.ldb, g.operand_type};
    Staged c{g.c, g.M, g.N, g.ldc, g.result_type};
    Staged bias{const_cast<void *>(g.bias), 1, g.N, kBiasRow, g.result_type};
    size_t bytes = state.workspace;
    for (Staged *part : {&a, &b, &c, &bias}) part->plan(&bytes);
    auto *const space = static_cast<unsigned char *>(workspace(stream, bytes, err));
    if (space == nullptr) return err->status;
    int32_t status = XF_OK;
    for (Staged *part : {&a, &b, &c, &bias}) {
        if (!part->copied || status != XF_OK) continue;
        void *const copy = space + part->offset;
        if (part != &c || g.beta != 0.0f) status = part->move(stream, part->ptr, copy, err);
        part->ptr = copy;
    }
    if (status != XF_OK) return status;
    const CublasLt &lt = cublaslt();
    const float one = 1.0f;
    const void *const bias_ptr = bias.ptr;
    cublasStatus_t code = CUBLAS_STATUS_SUCCESS;
    if (g.bias != nullptr)
        code = lt.MatmulDescSetAttribute(d.product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias_ptr, sizeof bias_ptr);
    if (code == CUBLAS_STATUS_SUCCESS)
        code = lt.Matmul(state.handle, d.product, &one, b.ptr, d.first, a.ptr, d.second, &g.beta, c.ptr, d.result,
                         c.ptr, d.result, &choice.algorithm, space, state.workspace, stream->stream);
    status = check_library(stream, code, "a product", err);
    if (status == XF_OK && c.copied) status = c.move(stream, c.ptr, g.c, err);
    return status;
}

// A row-invariant product whose number of rows the algorithm refuses, as products of numbers of rows that it has
// accepted when it was chosen.
int32_t run_in_parts(xf_stream *stream, const Gemm &g, const Choice &choice, xf_error *err) {
    int64_t row = 0;
    for (auto rows = std::rbegin(kTrialRows); rows != std::rend(kTrialRows); ++rows) {
        if (row + *rows > g.M) continue;
        Description d;
        int32_t status = check_library(stream, d.make(choice.key, *rows, g.K), "a product", err);
        if (status != XF_OK) return status;
        const cublasStatus_t fits = check_algorithm(*stream->device->gemm, d, choice.algorithm);
        if (fits == CUBLAS_STATUS_ALLOC_FAILED) return check_library(stream, fits, "a product", err);
        for (; fits == CUBLAS_STATUS_SUCCESS && row + *rows <= g.M; row += *rows) {
            Gemm part = g;
            part.M = *rows;
            part.a = static_cast<const char *>(g.a) + static_cast<size_t>(row * g.lda) * bytes_of(g.operand_type);
            part.c = static_cast<char *>(g.c) + static_cast<size_t>(row * g.ldc) * bytes_of(g.result_type);
            status = run(stream, part, choice, d, err);
            if (status != XF_OK) return status;
        }
    }
    if (row == g.M) return XF_OK;
    return fail(err, XF_ERROR_BACKEND, "cuBLASLt refuses %lld x %lld x %lld with the algorithm of other row counts",
                static_cast<long long>(g.M), static_cast<long long>(g.N), static_cast<long long>(g.K));
}

}  // namespace

int32_t gemm(xf_stream *stream, const Gemm &g, xf_error *err) {
    if (g.M == 0 || g.N == 0) return XF_OK;
    if (rows_are_own(stream->device, g)) return gemm_rows(stream, g, err);
    if (g.K == 0 || stream->device->gemm == nullptr) return gemm_plain(stream, g, err);
    xf_error own;
    if (err == nullptr) err = &own;
    // Tries the algorithm for the rounded number of rows first, then that for the exact shape.
    for (const bool exact : {false, true}) {
        Choice choice;
        int32_t status = choose(stream, make_key(g, exact), &choice, err);
        if (status != XF_OK) return status;
        if (choice.plain) break;
        Description d;
        status = check_library(stream, d.make(choice.key, g.M, g.K), "a product", err);
        if (status != XF_OK) return status;
        const bool asked = choice.key.M == g.M && choice.key.K == g.K;
        const cublasStatus_t fits =
            asked ? CUBLAS_STATUS_SUCCESS : check_algorithm(*stream->device->gemm, d, choice.algorithm);
        if (fits == CUBLAS_STATUS_SUCCESS) return run(stream, g, choice, d, err);
        if (fits == CUBLAS_STATUS_ALLOC_FAILED) return check_library(stream, fits, "a product", err);
        if (g.row_invariant) return run_in_parts(stream, g, choice, err);
    }
    return gemm_plain(stream, g, err);
}

int32_t gemm_open(xf_device *device, GemmState **state, xf_error *err) {
    const xf_host_v1 *host = device->host;
    *state = nullptr;
    if (cublaslt().missing[0] != 0) {
        char text[320];
        std::snprintf(text, sizeof text, "%s Own kernels of the plugin compute matrix products, many times slower.",
                      cublaslt().missing);
        host->log(host->user, 1, "cuda", text);
        return XF_OK;
    }
    void *memory = host->alloc(host->user, sizeof(GemmState));
    if (memory == nullptr) return fail(err, XF_ERROR_NO_MEMORY, "out of memory for the table of matrix products");
    auto *made = new (memory) GemmState{};
    made->workspace = (device->capability >= 90 ? size_t{32} : size_t{4}) << 20;
    const cublasStatus_t code = cublaslt().Create(&made->handle);
    if (code != CUBLAS_STATUS_SUCCESS) {
        made->~GemmState();
        host->free(host->user, memory, sizeof(GemmState));
        return fail(err, code == CUBLAS_STATUS_ALLOC_FAILED ? XF_ERROR_NO_MEMORY : XF_ERROR_BACKEND,
                    "cuBLASLt cannot be initialized: %s", cublaslt().GetStatusString(code));
    }
    // Its kernels are loaded at first use, and their size cannot be queried.
    const int32_t status = account(device, kLibraryBytes, err);
    if (status != XF_OK) {
        cublaslt().Destroy(made->handle);
        made->~GemmState();
        host->free(host->user, memory, sizeof(GemmState));
        return status;
    }
    *state = made;
    return XF_OK;
}

void gemm_close(xf_device *device, GemmState *state) {
    if (state == nullptr) return;
    if (owns(device)) cublaslt().Destroy(state->handle);
    give_back(device, kLibraryBytes);
    state->~GemmState();
    device->host->free(device->host->user, state, sizeof(GemmState));
}

}  // namespace xf::cuda
