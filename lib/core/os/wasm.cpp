// See process.h, plugin.h, and posix_differences.h: WebAssembly, compiled by emscripten for one thread.
//
// A page has no processes, signals, pipes, or shared libraries. Files exist only if a program links emscripten's file
// systems, which posix_file.cpp then uses.
//
// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/error.h"
#include "core/os/plugin.h"
#include "core/os/posix_differences.h"
#include "core/os/process.h"
#include "core/os/readable.h"

namespace xf {

int process_id() { return 1; }
bool has_address_space(size_t) { return false; }
CpuFeatures cpu_features() { return {}; }

std::optional<std::string> environment(const char *name) {
    const char *const value = getenv(name);
    return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
}
int processor_count() { return 1; }
int cpu_quota(const std::string &, const std::string &) { return 0; }

bool random_bytes(void *dst, size_t bytes) {
    constexpr size_t kMost = 256;  // of one call
    for (char *next = static_cast<char *>(dst); bytes > 0;) {
        const size_t count = std::min(bytes, kMost);
        if (getentropy(next, count) != 0) return false;
        next += count;
        bytes -= count;
    }
    return true;
}

// Huge pages do not exist here, so an alignment for them would only waste memory.
void *allocate_memory(size_t bytes, size_t alignment) {
    void *ptr = nullptr;
    return posix_memalign(&ptr, std::min<size_t>(alignment, 64), bytes) == 0 ? ptr : nullptr;
}
void free_memory(void *ptr) { free(ptr); }

std::string reason_of(int error_number) {
    char buffer[128];
    return strerror_r(error_number, buffer, sizeof buffer) == 0 ? buffer : format("error %d", error_number);
}

void *load_library(const char *, std::string *reason) {
    *reason = "WebAssembly has no shared libraries";
    return nullptr;
}
void *library_symbol(void *, const char *) { return nullptr; }
std::string plugin_file_name(const std::string &name) { return "libxformer_" + name + ".so"; }
std::string system_library_name(const std::string &) { return {}; }
std::string own_folder() { return {}; }

SignalsBlocked::SignalsBlocked() {}
SignalsBlocked::~SignalsBlocked() { (void)saved_; }
CancelState::CancelState() noexcept : saved_(0) {}
CancelState::~CancelState() { (void)saved_; }
bool thread_ready() noexcept { return true; }

Readable::Readable() : ends_{-1, -1} {}
Readable::~Readable() {}
void Readable::set(bool readable) noexcept { readable_ = readable; }

int allocate_blocks(int, int64_t) {
    errno = EOPNOTSUPP;
    return -1;
}
int flush_to_disk(int fd) { return fsync(fd); }
void discard_signal(int) {}

}  // namespace xf
