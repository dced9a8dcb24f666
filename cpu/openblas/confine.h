// What OpenBLAS may not do in the host's process; see confine.cpp.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace xf::openblas {

// Calls function(argument), on one thread at a time. False: it called exit(), and was left there.
bool returns(void (*function)(void *), void *argument);

// Whether OpenBLAS found kernels for this processor when the plugin was loaded.
bool blas_started();

}  // namespace xf::openblas
