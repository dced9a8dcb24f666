// What file.h needs from a POSIX system and each system does in its own way: linux.cpp, macos.cpp.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace xf {

// IoOps::allocate and IoOps::fsync.
int allocate_blocks(int fd, int64_t bytes);
int flush_to_disk(int fd);

// Removes a signal that is blocked on this thread and pending.
void discard_signal(int signal);

}  // namespace xf
