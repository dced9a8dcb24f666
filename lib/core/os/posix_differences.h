// Parts of posix_file.cpp that differ between systems; defined in linux.cpp and macos.cpp.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace xf {

// IoOps::allocate and IoOps::fsync.
int allocate_blocks(int fd, int64_t bytes);
int flush_to_disk(int fd);

// A pipe whose ends do not block and are not inherited by programs that the process starts. -1 with errno.
int open_pipe(int ends[2]);

// Removes a signal that is blocked on this thread and pending.
void discard_signal(int signal);

}  // namespace xf
