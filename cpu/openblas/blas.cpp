// OpenBLAS, single-threaded, for the training products of the "base" instruction set.
//
// The plugin's own kernels are faster with AVX2 and AVX-512 (docs/adr/0002-cpu-kernels.md). OpenBLAS is the better
// choice where the plugin has only portable code: CPUs without AVX2 and machines that are not x86-64. The serial static
// library is linked in and hidden: it starts no threads and shares no state with an OpenBLAS of the host.
//
// OpenBLAS has two problems with its work buffers. It spins forever or ends the process when it cannot map one
// (OpenBLAS #5289, #5303). And the serial build picks a free buffer without a lock, so two threads can get the same one
// (observed with 0.3.21: occasionally wrong products, although the calls are independent). The two buffer functions are
// therefore replaced at link time (--wrap): buffers are mapped when a device is opened, after a test mapping of the
// same size has succeeded, and each call claims a free buffer atomically.
//
// confine.cpp replaces the functions of the C library that OpenBLAS must not call in the host's process: exit(),
// printing, and reading the environment.
//
// SPDX-License-Identifier: Apache-2.0
#include "blas.h"

#if defined(XF_WITH_OPENBLAS)
#include <atomic>
#include <thread>

#include "confine.h"
#include "core/os/plugin.h"

extern "C" {
void sgemm_(const char *transpose_a, const char *transpose_b, const int *m, const int *n, const int *k,
            const float *alpha, const float *a, const int *lda, const float *b, const int *ldb, const float *beta,
            float *c, const int *ldc);
char *openblas_get_config(void);
void *__real_blas_memory_alloc(int procpos);
void *__wrap_blas_memory_alloc(int procpos);
void __wrap_blas_memory_free(void *buffer);
}
#endif

namespace xf::openblas {

#if defined(XF_WITH_OPENBLAS)

namespace {

constexpr int32_t kMostThreads = 64;                          // further threads wait for a free buffer
constexpr std::size_t kBufferBytes = std::size_t{160} << 20;  // address space of a buffer (128 MiB) plus a margin

// A lock that records the process of its holder. After a fork the parent's threads do not exist in the child, so a lock
// that they held counts as free.
class ForkSafeLock {
public:
    bool try_lock() {
        const int self = process_id();
        int holder = holder_.load(std::memory_order_relaxed);
        return holder != self && holder_.compare_exchange_strong(holder, self);
    }
    void unlock() { holder_.store(0); }

private:
    std::atomic<int> holder_{0};
};

struct Slot {
    void *buffer;
    ForkSafeLock lock;
};
Slot slots[kMostThreads];
std::atomic<int32_t> slot_count{0};
ForkSafeLock growth_lock;

void map_buffer(void *slot) { static_cast<Slot *>(slot)->buffer = __real_blas_memory_alloc(1); }

}  // namespace

const char *blas_info() {
    return blas_initialized() ? openblas_get_config() : "without OpenBLAS, which has no kernels for this processor";
}

bool has_blas() { return blas_initialized(); }

// All devices share the buffers; their number is the largest that any device requested. The number of buffers must not
// decide which kernels run: other kernels add in another order, so the bits would depend on the number of threads.
bool blas_reserve(int32_t threads) {
    if (threads > kMostThreads) threads = kMostThreads;
    while (!growth_lock.try_lock()) std::this_thread::yield();
    int32_t count = slot_count.load();
    for (; count < threads; ++count) {
        if (!has_address_space(kBufferBytes)) break;
        slots[count].buffer = nullptr;
        if (!call_confined(map_buffer, &slots[count]) || !slots[count].buffer) break;
        slot_count.store(count + 1);
    }
    growth_lock.unlock();
    return count > 0;
}

void blas_gemm(bool transpose_a, bool transpose_b, int64_t M, int64_t N, int64_t K, const float *a, int64_t lda,
               const float *b, int64_t ldb, float beta, float *c, int64_t ldc) {
    // OpenBLAS is column-major and therefore computes the transposed product, C^T = B^T A^T.
    const int m = static_cast<int>(N), n = static_cast<int>(M), k = static_cast<int>(K);
    const int ld1 = static_cast<int>(ldb), ld2 = static_cast<int>(lda), ld3 = static_cast<int>(ldc);
    const float alpha = 1.0f;
    sgemm_(transpose_b ? "T" : "N", transpose_a ? "T" : "N", &m, &n, &k, &alpha, b, &ld1, a, &ld2, &beta, c, &ld3);
}

}  // namespace xf::openblas

// OpenBLAS calls this function to get its work buffer.
void *__wrap_blas_memory_alloc(int) {
    using namespace xf::openblas;
    for (;;) {
        const int32_t count = slot_count.load();
        for (int32_t i = 0; i < count; ++i)
            if (slots[i].lock.try_lock()) return slots[i].buffer;
        std::this_thread::yield();
    }
}

void __wrap_blas_memory_free(void *buffer) {
    using namespace xf::openblas;
    for (Slot &slot : slots)
        if (slot.buffer == buffer) slot.lock.unlock();
}

namespace xf::openblas {

#else

const char *blas_info() { return "built without OpenBLAS"; }
bool has_blas() { return false; }
bool blas_reserve(int32_t) { return false; }
void blas_gemm(bool, bool, int64_t, int64_t, int64_t, const float *, int64_t, const float *, int64_t, float, float *,
               int64_t) {}

#endif

}  // namespace xf::openblas
