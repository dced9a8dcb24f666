// Row-invariant products c = relu(a b^T + bias) by kernels of this plugin. The weights b [N, K] are used in the model's
// order; a is [M, K], row-major. They are written for the 1 to 16 rows of a decoding step. cuBLASLt would use an
// algorithm chosen for 256 rows, whose tiles leave most of the GPU idle and which cannot split K.
//
// The order of a sum depends only on K. K is split into at most kSplits ranges of whole chunks of 32 terms. Within a
// range the terms are added in sequence (bf16: two mma.m16n8k16 per chunk, see gemm_rows.cuh; fp32: one fma each), and
// the sums of the ranges are added in increasing order, starting from 0. The assignment of work to warps is therefore
// free: with few rows each range has its own warp (gemm_rows.cu, gemm_rows_fp32.cu), with many rows one warp computes
// all ranges (gemm_rows_tile.cu, gemm_plain.cu). The bits of a row do not depend on M, on its tile, or on addresses.
//
// Which products use these kernels may depend on N, K, and the types, but not on M. XF_CUDA_STEP_PRODUCTS selects them:
//     0  none: cuBLASLt computes all
//     1  bf16 operands with K a multiple of 8, on tensor cores (compute capability 8.0)
//     2  fp32 operands as well
// Level 1 is a trade-off. Products of many rows (an encoder during decoding or evaluation) use mma.sync with operands
// in shared memory, which by estimate reaches half of cuBLASLt's rate on Hopper. Decoding steps of few rows, of which
// there is one per token, read the weights at memory bandwidth. At level 2 products of many rows would use gemm_plain,
// by estimate at a third of cuBLASLt's rate; it is off unless a measurement justifies it. tests/gpu.sh measures all
// three levels.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gemm.h"

#ifndef XF_CUDA_STEP_PRODUCTS
#define XF_CUDA_STEP_PRODUCTS 1
#endif

struct xf_device;

namespace xf::cuda {

constexpr int kSplits = 8;
constexpr int64_t kChunk = 32;  // terms
// Number of terms per split of K; the last split may have fewer.
constexpr int64_t split_depth(int64_t K) { return (K + kSplits * kChunk - 1) / (kSplits * kChunk) * kChunk; }

// Returns whether these kernels compute this call: depends on its form, N, K, and types.
bool rows_are_own(const xf_device *device, const Gemm &g, int32_t level = XF_CUDA_STEP_PRODUCTS);
// Computes any such call at every level.
int32_t gemm_rows(xf_stream *stream, const Gemm &g, xf_error *err);

// The implementations: bf16 for few and for many rows (with the same bits), and fp32 for few rows.
int32_t gemm_few_rows(xf_stream *stream, const Gemm &g, xf_error *err);
int32_t gemm_many_rows(xf_stream *stream, const Gemm &g, xf_error *err);
int32_t gemm_few_rows_fp32(xf_stream *stream, const Gemm &g, xf_error *err);

}  // namespace xf::cuda
