// The operating system, for plugins. Plugins do not link the core: each compiles plugin.cpp or global_symbols.cpp
// itself.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace xf {

// A forked child has a different id.
int process_id();

// Returns whether a contiguous range of this size is free in the address space.
bool has_address_space(size_t bytes);

// Instructions that both this processor and the operating system support. False on other architectures.
struct CpuFeatures {
    bool sha;          // SHA-256 of x86
    bool avx2;         // with FMA and the conversion of fp16 (F16C)
    bool avx512;       // F, BW, VL, and DQ
    bool avx512_vnni;  // int8 products
    bool avx512_bf16;  // bf16 products
    bool sdot;         // int8 products of ARMv8.2
    bool smmla;        // products of int8 matrices of ARMv8.6
};
CpuFeatures cpu_features();

// Makes the symbols of the loaded library that contains the address visible to libraries that are loaded later.
// In global_symbols.cpp.
void make_symbols_global(const void *address);

}  // namespace xf
