// Parts of posix_file.cpp that differ between systems; defined in linux.cpp and macos.cpp.
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
