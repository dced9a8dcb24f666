// Marks memory that OpenBLAS writes for the memory sanitizer, as foreign.cpp does. OpenBLAS is part of the plugin, so
// the linker inserts this function (--wrap in cpu/openblas/CMakeLists.txt, only in builds with that sanitizer).
//
// SPDX-License-Identifier: Apache-2.0
#include <sanitizer/msan_interface.h>

#include <cstddef>

extern "C" {
void __real_sgemm_(const char *transpose_a, const char *transpose_b, const int *m, const int *n, const int *k,
                   const float *alpha, const float *a, const int *lda, const float *b, const int *ldb,
                   const float *beta, float *c, const int *ldc);
void __wrap_sgemm_(const char *transpose_a, const char *transpose_b, const int *m, const int *n, const int *k,
                   const float *alpha, const float *a, const int *lda, const float *b, const int *ldb,
                   const float *beta, float *c, const int *ldc);
}

namespace {

// Calls `with` for each column of a column-major matrix.
template <typename Number, typename With>
void each_column(Number *matrix, int rows, int columns, int stride, With with) {
    for (int i = 0; i < columns; ++i)
        with(matrix + static_cast<ptrdiff_t>(i) * stride, static_cast<size_t>(rows) * sizeof(Number));
}

}  // namespace

void __wrap_sgemm_(const char *transpose_a, const char *transpose_b, const int *m, const int *n, const int *k,
                   const float *alpha, const float *a, const int *lda, const float *b, const int *ldb,
                   const float *beta, float *c, const int *ldc) {
    const auto read = [](const float *at, size_t bytes) { __msan_check_mem_is_initialized(at, bytes); };
    const bool swap_a = *transpose_a == 'T', swap_b = *transpose_b == 'T';
    each_column(a, swap_a ? *k : *m, swap_a ? *m : *k, *lda, read);
    each_column(b, swap_b ? *n : *k, swap_b ? *k : *n, *ldb, read);
    if (*beta != 0.0f) each_column(c, *m, *n, *ldc, read);
    __real_sgemm_(transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    each_column(c, *m, *n, *ldc, [](float *at, size_t bytes) { __msan_unpoison(at, bytes); });
}
