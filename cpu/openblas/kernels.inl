// All kernels for one instruction set. The including file defines XF_ISA_NAME and, except for the base kernels,
// XF_ISA_AVX2, XF_ISA_AVX512, or XF_ISA_NEON.
//
// The .inl files included below are parts of this translation unit; they are never compiled separately. This file is
// compiled up to three times with different instructions, so everything is in an anonymous namespace: the linker must
// not merge a function compiled for AVX-512 with the one for another instruction set.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#elif defined(__wasm_simd128__)
#include <wasm_simd128.h>
#endif

#include <utility>

#define XF_NUM_UNTYPED

#include "blas.h"
#include "device.h"
#include "int8_kernels.h"

namespace xf::openblas {
namespace {

#include "simd.inl"

#include "gemm_tile.inl"

#include "gemm.inl"

#include "half.inl"

#include "gemm_bf16.inl"

#include "int8_rows.inl"

#include "int8.inl"

#include "dot.inl"

#include "dot_linear.inl"

#include "dropout.inl"

#include "rows.inl"

#include "linear.inl"

#include "activation.inl"

#include "optimizer.inl"

#include "attention.inl"

#include "attention_bwd.inl"

#include "attention_step.inl"

#include "top_k.inl"

#include "loss.inl"

// The operations of a stream whose tensors have element type T.
#define XF_OP_SET_TYPED(name, type) .name = name<T>,
template <class T>
constexpr Ops kOps = {XF_FOR_EACH_REQUIRED_OP(XF_OP_SET_TYPED) XF_FOR_EACH_OWN_OPTIONAL_OP(XF_OP_SET)};
#undef XF_OP_SET_TYPED

constexpr IsaOps kIsa = {.isa = XF_ISA_NAME, .fp32 = &kOps<float>, .bf16 = &kOps<Bf16>};

}  // namespace
}  // namespace xf::openblas
