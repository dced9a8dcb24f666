// The emulation of CUDA on the host: what <cuda_runtime.h> gives to a .cu file, for the host's C++ compiler.
//
// A kernel is an ordinary function that runs once per thread of the grid, each thread of a block on a fiber of its own
// (emulator.cpp). The three parts: vector types, what device code may call, what host code may call.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda_host/api.h"
#include "cuda_host/device.h"
#include "cuda_host/intrinsics.h"
#include "cuda_host/launch.h"
#include "cuda_host/vector_types.h"
