// The reference backend: plain loops, linked into the core.
//
// It is the oracle that tests compare every other backend with, and the backend of last resort: the library works,
// slowly, without any plugin. It sees nothing of the library but plugin_abi.h and philox.h.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/plugin_abi.h"

// The table. Static, never NULL; thread-safe. Callable without device_open only for the device_* functions.
extern "C" const xf_backend_v1 *xf_ref_backend(void);
