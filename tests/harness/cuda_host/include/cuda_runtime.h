// The emulation of CUDA on the host: the contents of <cuda_runtime.h> for the C++ compiler of the host.
//
// A kernel is an ordinary function that runs once per thread of the grid, each thread of a block on its own fiber
// (fiber.cpp). The three parts: vector types, functions for device code, functions for host code.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda_host/api.h"
#include "cuda_host/device.h"
#include "cuda_host/intrinsics.h"
#include "cuda_host/launch.h"
#include "cuda_host/vector_types.h"
