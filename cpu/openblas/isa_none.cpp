// Stands in for the x86 instruction sets on other machines.
//
// SPDX-License-Identifier: Apache-2.0
#include "device.h"

namespace xf::openblas {

const IsaOps *ops_avx2() { return nullptr; }
const IsaOps *ops_avx512() { return nullptr; }

}  // namespace xf::openblas
