// Confines OpenBLAS in the host's process; see confine.cpp.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace xf::openblas {

// Calls function(argument). Only one thread may call this at a time. Returns false if the function called exit() or
// abort(); it is then left unfinished.
bool call_confined(void (*function)(void *), void *argument);

// Returns whether OpenBLAS found kernels for this processor when the plugin was loaded.
bool blas_initialized();

}  // namespace xf::openblas
