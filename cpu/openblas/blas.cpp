// OpenBLAS at arm's length.
//
// SPDX-License-Identifier: Apache-2.0
#include "blas.h"

namespace xf::openblas {

const char *blas_info() { return "own kernels only"; }

}  // namespace xf::openblas
