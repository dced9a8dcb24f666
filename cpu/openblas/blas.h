// OpenBLAS behind five functions; see blas.cpp for what is used of it and why so little.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace xf::openblas {

// One line for people: "OpenBLAS 0.3.21 ... SINGLE_THREADED", or that the plugin was built without.
const char *blas_info();

// Whether the plugin was built with it, and it has kernels for this processor.
bool has_blas();

// Makes OpenBLAS map the work buffers of this many threads now, so that no later call has to; as many as there is
// address space for, since a call without one waits. False: not even one.
bool blas_reserve(int32_t threads);

// C = A B + beta C, row-major, on the calling thread. transpose_a: A is stored [K, M]; transpose_b: B is [N, K].
void blas_gemm(bool transpose_a, bool transpose_b, int64_t M, int64_t N, int64_t K, const float *a, int64_t lda,
               const float *b, int64_t ldb, float beta, float *c, int64_t ldc);

}  // namespace xf::openblas
