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

#include "blas.h"
#include "device.h"

namespace xf::openblas {
namespace {

#include "simd.inl"

#include "gemm.inl"

#include "half.inl"

#include "int8.inl"

#include "dot.inl"

#include "dropout.inl"

#include "rows.inl"

#include "linear.inl"

#include "optimizer.inl"

#include "attention.inl"

#include "attention_bwd.inl"

#include "attention_step.inl"

#include "top_k.inl"

#include "loss.inl"

constexpr Ops kOps = {.isa = XF_ISA_NAME, XF_FOR_EACH_REQUIRED_OP(XF_OP_SET) XF_FOR_EACH_PACKING_OP(XF_OP_SET)};

}  // namespace
}  // namespace xf::openblas
