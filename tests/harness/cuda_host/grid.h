// The grid that runs: one block at a time, its threads as fibers. grid.cpp holds the scheduler and the barriers,
// warp.cpp the collectives of a warp and the asynchronous copies.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cuda_runtime.h"
#include "fiber.h"

namespace cuda_host {

constexpr int kWarpSize = 32;
constexpr int kMostThreads = 1024;

// One cp.async: to is written at the wait.
struct PendingCopy {
    void *to;
    const void *from;
    bool valid;
    int32_t group;
};

struct Warp {
    uint32_t exists, ended, waiting;  // one bit per lane
};

struct Thread {
    enum class State : uint8_t { ready, barrier, collective, dependency, ended };

    Fiber fiber;
    bool prepared;
    uint3 index;
    int32_t number, lane;
    Warp *warp;
    State state;
    bool waited;  // for what was launched before

    // The call for which it waits, with its arguments and result.
    Collective kind;
    uint32_t mask;
    uint64_t value, result;
    int32_t source;
    const uint32_t *a, *b;
    float *d;
    const void *row;
    uint32_t *r;

    std::vector<PendingCopy> copies;
    int32_t group;
};

struct Block {
    Thread *threads[kMostThreads];
    Warp warps[kMostThreads / kWarpSize];
    int32_t count, live;
    Thread *ready[kMostThreads];
    int32_t ready_count;
    Barrier barrier;
    int32_t arrived, votes, outcome;
    int32_t waited;  // threads that have
};

extern Block block;
extern Thread *current;

const char *name_of(Collective kind);
void make_ready(Thread &thread);
// Runs others until somebody makes this thread ready.
void wait(Thread::State state);
// A fault of the kernel at the current thread. Ends the process or abandons the grid; does not return.
[[noreturn]] void fault(cudaError_t code, const char *format, ...) __attribute__((format(printf, 2, 3)));
// True when bytes at ptr are shared memory of the running block, as far as this build can know.
bool is_shared(const void *ptr, size_t bytes);
void drop_copies(Thread &thread);

}  // namespace cuda_host
