// Device memory and page-locked memory, and the copies.
//
// Device memory is host memory, filled with NaNs when it is allocated. With ASan it has redzones; otherwise the bytes
// after it are checked when it is freed. With the control "guard" it is mapped separately and accessible only while the
// device works.
//
// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include "emulator.h"
#include "races.h"

namespace cuda_host {
namespace {

constexpr size_t kAlignment = 256;
constexpr unsigned char kCanary = 0xA5;
#ifdef __SANITIZE_ADDRESS__
constexpr size_t kCanaries = 0;
#else
constexpr size_t kCanaries = 64;
#endif

enum class Kind { pageable, pinned, device };

struct Allocation {
    size_t bytes;
    Kind kind;
    size_t mapped;  // of a guarded one, else 0
};
std::map<uintptr_t, Allocation> allocations;
int guarded;  // nesting of what may touch guarded memory

// Finds the allocation of [ptr, ptr + bytes); false if only a part of it is allocated.
bool classify(const void *ptr, size_t bytes, Kind &kind) {
    const auto at = reinterpret_cast<uintptr_t>(ptr);
    kind = Kind::pageable;
    auto next = allocations.upper_bound(at);
    if (next == allocations.begin()) return true;
    const auto &[start, allocation] = *--next;
    if (at - start >= allocation.bytes) return true;
    kind = allocation.kind;
    return bytes <= allocation.bytes - (at - start);
}

void protect(int how) {
    for (const auto &[start, allocation] : allocations)
        if (allocation.mapped != 0) mprotect(reinterpret_cast<void *>(start), allocation.mapped, how);
}

void *take(size_t bytes, Kind kind) {
    void *ptr = nullptr;
    size_t mapped = 0;
    if (controls.guard != 0 && kind == Kind::device) {
        mapped = (bytes + kCanaries + 4095) / 4096 * 4096;
        ptr = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (ptr == MAP_FAILED) return nullptr;
    } else if (posix_memalign(&ptr, kAlignment, bytes + kCanaries) != 0) {
        return nullptr;
    }
    std::memset(ptr, 0xFF, bytes);
    std::memset(static_cast<char *>(ptr) + bytes, kCanary, kCanaries);
    if (mapped != 0 && guarded == 0) mprotect(ptr, mapped, PROT_NONE);
    allocations[reinterpret_cast<uintptr_t>(ptr)] = {bytes, kind, mapped};
    if (kind == Kind::device) races::alloc(ptr, bytes);
    return ptr;
}

bool give_back(void *ptr, Kind kind) {
    const auto found = allocations.find(reinterpret_cast<uintptr_t>(ptr));
    if (found == allocations.end() || found->second.kind != kind) return false;
    const Allocation allocation = found->second;
    unguard();
    for (size_t i = 0; i < kCanaries; ++i) {
        if (static_cast<unsigned char *>(ptr)[allocation.bytes + i] == kCanary) continue;
        std::fprintf(stderr, "cuda_host: byte %zu after an allocation of %zu bytes was overwritten\n", i,
                     allocation.bytes);
        std::abort();
    }
    guard();
    allocations.erase(found);
    races::free(ptr);
    if (kind == Kind::device) {
        controls.live_bytes -= static_cast<int64_t>(allocation.bytes);
        --controls.live_allocations;
    } else {
        --controls.live_pinned;
    }
    if (allocation.mapped != 0)
        munmap(ptr, allocation.mapped);
    else
        std::free(ptr);
    return true;
}

// Queues call(). Copies and memsets don't count as launches.
template <class Call>
cudaError_t push_call(cudaStream_t stream, Call call) {
    return push(stream, make_work(make_task(call)));
}

cudaError_t copy(void *dst, const void *src, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
    if (const cudaError_t code = usable(); code != cudaSuccess) return code;
    if (bytes == 0) return cudaSuccess;
    Kind to, from;
    if (!classify(dst, bytes, to) || !classify(src, bytes, from)) return cudaErrorInvalidValue;
    if ((kind != cudaMemcpyDeviceToHost) != (to == Kind::device)) return cudaErrorInvalidValue;
    if ((kind != cudaMemcpyHostToDevice) != (from == Kind::device)) return cudaErrorInvalidValue;
    if (to != Kind::pageable && from != Kind::pageable)
        return push_call(stream, [=] {
            if (to == Kind::device && from == Kind::device)
                races::copy(dst, src, bytes);
            else
                races::write(dst, bytes);
            std::memmove(dst, src, bytes);
        });
    if (capturing(stream)) return invalidate_capture(stream);
    if (to == Kind::pageable) {  // waits, as CUDA does
        drain(stream);
        if (sticky != cudaSuccess) return sticky;
        unguard();
        std::memmove(dst, src, bytes);
        guard();
        return cudaSuccess;
    }
    // The bytes are read now; they arrive in the stream's order.
    std::shared_ptr<char[]> staged(new char[bytes]);
    std::memcpy(staged.get(), src, bytes);
    return push_call(stream, [=] {
        races::write(dst, bytes);
        std::memcpy(dst, staged.get(), bytes);
    });
}

cudaError_t set(void *dst, int value, size_t bytes, cudaStream_t stream) {
    if (const cudaError_t code = usable(); code != cudaSuccess) return code;
    if (bytes == 0) return cudaSuccess;
    Kind kind;
    if (!classify(dst, bytes, kind) || kind != Kind::device) return cudaErrorInvalidValue;
    return push_call(stream, [=] {
        races::write(dst, bytes);
        std::memset(dst, value, bytes);
    });
}

}  // namespace

void unguard() {
    if (guarded++ == 0) protect(PROT_READ | PROT_WRITE);
}
void guard() {
    if (--guarded == 0) protect(PROT_NONE);
}

void forget([[maybe_unused]] cudaStream_t stream, [[maybe_unused]] void *ptr, [[maybe_unused]] size_t bytes) {
#ifdef XF_CUDA_HOST_RACES
    const auto held = lock();
    push_call(stream, [=] { races::forget(ptr, bytes); });
#endif
}

}  // namespace cuda_host

using namespace cuda_host;

cudaError_t cudaMalloc(void **ptr, size_t bytes) {
    const auto held = lock();
    *ptr = nullptr;
    if (const cudaError_t code = usable(); code != cudaSuccess) return failed(code);
    if (const cudaError_t code = refused_by_capture(); code != cudaSuccess) return failed(code);
    if (bytes == 0) return cudaSuccess;
    controls.last_malloc_device = current_device();
    if (controls.malloc_fail_after > 0 && --controls.malloc_fail_after == 0) return failed(cudaErrorMemoryAllocation);
    if (controls.live_bytes > controls.memory_bytes ||
        bytes > static_cast<size_t>(controls.memory_bytes - controls.live_bytes))
        return failed(cudaErrorMemoryAllocation);
    *ptr = take(bytes, Kind::device);
    if (*ptr == nullptr) return failed(cudaErrorMemoryAllocation);
    controls.live_bytes += static_cast<int64_t>(bytes);
    ++controls.live_allocations;
    return cudaSuccess;
}

// Waits for the device. The memory is freed even after a fault.
cudaError_t cudaFree(void *ptr) {
    const auto held = lock();
    if (const cudaError_t code = refused_by_capture(); code != cudaSuccess) return failed(code);
    drain_all();
    if (ptr != nullptr && !give_back(ptr, Kind::device)) return failed(cudaErrorInvalidValue);
    return failed(usable());
}

cudaError_t cudaHostAlloc(void **ptr, size_t bytes, unsigned int) {
    const auto held = lock();
    *ptr = nullptr;
    if (const cudaError_t code = usable(); code != cudaSuccess) return failed(code);
    if (const cudaError_t code = refused_by_capture(); code != cudaSuccess) return failed(code);
    if (bytes == 0) return cudaSuccess;
    *ptr = take(bytes, Kind::pinned);
    if (*ptr == nullptr) return failed(cudaErrorMemoryAllocation);
    ++controls.live_pinned;
    return cudaSuccess;
}

cudaError_t cudaFreeHost(void *ptr) {
    const auto held = lock();
    if (const cudaError_t code = refused_by_capture(); code != cudaSuccess) return failed(code);
    drain_all();
    if (ptr != nullptr && !give_back(ptr, Kind::pinned)) return failed(cudaErrorInvalidValue);
    return failed(usable());
}

cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
    const auto held = lock();
    ++controls.copies;
    return failed(copy(dst, src, bytes, kind, stream));
}

cudaError_t cudaMemcpy(void *dst, const void *src, size_t bytes, cudaMemcpyKind kind) {
    const auto held = lock();
    if (const cudaError_t code = refused_by_capture(); code != cudaSuccess) return failed(code);
    if (const cudaError_t code = copy(dst, src, bytes, kind, nullptr); code != cudaSuccess) return failed(code);
    drain(nullptr);
    return failed(usable());
}

cudaError_t cudaMemsetAsync(void *dst, int value, size_t bytes, cudaStream_t stream) {
    const auto held = lock();
    ++controls.copies;
    return failed(set(dst, value, bytes, stream));
}

cudaError_t cudaMemset(void *dst, int value, size_t bytes) {
    const auto held = lock();
    return failed(set(dst, value, bytes, nullptr));
}
