// The plugin's own row-invariant products (cuda/gemm_rows.h), for gpu_products.cpp.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda_runtime.h"
#include "gemm.h"

namespace products {

// Returns whether an own kernel exists for this call, at the level at which all kernels are own.
bool own_rows_serve(const xf::cuda::Gemm &product);
// Queues it; false when it could not be launched.
bool own_rows(cudaStream_t queue, const xf::cuda::Gemm &product);

}  // namespace products
