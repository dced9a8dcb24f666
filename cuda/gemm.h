// Every matrix product of the CUDA backend goes through gemm(): cuBLASLt on a GPU (gemm_cublaslt.cu), plain loops in
// the emulation (tests/cuda_host/gemm_host.cpp). Row-major throughout.
//
//     c = relu(op(a) op(b) + beta c + bias)        op(a) [M, K], op(b) [K, N], c [M, N]
//
// fp32 operands are multiplied in fp32, never TF32; bf16 operands are summed in fp32. The sum of an element is in an
// order that depends on the call's shape alone; row_invariant: on N and K alone, so that a row's bits know neither how
// many rows there are nor which one it is; a is stored by rows then, not transposed.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#define XF_NUM_UNTYPED
#include "backend/plugin_abi.h"

namespace xf::cuda {

struct Gemm {
    int64_t M, N, K;
    const void *a;  // [M, K] rows lda apart, or with a_transposed [K, M]
    int64_t lda;
    bool a_transposed;
    const void *b;  // [K, N] rows ldb apart, or with b_transposed [N, K]
    int64_t ldb;
    bool b_transposed;
    void *c;  // rows ldc apart
    int64_t ldc;
    uint32_t operand_type;  // XF_FP32 or XF_BF16: of a and b
    uint32_t result_type;   // of c; XF_FP32, or the operands' type
    float beta;             // 0 (c is not read) or 1
    const void *bias;       // [N] of the result's type, or NULL; only with beta 0
    bool relu;              // a NaN stays one or becomes 0, as the library likes
    bool row_invariant;
};

// M or N of 0 does nothing; K of 0 gives beta c (+ bias).
int32_t gemm(xf_stream *stream, const Gemm &args, xf_error *err);
// The same by own kernels, for what the library has no algorithm for; row-invariant always. gemm_plain.cu
int32_t gemm_plain(xf_stream *stream, const Gemm &args, xf_error *err);
// The same with another number of terms, a multiple of 16, that are added before they join the sum.
int32_t gemm_plain_in_parts(xf_stream *stream, const Gemm &args, int64_t part, xf_error *err);

// Opens the library; where there is none *state is NULL, a warning in the log says why, and all products are
// gemm_plain's. Called once per device.
struct GemmState;
int32_t gemm_open(xf_device *device, GemmState **state, xf_error *err);
void gemm_close(xf_device *device, GemmState *state);
// For people: "cuBLASLt 13.1".
const char *gemm_version();

}  // namespace xf::cuda
