// All kernels of one instruction set; the including file sets XF_ISA and its macros.
//
// Everything stands in an anonymous namespace: compiled three times with different instructions, no function here
// may have a name that the linker could merge with its twins.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "blas.h"
#include "device.h"

namespace xf::openblas {
namespace {

#include "simd.inl"

#include "gemm.inl"

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

constexpr Ops kOps = {
    XF_ISA_NAME,     embed_fwd,          embed_bwd,     linear_fwd,
    linear_bwd_data, linear_bwd_weights, attention_fwd, attention_bwd,
    add_norm_fwd,    add_norm_bwd,       loss,          adam,
    sum_squares,     attention_step,     top_k,
};

}  // namespace
}  // namespace xf::openblas
