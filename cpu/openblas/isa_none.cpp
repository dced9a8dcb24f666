// Stands in for the x86 instruction sets on other machines.
//
// SPDX-License-Identifier: Apache-2.0
#include "device.h"

namespace xf::openblas {

const Ops *ops_avx2() { return nullptr; }
const Ops *ops_avx512() { return nullptr; }

}  // namespace xf::openblas
