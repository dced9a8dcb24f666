// Dynamic shared memory is a buffer between redzones. With ASan, static __shared__ variables are statics with their own
// redzones, and keep the values of the previous block. Otherwise they are the only thread-local variables of this
// module. Therefore they occupy its block of thread-local storage, which is filled before the first block of a kernel;
// before later blocks only the part that a block has changed is filled.
//
// SPDX-License-Identifier: Apache-2.0
#include "shared_memory.h"

#include <cstdint>
#include <cstring>

#include "grid.h"
#include "races.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#include <link.h>

#include <map>
#endif

namespace cuda_host {

namespace {

constexpr size_t kRedzone = 1024;
alignas(1024) unsigned char dynamic[kRedzone + kMostShared + kRedzone];
size_t dynamic_bytes;

#ifndef __SANITIZE_ADDRESS__
constexpr unsigned char kCanary = 0xA5;
constexpr size_t kCanaries = 64;

thread_local unsigned char anchor;  // somewhere in the block of thread-local storage
unsigned char *statics;             // that block, of the thread that runs the grid
size_t statics_bytes;

// The bytes from begin to end, counted from the start of the block, that a kernel uses.
struct Used {
    size_t begin, end;
    bool learnt;
};
std::map<const void *, Used> uses;
Used *use;

int find_statics(dl_phdr_info *module, size_t, void *) {
    const auto here = reinterpret_cast<uintptr_t>(&anchor);
    const auto start = reinterpret_cast<uintptr_t>(module->dlpi_tls_data);
    for (int i = 0; i < module->dlpi_phnum; ++i) {
        const auto &header = module->dlpi_phdr[i];
        if (header.p_type != PT_TLS || start > here || here >= start + header.p_memsz) continue;
        statics = static_cast<unsigned char *>(module->dlpi_tls_data);
        statics_bytes = header.p_memsz;
        return 1;
    }
    return 0;
}
#endif

}  // namespace

void *dynamic_shared() { return dynamic + kRedzone; }

void begin_shared([[maybe_unused]] const void *kernel, size_t bytes) {
    dynamic_bytes = bytes;
#ifdef __SANITIZE_ADDRESS__
    __asan_poison_memory_region(dynamic, kRedzone);
    __asan_poison_memory_region(dynamic + kRedzone + bytes, kMostShared - bytes + kRedzone);
#else
    anchor = 0;  // brings the block into being
    dl_iterate_phdr(find_statics, nullptr);
    use = &uses.try_emplace(kernel, Used{0, statics_bytes, false}).first->second;
    std::memset(dynamic + kRedzone + bytes, kCanary, kCanaries);
    races::shared_range(0, dynamic + kRedzone, kMostShared);
    races::shared_range(1, statics, statics_bytes);
#endif
}

void end_shared() {
#ifdef __SANITIZE_ADDRESS__
    __asan_unpoison_memory_region(dynamic, sizeof dynamic);
#endif
}

void fill_shared() {
    std::memset(dynamic + kRedzone, 0xFF, dynamic_bytes);
#ifndef __SANITIZE_ADDRESS__
    std::memset(statics + use->begin, 0xFF, use->end - use->begin);
#endif
}

void learn_shared() {
#ifndef __SANITIZE_ADDRESS__
    if (use->learnt) return;
    while (use->begin < use->end && statics[use->begin] == 0xFF) ++use->begin;
    while (use->begin < use->end && statics[use->end - 1] == 0xFF) --use->end;
    use->learnt = true;
#endif
}

bool shared_is_intact() {
#ifndef __SANITIZE_ADDRESS__
    for (size_t i = 0; i < kCanaries; ++i)
        if (dynamic[kRedzone + dynamic_bytes + i] != kCanary) return false;
#endif
    return true;
}

bool is_shared(const void *ptr, size_t bytes) {
    const auto inside = [&](const unsigned char *start, size_t size) {
        const auto from = reinterpret_cast<uintptr_t>(start), at = reinterpret_cast<uintptr_t>(ptr);
        return at >= from && at - from <= size && bytes <= size - (at - from);
    };
#ifdef __SANITIZE_ADDRESS__
    // A static cannot be distinguished from other memory.
    return !inside(dynamic, sizeof dynamic) || inside(dynamic + kRedzone, dynamic_bytes);
#else
    return inside(dynamic + kRedzone, dynamic_bytes) || inside(statics, statics_bytes);
#endif
}

}  // namespace cuda_host
