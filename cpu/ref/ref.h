// The reference backend: plain loops, linked into the core.
//
// The tests compare every other backend with it. Without any plugin, the library uses it, although it is slow. Of the
// library it includes only plugin_abi.h and the headers of lib/core for random numbers, 16-bit floats, and int8.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/plugin_abi.h"

// Returns the table: static, never NULL, thread-safe. Only the device_* functions may be called without device_open.
extern "C" const xf_backend_v1 *xf_ref_backend(void);
