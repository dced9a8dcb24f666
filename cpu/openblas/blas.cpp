// OpenBLAS, single-threaded, for the training products of the "base" instruction set.
//
// Own kernels beat it with AVX2 and AVX-512 (docs/adr/0002-cpu-kernels.md). It remains the better choice where this
// plugin has only portable code: CPUs without AVX2 and machines that are not x86. The serial static library is linked
// in and hidden: it starts no threads and shares no state with an OpenBLAS of the host.
//
// Two traps, both of its work buffers. OpenBLAS spins for ever, or ends the process, when it can't map one (OpenBLAS
// #5289, #5303). And the serial build picks a free one without a lock, so that two threads can get the same (seen with
// 0.3.21: wrong products now and then, though calls are independent). So its two buffer functions are replaced at link
// time (--wrap): buffers are mapped when a device is opened, after asking the system whether that much can be mapped at
// all, and a call takes a free one atomically.
//
// What it calls of the C library that is the host's goes to confine.cpp: exit(), prints, the environment.
//
// SPDX-License-Identifier: Apache-2.0
#include "blas.h"

#if defined(XF_WITH_OPENBLAS)
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>

#include "confine.h"

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

constexpr int32_t kMostThreads = 64;                          // the others of more workers wait
constexpr std::size_t kBufferBytes = std::size_t{160} << 20;  // address space per buffer (128 MiB) with a margin

// What one thread may hold at a time, by its process: after a fork the threads of the parent are not there to give it
// back, and what they held is free.
class Held {
public:
    bool take() {
        const pid_t self = getpid();
        pid_t holder = holder_.load(std::memory_order_relaxed);
        return holder != self && holder_.compare_exchange_strong(holder, self);
    }
    void give_back() { holder_.store(0); }

private:
    std::atomic<pid_t> holder_{0};
};

struct Slot {
    void *buffer;
    Held used;
};
Slot slots[kMostThreads];
std::atomic<int32_t> slot_count{0};
Held growing;

void map_buffer(void *slot) { static_cast<Slot *>(slot)->buffer = __real_blas_memory_alloc(1); }

}  // namespace

const char *blas_info() {
    return blas_started() ? openblas_get_config() : "without OpenBLAS, which has no kernels for this processor";
}

bool has_blas() { return blas_started(); }

// The most threads any device asked for share the buffers. How many there are must not decide what computes: other
// kernels add in another order, and bits would depend on the number of threads.
bool blas_reserve(int32_t threads) {
    if (threads > kMostThreads) threads = kMostThreads;
    while (!growing.take()) sched_yield();
    int32_t count = slot_count.load();
    for (; count < threads; ++count) {
        void *probe =
            mmap(nullptr, kBufferBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (probe == MAP_FAILED) break;
        munmap(probe, kBufferBytes);
        slots[count].buffer = nullptr;
        if (!returns(map_buffer, &slots[count]) || !slots[count].buffer) break;
        slot_count.store(count + 1);
    }
    growing.give_back();
    return count > 0;
}

void blas_gemm(bool transpose_a, bool transpose_b, int64_t M, int64_t N, int64_t K, const float *a, int64_t lda,
               const float *b, int64_t ldb, float beta, float *c, int64_t ldc) {
    // Column-major OpenBLAS sees the transposes: C^T = B^T A^T.
    const int m = static_cast<int>(N), n = static_cast<int>(M), k = static_cast<int>(K);
    const int ld1 = static_cast<int>(ldb), ld2 = static_cast<int>(lda), ld3 = static_cast<int>(ldc);
    const float alpha = 1.0f;
    sgemm_(transpose_b ? "T" : "N", transpose_a ? "T" : "N", &m, &n, &k, &alpha, b, &ld1, a, &ld2, &beta, c, &ld3);
}

}  // namespace xf::openblas

// What OpenBLAS's own code calls for its buffer.
void *__wrap_blas_memory_alloc(int) {
    using namespace xf::openblas;
    for (;;) {
        const int32_t count = slot_count.load();
        for (int32_t i = 0; i < count; ++i)
            if (slots[i].used.take()) return slots[i].buffer;
        sched_yield();
    }
}

void __wrap_blas_memory_free(void *buffer) {
    using namespace xf::openblas;
    for (Slot &slot : slots)
        if (slot.buffer == buffer) slot.used.give_back();
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
