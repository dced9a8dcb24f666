// The packed form of int8 weights, and tables of kernels that multiply with them; see int8.inl.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdint.h>

namespace xf::openblas {

constexpr int64_t kGroup = 64;            // columns
constexpr int64_t kRegisterColumns = 16;  // columns per register

// Computes the sums of R rows with a group of P registers at `weights` into sums [R, kGroup].
typedef void (*Int8Fn)(const int8_t *rows, int64_t ld, const int8_t *weights, int64_t steps, int32_t *sums);

// Kernels, indexed by the number of rows and of registers per group.
template <int kMostRows>
struct Int8Table {
    Int8Fn of[kMostRows + 1][5];
};
#define XF_INT8_ROWS(fn, r) \
    { nullptr, fn<r, 1>, fn<r, 2>, fn<r, 3>, fn<r, 4> }

// For SDOT, with up to 4 rows, and for SMMLA (int8_dot.cpp, int8_i8mm.cpp).
constexpr int kArmInt8Rows = 6;
extern const Int8Table<kArmInt8Rows> kInt8Sdot, kInt8Smmla;

}  // namespace xf::openblas
