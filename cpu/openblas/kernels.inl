// All kernels of one instruction set; the including file sets XF_ISA and its macros.
//
// Everything stands in an anonymous namespace: compiled three times with different instructions, no function here
// may have a name that the linker could merge with its twins.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <utility>

#define XF_NUM_UNTYPED

#include "blas.h"
#include "device.h"

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

// Those of streams whose numbers are T.
#define XF_OP_SET_TYPED(name, type) .name = name<T>,
template <class T>
constexpr Ops kOps = {XF_FOR_EACH_REQUIRED_OP(XF_OP_SET_TYPED) XF_FOR_EACH_OWN_OPTIONAL_OP(XF_OP_SET)};
#undef XF_OP_SET_TYPED

constexpr IsaOps kIsa = {.isa = XF_ISA_NAME, .fp32 = &kOps<float>, .bf16 = &kOps<Bf16>};

}  // namespace
}  // namespace xf::openblas
