// All matrix products of the CUDA backend use gemm(): cuBLASLt on a GPU (gemm_cublaslt.cu), plain loops in the
// emulation (tests/harness/cuda_host/gemm_host.cpp). Matrices are row-major.
//
//     c = relu(op(a) op(b) + beta c + bias)        op(a) [M, K], op(b) [K, N], c [M, N]
//
// fp32 operands are multiplied in fp32, never in TF32; bf16 operands are accumulated in fp32. The order of each sum
// depends only on the shape of the call. With row_invariant it depends only on N and K, so the bits of a row depend
// neither on the number of rows nor on its index; a must then be row-major, not transposed.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#define XF_NUM_UNTYPED
#include "backend/plugin_abi.h"

namespace xf::cuda {

struct Gemm {
    int64_t M, N, K;
    const void *a;  // [M, K], or [K, M] with a_transposed; rows are lda apart
    int64_t lda;
    bool a_transposed;
    const void *b;  // [K, N], or [N, K] with b_transposed; rows are ldb apart
    int64_t ldb;
    bool b_transposed;
    void *c;  // [M, N], rows are ldc apart
    int64_t ldc;
    uint32_t operand_type;  // type of a and b: XF_FP32 or XF_BF16
    uint32_t result_type;   // type of c: XF_FP32 or operand_type
    float beta;             // 0 (c is not read) or 1
    const void *bias;       // [N] of result_type, or NULL; only with beta 0
    bool relu;              // NaN stays NaN or becomes 0, depending on the algorithm
    bool row_invariant;
};

// Does nothing if M or N is 0. If K is 0 the result is beta c (+ bias).
int32_t gemm(xf_stream *stream, const Gemm &args, xf_error *err);
// The same by a kernel of this plugin (gemm_plain.cu), for shapes that cuBLASLt does not support. Always row-invariant.
int32_t gemm_plain(xf_stream *stream, const Gemm &args, xf_error *err);
// The same, with `part` terms (a multiple of 16) per partial sum.
int32_t gemm_plain_in_parts(xf_stream *stream, const Gemm &args, int64_t part, xf_error *err);

// Opens cuBLASLt; called once per device. If it is missing, *state is NULL, a warning in the log gives the reason, and
// gemm_plain computes all products.
struct GemmState;
int32_t gemm_open(xf_device *device, GemmState **state, xf_error *err);
void gemm_close(xf_device *device, GemmState *state);
// A description for the log and for device_info, such as "cuBLASLt 13.1".
const char *gemm_version();

}  // namespace xf::cuda
