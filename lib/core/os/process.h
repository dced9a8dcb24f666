// The process, its memory, and its threads, as the operating system sees them.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "core/os/plugin.h"

namespace xf {

// The value of an environment variable, unless it is not set or the program runs with raised privileges.
std::optional<std::string> environment(const char *name);

// Processors that this process may use, by its affinity mask.
int processor_count();

// The CPU quota of this process's control groups, for example of a container: the smallest in processors, rounded up,
// at least 1; 0 if there is none or it is unknown. With a quota of 2 processors, 64 threads would be stopped for most
// of each period, and with them the threads that hold locks. Supports version 2 (cpu.max) and version 1
// (cpu.cfs_quota_us, cpu.cfs_period_us), for the group of the process and all visible parents. process: the folder with
// the files "cgroup" and "mountinfo". root: prefix of each mount point. Tests set both.
int cpu_quota(const std::string &process = "/proc/self", const std::string &root = "");

// Unpredictable random bytes. Returns false, without waiting, if the system has none yet.
bool random_bytes(void *dst, size_t bytes);

// Memory for free_memory(); null if there is none. Alignments of 2 MiB or more also ask for huge pages.
void *allocate_memory(size_t bytes, size_t alignment);
void free_memory(void *ptr);

// Shared libraries. load_library() returns null with the loader's message in `reason`. A library is never unloaded.
void *load_library(const char *path, std::string *reason);
void *library_symbol(void *library, const char *name);
// The file name of version 1 of a library of the system, for load_library(): "libz.so.1" for "libz". Empty if the
// system has no such libraries.
std::string system_library_name(const std::string &name);
// "libxformer_<name>.so", on Windows "xformer_<name>.dll".
std::string plugin_file_name(const std::string &name);
// The folder of the file that holds this code; empty if it cannot be found out.
std::string own_folder();

// Blocks all signals on this thread until the destructor runs. A new thread inherits the mask, so the host's handlers
// run only on the host's threads.
class SignalsBlocked {
public:
    SignalsBlocked();
    ~SignalsBlocked();
    SignalsBlocked(const SignalsBlocked &) = delete;
    SignalsBlocked &operator=(const SignalsBlocked &) = delete;

private:
    alignas(16) unsigned char saved_[128];
};

// Defers pthread_cancel() until the destructor runs.
//
// Reading, writing, and waiting are cancellation points. A thread that is cancelled at one of them unwinds through
// noexcept code, which ends the process. With this class it ends at the host's next cancellation point after the call.
class CancelState {
public:
    CancelState() noexcept;
    ~CancelState();
    CancelState(const CancelState &) = delete;
    CancelState &operator=(const CancelState &) = delete;

private:
    int saved_;
};

// Prepares the calling thread for exceptions. Returns false if there is no memory: then nothing may be thrown on this
// thread yet. Later calls on the same thread cost one lookup.
//
// The C++ runtime keeps the state of exceptions in thread-local storage. If the runtime was loaded by dlopen(), as it
// is for bindings and plugins, the C library allocates that storage when a thread first throws or catches, and ends the
// process if it cannot ("cannot allocate memory for thread-local data: ABORT"). The first std::bad_alloc of a thread
// would end the host. So each thread calls this function before its first work.
bool thread_ready() noexcept;

}  // namespace xf
