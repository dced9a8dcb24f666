// Own row-invariant products c = relu(a b^T + bias): the weights b [N, K] lie as the model has them, a [M, K] by rows.
// Made for the 1 to 16 rows of a decoding step, which cuBLASLt serves by an algorithm chosen for 256: its tiles leave
// most of the GPU idle, and nothing may be split along K there.
//
// The order of a sum is a function of K alone. K is cut into at most kPieces pieces of whole chunks of 32 terms; within
// a piece the terms follow each other (bf16: two mma.m16n8k16 for each chunk, see gemm_rows.cuh; fp32: one fma each),
// and the pieces' sums are added in rising order, from 0. So who computes what is free: few rows have a warp for every
// piece (gemm_rows.cu, gemm_rows_fp32.cu), many rows one that goes through all of them (gemm_rows_tile.cu,
// gemm_plain.cu), and a row's bits know no M, no tile and no address.
//
// The rule which products come here may know N, K and the types, never M. XF_CUDA_STEP_PRODUCTS says how far it goes:
//     0  none: all of them are cuBLASLt's
//     1  bf16 operands, K a multiple of 8, on tensor cores (compute capability 8.0)
//     2  fp32 operands as well
// What is traded at 1: many rows (an encoder's while decoding or evaluating) go through mma.sync with operands in
// shared memory, by estimate half of what cuBLASLt reaches on Hopper; a decoding step of few rows, of which there
// are as many as tokens, takes weights at the memory's rate. At 2 many rows would be gemm_plain's, a third of
// cuBLASLt's rate by estimate: not taken unless a measurement says so. tests/gpu.sh measures all three side by side.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gemm.h"

#ifndef XF_CUDA_STEP_PRODUCTS
#define XF_CUDA_STEP_PRODUCTS 1
#endif

struct xf_device;

namespace xf::cuda {

constexpr int kPieces = 8;
constexpr int64_t kChunk = 32;  // terms
// Terms of a piece; the last may have fewer.
constexpr int64_t piece_of(int64_t K) { return (K + kPieces * kChunk - 1) / (kPieces * kChunk) * kChunk; }

// Whether this call is one of them: by its form, N, K and types.
bool rows_are_own(const xf_device *device, const Gemm &g, int32_t level = XF_CUDA_STEP_PRODUCTS);
// Any such call, whatever the level.
int32_t gemm_rows(xf_stream *stream, const Gemm &g, xf_error *err);

// The parts of it: bf16 by kernels for few and for many rows (the same bits), fp32 likewise.
int32_t gemm_few_rows(xf_stream *stream, const Gemm &g, xf_error *err);
int32_t gemm_many_rows(xf_stream *stream, const Gemm &g, xf_error *err);
int32_t gemm_few_rows_fp32(xf_stream *stream, const Gemm &g, xf_error *err);

}  // namespace xf::cuda
