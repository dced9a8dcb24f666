// Replaces isa_avx2.cpp and isa_avx512.cpp on machines that are not x86-64.
//
// SPDX-License-Identifier: Apache-2.0
#include "device.h"

namespace xf::openblas {

const IsaOps *ops_avx2() { return nullptr; }
const IsaOps *ops_avx512() { return nullptr; }

}  // namespace xf::openblas
