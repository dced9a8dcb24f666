// Shared memory of the block that runs: filled with NaNs before each, so that what a kernel reads before it wrote it
// shows.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace cuda_host {

constexpr size_t kMostShared = 232448;

void begin_shared(const void *kernel, size_t dynamic_bytes);  // of a grid
void end_shared();
void fill_shared();       // before each block
void learn_shared();      // after the first block: which static variables the kernel uses
bool shared_is_intact();  // after each block

}  // namespace cuda_host
