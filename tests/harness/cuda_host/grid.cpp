// Runs a grid: blocks sequentially, the threads of a block as fibers. A seeded generator chooses a random order of the
// fibers at the start and at each rendezvous, so that code without a required barrier fails. It does so in the first
// block that runs and in each fourth after it; the other blocks run in ascending order, which takes two thirds of the
// time because of the cache.
//
// If no fiber can continue although some wait, or a fiber does something that the hardware does not allow, this is a
// fault: the report names the kernel, the block, and the threads.
//
// SPDX-License-Identifier: Apache-2.0
#include "grid.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "emulator.h"
#include "races.h"
#include "shared_memory.h"

namespace cuda_host {

Place place;
Block block;
Thread *current;

namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr size_t kStackBytes = 512 << 10;
#else
constexpr size_t kStackBytes = 128 << 10;
#endif

Fiber host;
Thread all_threads[kMostThreads];
char *stacks;
const Launch *running;
void *running_data;
cudaError_t fault_code;
uint64_t random_state;
bool shuffled;

// xorshift64*, scaled to [0, n).
uint32_t random_below(uint32_t n) {
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    const uint64_t bits = random_state * 0x2545F4914F6CDD1Du >> 32;
    return static_cast<uint32_t>(bits * n >> 32);
}

void *stack_of(int32_t number) {
    const size_t guard = static_cast<size_t>(sysconf(_SC_PAGESIZE)), each = kStackBytes + guard;
    if (stacks == nullptr) {
        void *region = mmap(nullptr, each * kMostThreads, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (region == MAP_FAILED) {
            std::perror("cuda_host: stacks");
            std::abort();
        }
        stacks = static_cast<char *>(region);
        races::stack_range(stacks, each * kMostThreads);
        for (int32_t i = 0; i < kMostThreads; ++i) mprotect(stacks + each * static_cast<size_t>(i), guard, PROT_NONE);
    }
    return stacks + each * static_cast<size_t>(number) + guard;
}

struct FreeStacks {
    ~FreeStacks() {
        const size_t each = kStackBytes + static_cast<size_t>(sysconf(_SC_PAGESIZE));
        if (stacks != nullptr) munmap(stacks, each * kMostThreads);
    }
} free_stacks;

Thread *next_ready() {
    const int32_t last = --block.ready_count;
    Thread *chosen = block.ready[last];
    if (shuffled) {
        const uint32_t at = random_below(static_cast<uint32_t>(last) + 1);
        std::swap(chosen, block.ready[at]);
    }
    return chosen;
}

void describe(std::string &text, const Thread &first, const Thread &last, const char *what) {
    char line[160];
    if (&first == &last)
        std::snprintf(line, sizeof line, "\n    thread %d %s", first.number, what);
    else
        std::snprintf(line, sizeof line, "\n    threads %d..%d %s", first.number, last.number, what);
    text += line;
}

// Lists the state of the threads, with one line for neighbors in the same state.
std::string situation() {
    std::string text, what, before;
    const Thread *first = nullptr, *last = nullptr;
    for (int32_t i = 0; i < block.count; ++i) {
        const Thread &t = *block.threads[i];
        if (t.state == Thread::State::barrier) what = "in a barrier of the block";
        if (t.state == Thread::State::ready) what = "not waiting";
        if (t.state == Thread::State::ended) what = "ended";
        if (t.state == Thread::State::dependency) what = "waiting for what was launched before";
        if (t.state == Thread::State::collective) {
            char line[80];
            std::snprintf(line, sizeof line, "in %s with mask %08x", name_of(t.kind), t.mask);
            what = line;
        }
        if (first != nullptr && what != before) describe(text, *first, *last, before.c_str());
        if (first == nullptr || what != before) first = &t;
        last = &t;
        before = what;
    }
    if (first != nullptr) describe(text, *first, *last, before.c_str());
    return text;
}

void resume(Fiber &from, Thread &to) {
    current = &to;
    place.thread = to.index;
    switch_to(from, to.fiber);
}

// Switches to another thread, or to the host if all have ended.
void leave(Thread &self) {
    if (block.ready_count != 0) {
        resume(self.fiber, *next_ready());
    } else if (block.live == 0) {
        switch_to(self.fiber, host);
    } else {
        fault(cudaErrorLaunchFailure, "threads wait for others that will never come");
    }
}

void fiber_main() {
    fiber_entered();
    for (;;) {
        Thread &self = *current;
        running->thread(running_data);
        if (running->dependent && !self.waited)
            fault(cudaErrorLaunchFailure, "a thread ended without having waited for what was launched before");
        drop_copies(self);
        self.state = Thread::State::ended;
        self.warp->ended |= 1u << self.lane;
        --block.live;
        leave(self);
    }
}

// Guarded device memory, away from a block whose threads have not all waited.
bool closed;
void close_memory() {
    if (controls.guard == 0) return;
    closed = true;
    guard();
}
void open_memory() {
    if (closed) unguard();
    closed = false;
}

void begin_block() {
    const uint3 size = place.block_dim;
    block.count = block.live = static_cast<int32_t>(size.x * size.y * size.z);
    block.ready_count = block.arrived = block.votes = block.waited = 0;
    for (int32_t i = 0; i < block.count; ++i) {
        Thread &t = all_threads[i];
        if (!t.prepared) {
            prepare_fiber(t.fiber, stack_of(i), kStackBytes, static_cast<size_t>(i) * 9 % 256, fiber_main);
            t.prepared = true;
        }
        const uint32_t n = static_cast<uint32_t>(i);
        t.index = {n % size.x, n / size.x % size.y, n / (size.x * size.y)};
        t.number = i;
        t.lane = i % kWarpSize;
        t.warp = &block.warps[i / kWarpSize];
        if (t.lane == 0) *t.warp = {0, 0, 0};
        t.warp->exists |= 1u << t.lane;
        t.state = Thread::State::ready;
        t.waited = false;
        t.group = 0;
        block.threads[i] = &t;
        block.ready[block.count - 1 - i] = &t;  // taken from the end
    }
    block.ready_count = block.count;
    races::begin_block();
}

}  // namespace

void make_ready(Thread &thread) {
    thread.state = Thread::State::ready;
    block.ready[block.ready_count++] = &thread;
}

void wait(Thread::State state) {
    Thread &self = *current;
    self.state = state;
    leave(self);
}

void fault(cudaError_t code, const char *format, ...) {
    char what[256], where[512];
    va_list args;
    va_start(args, format);
    std::vsnprintf(what, sizeof what, format, args);
    va_end(args);
    std::snprintf(where, sizeof where, "cuda_host: %s\n    kernel %s (at %p), block (%u, %u, %u), thread %d", what,
                  running->name != nullptr ? running->name : "without a name", running->kernel, place.block.x,
                  place.block.y, place.block.z, current->number);
    last_fault = where + situation();
    std::fprintf(stderr, "%s\n", last_fault.c_str());
    if (controls.report_divergence == 0) std::abort();
    fault_code = code;
    Fiber given_up;
    switch_to(given_up, host);
    std::abort();
}

int32_t lane() { return current->lane; }

int32_t block_barrier(Barrier kind, bool predicate, const char *file, int line) {
    if (block.arrived != 0 && block.barrier != kind)
        fault(cudaErrorLaunchFailure, "threads of a block are in barriers of different kinds");
    block.barrier = kind;
    block.votes += predicate ? 1 : 0;
    if (++block.arrived < block.count) {
        wait(Thread::State::barrier);
        return block.outcome;
    }
    races::block_synced({file, line});
    block.outcome = block.votes;
    block.arrived = block.votes = 0;
    for (int32_t i = 0; i < block.count; ++i)
        if (block.threads[i] != current) make_ready(*block.threads[i]);
    return block.outcome;
}

void wait_for_previous() {
    Thread &self = *current;
    if (!running->dependent || self.waited) return;
    self.waited = true;
    if (++block.waited < block.count) {
        wait(Thread::State::dependency);
        return;
    }
    open_memory();
    for (int32_t i = 0; i < block.count; ++i)
        if (block.threads[i] != current) make_ready(*block.threads[i]);
}

bool run_grid(const Launch &launch, void *data, cudaError_t &code) {
    running = &launch;
    running_data = data;
    fault_code = cudaSuccess;
    random_state =
        static_cast<uint64_t>(controls.seed) * 0x9E3779B97F4A7C15u + static_cast<uint64_t>(controls.launches) + 1;
    place.block_dim = launch.block;
    place.grid_dim = launch.grid;
    const uint64_t blocks = uint64_t{launch.grid.x} * launch.grid.y * launch.grid.z;
    // Block i is the (first + i * stride) mod blocks: every one, in an order of the generator's.
    uint64_t first = 0, stride = 1;
    if (controls.seed != 0 && blocks < 0x80000000u) {
        first = random_below(static_cast<uint32_t>(blocks));
        do stride = 1 + random_below(static_cast<uint32_t>(blocks));
        while (std::gcd(stride, blocks) != 1);
    }
    begin_shared(launch.kernel, launch.shared);
    races::begin_grid(launch.name, launch.kernel);
    for (uint64_t i = 0; i < blocks; ++i) {
        const uint64_t at = (first + i * stride) % blocks;
        place.block = {static_cast<unsigned>(at % launch.grid.x),
                       static_cast<unsigned>(at / launch.grid.x % launch.grid.y),
                       static_cast<unsigned>(at / launch.grid.x / launch.grid.y)};
        shuffled = controls.seed != 0 && i % 4 == 0;
        fill_shared();
        begin_block();
        if (launch.dependent) close_memory();
        resume(host, *next_ready());
        open_memory();
        if (fault_code == cudaSuccess && !shared_is_intact()) {
            last_fault = "cuda_host: a kernel wrote after the end of its dynamic shared memory: ";
            last_fault += launch.name != nullptr ? launch.name : "without a name";
            std::fprintf(stderr, "%s\n", last_fault.c_str());
            if (controls.report_divergence == 0) std::abort();
            fault_code = cudaErrorIllegalAddress;
        }
        if (fault_code != cudaSuccess) {
            for (Thread &t : all_threads) {
                t.prepared = false;
                drop_copies(t);
            }
            break;
        }
        if (i == 0) learn_shared();
    }
    races::end_grid();
    end_shared();
    code = fault_code;
    return code == cudaSuccess;
}

}  // namespace cuda_host
