// Detection of data races and of reads of uninitialized memory in kernels: hooks of the emulator, for the plugin that
// is built with XF_CUDA_HOST_RACES. Without it they do nothing.
//
// The kernels are compiled with -fsanitize=thread, which inserts a call before each access to memory; races.cpp defines
// these calls in place of the library of ThreadSanitizer, because it knows the memory model of CUDA. Two accesses of
// one grid to the same byte, at least one of them a write, are ordered only if
//
//     one thread makes both;
//     or their block passes __syncthreads() or a variant between them;
//     or they are in one warp, and a chain of __syncwarp() with masks leads from one to the other.
//
// Any other pair is a race, in whatever order the emulation made the accesses: shuffles, votes, and mma order nothing,
// and nothing orders the blocks of a grid, except that atomic operations do not race with each other. cp.async reads
// its source and writes its target both when it is issued and when it is waited for, in the name of its thread.
//
// Memory is uninitialized before its first write: device memory after it is allocated, scratch memory at the start of
// each operation (forget()), shared memory at the start of each block, and the target of a cp.async until the wait.
//
// A report names the kernel, the memory, and the code addresses of both accesses for addr2line. Each pair of addresses
// is reported once. A process with reports ends with the exit status 66.
//
// Environment: XF_RACES_HALT=1 ends the process at the first report. XF_RACES_WITHOUT=FILE:LINE is the mutation test:
// the barrier at this line orders nothing. XF_RACES_LOG=PATH receives, at the end, a line "site FILE:LINE" for each
// barrier and a line "kernel ADDRESS" for each kernel that ran.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace cuda_host::races {

// A barrier in the source.
struct Site {
    const char *file;
    int line;
};

#ifdef XF_CUDA_HOST_RACES

// Device memory: alloc() and forget() make it uninitialized, write() initialized; read() reports what is not.
void alloc(const void *ptr, size_t bytes);
void free(const void *ptr);
void forget(const void *ptr, size_t bytes);
void read(const void *ptr, size_t bytes);
void write(const void *ptr, size_t bytes);
void copy(const void *to, const void *from, size_t bytes);

// The two ranges of shared memory: dynamic and static, from begin_grid() to end_grid(). Outside a grid their addresses
// may be those of other memory: static shared memory belongs to a thread of the host and is freed with it.
void shared_range(int which, const void *ptr, size_t bytes);
// The region of the fibers' stacks: code that runs on one of them is a kernel.
void stack_range(const void *ptr, size_t bytes);

void begin_grid(const char *name, const void *kernel);
void end_grid();
void begin_block();
void block_synced(Site site);
void warp_synced(int warp, uint32_t mask, Site site);

int64_t reports();  // since the start or the last clear()
void clear();

// Accesses of the running thread that the emulator makes. pending: the bytes are still uninitialized.
void thread_reads(const void *ptr, size_t bytes);
void thread_writes(const void *ptr, size_t bytes, bool pending = false);
void thread_adds(const void *ptr, size_t bytes);  // atomic

#else

inline void alloc(const void *, size_t) {}
inline void free(const void *) {}
inline void forget(const void *, size_t) {}
inline void read(const void *, size_t) {}
inline void write(const void *, size_t) {}
inline void copy(const void *, const void *, size_t) {}
inline void shared_range(int, const void *, size_t) {}
inline void stack_range(const void *, size_t) {}
inline void begin_grid(const char *, const void *) {}
inline void end_grid() {}
inline void begin_block() {}
inline void block_synced(Site) {}
inline void warp_synced(int, uint32_t, Site) {}
inline int64_t reports() { return 0; }
inline void clear() {}
inline void thread_reads(const void *, size_t) {}
inline void thread_writes(const void *, size_t, bool = false) {}
inline void thread_adds(const void *, size_t) {}

#endif

}  // namespace cuda_host::races
