// See process.h and posix_differences.h: what differs from other POSIX systems.
//
// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>
#include <thread>

#include "core/os/posix_differences.h"
#include "core/os/process.h"

namespace xf {
namespace {

constexpr size_t kHugePageBytes = size_t{2} << 20;

// The file that is mapped at an address, by the kernel's absolute name. Empty if it cannot be found out.
std::string mapped_file(const void *address) {
    const auto at = reinterpret_cast<uintptr_t>(address);
    const std::unique_ptr<std::FILE, int (*)(std::FILE *)> maps(std::fopen("/proc/self/maps", "re"), std::fclose);
    char text[PATH_MAX + 128];
    while (maps != nullptr && std::fgets(text, sizeof text, maps.get()) != nullptr) {
        // 7f0000000000-7f0000001000 r--p 00000000 fe:01 1234   /usr/lib/libxformer.so.0
        const std::string_view line(text, std::strcspn(text, "\n"));
        const char *const stop = line.data() + line.size();
        uintptr_t begin = 0, end = 0;
        const auto first = std::from_chars(line.data(), stop, begin, 16);
        if (first.ptr == stop || *first.ptr != '-') continue;
        std::from_chars(first.ptr + 1, stop, end, 16);
        if (at < begin || at >= end) continue;
        return std::string(line.substr(std::min(line.find('/'), line.size())));
    }
    return {};
}

}  // namespace

std::optional<std::string> environment(const char *name) {
    const char *const value = secure_getenv(name);
    return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
}

int processor_count() {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
    return std::thread::hardware_concurrency();
}

bool random_bytes(void *dst, size_t bytes) { return getrandom(dst, bytes, GRND_NONBLOCK) == ssize_t(bytes); }

void *allocate_memory(size_t bytes, size_t alignment) {
    void *ptr = nullptr;
    if (posix_memalign(&ptr, alignment, bytes) != 0) return nullptr;
    if (alignment >= kHugePageBytes) (void)madvise(ptr, bytes, MADV_HUGEPAGE);  // a failure changes only speed
    return ptr;
}

std::string system_library_name(const std::string &name) { return name + ".so.1"; }

std::string own_folder() {
    Dl_info info{};
    static const char anchor = 0;
    if (dladdr(&anchor, &info) == 0 || info.dli_fname == nullptr) return {};
    // This is the name by which the library was loaded. A relative one is useless: the program may have changed its
    // current folder since.
    const std::string file = info.dli_fname[0] == '/' ? info.dli_fname : mapped_file(&anchor);
    const size_t slash = file.rfind('/');
    return slash == std::string::npos ? std::string() : file.substr(0, slash);
}

int allocate_blocks(int fd, int64_t bytes) { return fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, bytes); }

int open_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC | O_NONBLOCK); }

int flush_to_disk(int fd) { return fsync(fd); }

void discard_signal(int signal) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    const timespec now = {0, 0};
    sigtimedwait(&set, nullptr, &now);
}

}  // namespace xf
