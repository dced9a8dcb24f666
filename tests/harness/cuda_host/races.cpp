// See races.h.
//
// Time is counted in intervals: a number that rises at the start of each grid and block and at each barrier of a block.
// Accesses of one block in different intervals are ordered. Within an interval, the lanes of a warp have vector clocks;
// all is ordered anew at the next barrier, so a clock is reset when its warp first synchronizes in a later interval.
//
// A cell describes two bytes of device memory or one byte of shared memory: its last write, and its reads since then.
// Reads by several lanes of a warp in one interval are one entry with a mask. An interval tells to which block an
// access belongs, so nothing is cleared between blocks: shared memory last written in an interval before the block is
// uninitialized.
//
// SPDX-License-Identifier: Apache-2.0
#include "races.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "grid.h"

namespace cuda_host::races {
namespace {

constexpr uint16_t kManyWarps = 0xFFFF;

struct Cell {
    uint32_t write_interval, write_pc;
    uint16_t write_thread, write_clock;
    uint8_t initialized, atomic;  // atomic: the last write
    uint16_t read_warp;           // kManyWarps: of more than one warp
    uint32_t read_interval, read_pc, read_mask;
    uint16_t read_clock, unused;
    uint32_t read_before;  // the interval of the last read by an earlier block, 0 if none
};

struct Region {
    uintptr_t begin;
    size_t bytes;
    Cell *cells;
    int shift;  // log2 of the bytes of a cell
};

struct Clocks {
    uint32_t interval;
    uint16_t own[kWarpSize];
    uint16_t known[kWarpSize][kWarpSize];  // known[b][a]: accesses of lane a up to this clock precede those of b
};

std::map<uintptr_t, Region> regions;  // device memory
Region shared[2];
uintptr_t stacks_begin, stacks_end;

uint32_t interval = 1, grid_begin = 1, block_begin = 1;
Clocks clocks[kMostThreads / kWarpSize];
const char *grid_name = "";
bool in_grid = false;

// The region of each 256 bytes, which belong to one allocation.
struct Cached {
    uintptr_t key;
    Region *region;
} cache[4096];

struct Log {
    std::set<std::pair<uint64_t, int>> reported;
    std::map<std::pair<std::string, int>, bool> sites;  // value: skipped
    std::set<const void *> kernels;
    std::string without_file;
    int without_line = 0;
    bool halt = false;

    Log() {
        const char *const halts = std::getenv("XF_RACES_HALT"), *const without = std::getenv("XF_RACES_WITHOUT");
        halt = halts != nullptr && *halts != 0;
        const char *const colon = without != nullptr ? std::strrchr(without, ':') : nullptr;
        if (colon == nullptr) return;
        without_file.assign(without, colon);
        without_line = std::atoi(colon + 1);
    }
    ~Log() {
        if (const char *const path = std::getenv("XF_RACES_LOG")) {
            if (std::FILE *const file = std::fopen(path, "a")) {
                for (const auto &[site, skipped] : sites)
                    std::fprintf(file, "site %s:%d%s\n", site.first.c_str(), site.second, skipped ? " skipped" : "");
                for (const void *kernel : kernels) std::fprintf(file, "kernel %#zx\n", offset_of(kernel));
                std::fclose(file);
            }
        }
        end();
    }
    void end() const {
        if (reported.empty()) return;
        std::fprintf(stderr, "cuda_host: %zu reports of races or uninitialized memory\n", reported.size());
        std::fflush(nullptr);
        _exit(66);
    }
    static size_t offset_of(const void *code) {
        Dl_info info{};
        return dladdr(code, &info) != 0
                   ? static_cast<size_t>(static_cast<const char *>(code) - static_cast<const char *>(info.dli_fbase))
                   : 0;
    }
} log;

size_t module_base() {
    static const auto base =
        reinterpret_cast<size_t>(&module_base) - Log::offset_of(reinterpret_cast<const void *>(&module_base));
    return base;
}
uint32_t short_pc(const void *pc) { return static_cast<uint32_t>(reinterpret_cast<size_t>(pc) - module_base() - 1); }

void report(const char *what, const Region &region, uintptr_t at, uint32_t pc, const char *other, uint32_t other_pc,
            int other_thread) {
    if (!log.reported.insert({uint64_t{pc} << 32 | other_pc, what[0]}).second) return;
    if (log.reported.size() <= 40) {
        std::fprintf(stderr, "cuda_host: %s in %s, block (%u, %u, %u), thread %d, code %#x, byte %zu of %s memory",
                     what, grid_name, place.block.x, place.block.y, place.block.z,
                     current != nullptr ? current->number : -1, pc, static_cast<size_t>(at - region.begin),
                     region.shift == 0 ? "shared" : "device");
        if (other != nullptr) std::fprintf(stderr, ", with %s by thread %d, code %#x", other, other_thread, other_pc);
        std::fputc('\n', stderr);
    }
    if (log.halt) log.end();
}

Region *find(uintptr_t at) {
    for (Region &range : shared)
        if (in_grid && at - range.begin < range.bytes) return &range;
    Cached &cached = cache[at >> 8 & 4095];
    if (cached.key != at >> 8) {
        cached = {at >> 8, nullptr};
        const auto next = regions.upper_bound(at | 255);
        if (next != regions.begin()) cached.region = &std::prev(next)->second;
    }
    return cached.region != nullptr && at - cached.region->begin < cached.region->bytes ? cached.region : nullptr;
}

void make_cells(Region &region, const void *ptr, size_t bytes, int shift) {
    std::free(region.cells);
    const size_t count = (bytes >> shift) + 1;
    region = {reinterpret_cast<uintptr_t>(ptr), bytes, static_cast<Cell *>(std::calloc(count, sizeof(Cell))), shift};
    if (region.cells == nullptr) std::abort();
}

template <class F>
void each_cell(const void *ptr, size_t bytes, const F &f) {
    const auto at = reinterpret_cast<uintptr_t>(ptr);
    Region *const region = bytes == 0 ? nullptr : find(at);
    if (region == nullptr) return;
    const size_t first = (at - region->begin) >> region->shift,
                 last = std::min(at - region->begin + bytes, region->bytes) - 1;
    for (size_t i = first; i <= last >> region->shift; ++i) f(*region, region->cells[i], i << region->shift);
}

// The running thread.
struct Self {
    int thread, warp, lane;
    uint16_t clock;
    const Clocks *clocks;  // of its warp; null if it has not synchronized in this interval

    Self() : thread(current->number), warp(thread / kWarpSize), lane(current->lane) {
        const Clocks &c = races::clocks[warp];
        clocks = c.interval == interval ? &c : nullptr;
        clock = clocks != nullptr ? c.own[lane] : uint16_t{1};
    }
    // Returns true if an access by lane `of` of this warp, in this interval and with this clock, precedes the thread.
    bool follows(int of, uint16_t at) const {
        return of == lane || (clocks != nullptr && at <= clocks->known[lane][of]);
    }
};

void check_write_order(const Self &self, const Region &region, const Cell &cell, uintptr_t at, uint32_t pc,
                       const char *what) {
    if (cell.write_interval < (region.shift == 0 ? block_begin : grid_begin)) return;
    if (cell.write_interval < block_begin)
        return report(what, region, at, pc, "a write of another block", cell.write_pc, cell.write_thread);
    if (cell.write_interval < interval || cell.write_thread == self.thread) return;
    if (cell.write_thread / kWarpSize == self.warp && self.follows(cell.write_thread % kWarpSize, cell.write_clock))
        return;
    report(what, region, at, pc, "a write", cell.write_pc, cell.write_thread);
}

void check_read_order(const Self &self, const Region &region, const Cell &cell, uintptr_t at, uint32_t pc) {
    constexpr const char *kWhat = "a race of a write";
    const bool here = cell.read_interval >= block_begin;
    const uint32_t before = here ? cell.read_before : cell.read_interval;
    if (region.shift != 0 && before >= grid_begin)
        report(kWhat, region, at, pc, "a read of another block", cell.read_pc, -1);
    if (!here || cell.read_interval < interval) return;
    if (cell.read_warp != self.warp) return report(kWhat, region, at, pc, "a read", cell.read_pc, -1);
    for (uint32_t left = cell.read_mask; left != 0; left &= left - 1) {
        const int lane = __builtin_ctz(left);
        if (!self.follows(lane, cell.read_clock))
            return report(kWhat, region, at, pc, "a read", cell.read_pc, self.warp * kWarpSize + lane);
    }
}

void note_read(const Self &self, Cell &cell, uint32_t pc) {
    const uint32_t me = 1u << self.lane;
    if (cell.read_interval == interval) {
        if (cell.read_warp != self.warp) {
            cell.read_warp = kManyWarps;
            return;
        }
        if (cell.read_clock == self.clock) {
            cell.read_mask |= me;
            return;
        }
        // Lanes whose reads precede this one are covered by it. Others have other clocks only after __syncwarp() with
        // partial masks: the older read is kept, so that no race with it is missed.
        for (uint32_t left = cell.read_mask; left != 0; left &= left - 1)
            if (!self.follows(__builtin_ctz(left), cell.read_clock)) return;
    } else if (cell.read_interval < block_begin) {
        cell.read_before = cell.read_interval >= grid_begin ? cell.read_interval : 0;
    }
    cell.read_interval = interval, cell.read_pc = pc, cell.read_mask = me;
    cell.read_warp = static_cast<uint16_t>(self.warp), cell.read_clock = self.clock;
}

void reads(const void *ptr, size_t bytes, const void *code) {
    const uint32_t pc = short_pc(code);
    const Self self;
    each_cell(ptr, bytes, [&](Region &region, Cell &cell, size_t at) {
        const bool ready = cell.initialized && (region.shift != 0 || cell.write_interval >= block_begin);
        if (!ready) report("uninitialized memory is read", region, region.begin + at, pc, nullptr, 0, 0);
        check_write_order(self, region, cell, region.begin + at, pc, "a race of a read");
        note_read(self, cell, pc);
    });
}

void writes(const void *ptr, size_t bytes, const void *code, bool pending, bool atomic) {
    const uint32_t pc = short_pc(code);
    const Self self;
    each_cell(ptr, bytes, [&](Region &region, Cell &cell, size_t at) {
        if (!(atomic && cell.atomic)) check_write_order(self, region, cell, region.begin + at, pc, "a race of a write");
        check_read_order(self, region, cell, region.begin + at, pc);
        cell.write_interval = interval, cell.write_pc = pc;
        cell.write_thread = static_cast<uint16_t>(self.thread), cell.write_clock = self.clock;
        cell.initialized = !pending, cell.atomic = atomic;
    });
}

bool skipped(Site site) {
    const char *const slash = std::strrchr(site.file, '/');
    const char *const name = slash != nullptr ? slash + 1 : site.file;
    const bool skip = site.line == log.without_line && log.without_file == name;
    log.sites[{name, site.line}] = skip;
    return skip;
}

bool in_kernel(const void *frame) {
    const auto at = reinterpret_cast<uintptr_t>(frame);
    return at >= stacks_begin && at < stacks_end;
}

}  // namespace

void alloc(const void *ptr, size_t bytes) {
    make_cells(regions[reinterpret_cast<uintptr_t>(ptr)], ptr, bytes, 1);
    std::memset(cache, 0, sizeof cache);
}

void free(const void *ptr) {
    const auto found = regions.find(reinterpret_cast<uintptr_t>(ptr));
    if (found == regions.end()) return;
    std::free(found->second.cells);
    regions.erase(found);
    std::memset(cache, 0, sizeof cache);
}

void forget(const void *ptr, size_t bytes) {
    each_cell(ptr, bytes, [](Region &, Cell &cell, size_t) { cell.initialized = 0; });
}

void write(const void *ptr, size_t bytes) {
    each_cell(ptr, bytes, [](Region &, Cell &cell, size_t) { cell.initialized = 1; });
}

void read(const void *ptr, size_t bytes) {
    each_cell(ptr, bytes, [&](Region &region, Cell &cell, size_t at) {
        if (!cell.initialized)
            report("uninitialized memory is read by a product or a copy", region, region.begin + at, 0, nullptr, 0, 0);
    });
}

void copy(const void *to, const void *from, size_t bytes) {
    std::vector<uint8_t> ready;
    each_cell(from, bytes, [&](Region &, Cell &cell, size_t) { ready.push_back(cell.initialized); });
    size_t i = 0;
    each_cell(to, bytes, [&](Region &, Cell &cell, size_t) { cell.initialized = i < ready.size() ? ready[i++] : 1; });
}

void shared_range(int which, const void *ptr, size_t bytes) {
    Region &range = shared[which];
    if (range.begin != reinterpret_cast<uintptr_t>(ptr) || range.bytes != bytes) make_cells(range, ptr, bytes, 0);
}

void stack_range(const void *ptr, size_t bytes) {
    stacks_begin = reinterpret_cast<uintptr_t>(ptr);
    stacks_end = stacks_begin + bytes;
}

void begin_grid(const char *name, const void *kernel) {
    grid_name = name != nullptr ? name : "a kernel";
    log.kernels.insert(kernel);
    grid_begin = ++interval;
    in_grid = true;
}
void end_grid() { in_grid = false; }
void begin_block() { block_begin = ++interval; }

void block_synced(Site site) {
    if (!skipped(site)) ++interval;
}

void warp_synced(int warp, uint32_t mask, Site site) {
    if (skipped(site)) return;
    Clocks &c = clocks[warp];
    if (c.interval != interval) {
        std::memset(&c, 0, sizeof c);
        c.interval = interval;
        std::fill(std::begin(c.own), std::end(c.own), uint16_t{1});
    }
    uint16_t joined[kWarpSize] = {};
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        const int lane = __builtin_ctz(left);
        for (int a = 0; a < kWarpSize; ++a) joined[a] = std::max(joined[a], c.known[lane][a]);
        joined[lane] = std::max(joined[lane], c.own[lane]);
    }
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        const int lane = __builtin_ctz(left);
        std::memcpy(c.known[lane], joined, sizeof joined);
        if (++c.own[lane] == 0) std::abort();  // 65,535 in one interval
    }
}

int64_t reports() { return static_cast<int64_t>(log.reported.size()); }
void clear() { log.reported.clear(); }

void thread_reads(const void *ptr, size_t bytes) { reads(ptr, bytes, __builtin_return_address(0)); }
void thread_writes(const void *ptr, size_t bytes, bool pending) {
    writes(ptr, bytes, __builtin_return_address(0), pending, false);
}
void thread_adds(const void *ptr, size_t bytes) {
    each_cell(ptr, bytes, [](Region &region, Cell &cell, size_t at) {
        if (!cell.initialized) report("uninitialized memory is added to", region, region.begin + at, 0, nullptr, 0, 0);
    });
    writes(ptr, bytes, __builtin_return_address(0), false, true);
}

}  // namespace cuda_host::races

// The calls that -fsanitize=thread inserts.
extern "C" {

#define XF_ACCESS(name, size, ...)                                                 \
    __attribute__((visibility("hidden"))) void __tsan_##name(void *ptr) {          \
        using namespace cuda_host::races;                                          \
        if (in_kernel(__builtin_frame_address(0)) && !in_kernel(ptr)) __VA_ARGS__; \
    }
#define XF_ACCESSES(size)                                                                                \
    XF_ACCESS(read##size, size, reads(ptr, size, __builtin_return_address(0)))                           \
    XF_ACCESS(write##size, size, writes(ptr, size, __builtin_return_address(0), false, false))           \
    XF_ACCESS(unaligned_read##size, size, reads(ptr, size, __builtin_return_address(0)))                 \
    XF_ACCESS(unaligned_write##size, size, writes(ptr, size, __builtin_return_address(0), false, false)) \
    XF_ACCESS(volatile_read##size, size, reads(ptr, size, __builtin_return_address(0)))                  \
    XF_ACCESS(volatile_write##size, size, writes(ptr, size, __builtin_return_address(0), false, false))
XF_ACCESSES(1)
XF_ACCESSES(2)
XF_ACCESSES(4)
XF_ACCESSES(8)
XF_ACCESSES(16)

#define XF_HIDDEN __attribute__((visibility("hidden")))
XF_HIDDEN void __tsan_read_range(void *ptr, unsigned long bytes) {
    using namespace cuda_host::races;
    if (in_kernel(__builtin_frame_address(0)) && !in_kernel(ptr)) reads(ptr, bytes, __builtin_return_address(0));
}
XF_HIDDEN void __tsan_write_range(void *ptr, unsigned long bytes) {
    using namespace cuda_host::races;
    if (in_kernel(__builtin_frame_address(0)) && !in_kernel(ptr))
        writes(ptr, bytes, __builtin_return_address(0), false, false);
}
XF_HIDDEN void __tsan_init() {}
XF_HIDDEN void __tsan_func_entry(void *) {}
XF_HIDDEN void __tsan_func_exit() {}
XF_HIDDEN void __tsan_vptr_read(void **) {}
XF_HIDDEN void __tsan_vptr_update(void **, void *) {}

// Atomic operations of host code.
#define XF_ATOMICS(bits, type)                                                                                      \
    XF_HIDDEN type __tsan_atomic##bits##_load(const volatile type *at, int) {                                       \
        return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                                               \
    }                                                                                                               \
    XF_HIDDEN void __tsan_atomic##bits##_store(volatile type *at, type value, int) {                                \
        __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                                              \
    }                                                                                                               \
    XF_HIDDEN type __tsan_atomic##bits##_exchange(volatile type *at, type value, int) {                             \
        return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);                                                    \
    }                                                                                                               \
    XF_HIDDEN int __tsan_atomic##bits##_compare_exchange_strong(volatile type *at, type *expected, type value, int, \
                                                                int) {                                              \
        return __atomic_compare_exchange_n(at, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);         \
    }
XF_ATOMICS(8, char)
XF_ATOMICS(32, int)
XF_ATOMICS(64, long)

}  // extern "C"
