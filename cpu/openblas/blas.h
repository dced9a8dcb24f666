// The five functions through which the plugin uses OpenBLAS; blas.cpp explains how and when.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace xf::openblas {

// Returns a description such as "OpenBLAS 0.3.21 ... SINGLE_THREADED", or a note that OpenBLAS is not used.
const char *blas_info();

// Returns whether the plugin was built with OpenBLAS and OpenBLAS has kernels for this processor.
bool has_blas();

// Maps work buffers for up to `threads` threads now, so that no later call has to. Maps fewer if the address space is
// exhausted; a call that finds no free buffer waits for one. Returns false if not even one buffer could be mapped.
bool blas_reserve(int32_t threads);

// C = A B + beta C, row-major, on the calling thread. transpose_a: A is stored [K, M]; transpose_b: B is [N, K].
void blas_gemm(bool transpose_a, bool transpose_b, int64_t M, int64_t N, int64_t K, const float *a, int64_t lda,
               const float *b, int64_t ldb, float beta, float *c, int64_t ldc);

}  // namespace xf::openblas
