// Replaces the files of the instruction sets that this machine does not have.
//
// SPDX-License-Identifier: Apache-2.0
#include "device.h"

namespace xf::openblas {

#if !defined(__x86_64__)
const IsaOps *ops_avx2() { return nullptr; }
const IsaOps *ops_avx512() { return nullptr; }
#endif
#if !defined(__aarch64__)
const IsaOps *ops_neon() { return nullptr; }
#endif

}  // namespace xf::openblas
