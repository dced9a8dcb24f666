// What the plugin says about OpenBLAS; see blas.cpp.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace xf::openblas {

// One line for people: "OpenBLAS 0.3.21 ..." or "own kernels only".
const char *blas_info();

}  // namespace xf::openblas
