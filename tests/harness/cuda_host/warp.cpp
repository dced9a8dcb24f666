// The collectives of a warp: each lane brings its part and waits; the last one to come computes for all. And the
// copies of cp.async, which are made at the wait.
//
// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "emulator.h"
#include "grid.h"
#include "races.h"

namespace cuda_host {

namespace {

float low(uint32_t pair) { return bits_of<float>(pair << 16); }
float high(uint32_t pair) { return bits_of<float>(pair & 0xFFFF0000u); }

// d += a b with the fragments of the PTX ISA: row g = lane / 4, column pair c = lane % 4.
void multiply(Thread *const *lanes) {
    float a[16][16], b[16][8];
    for (int lane = 0; lane < kWarpSize; ++lane) {
        const int g = lane / 4, c = lane % 4 * 2;
        for (int part = 0; part < 4; ++part) {
            float *to = &a[g + part % 2 * 8][c + part / 2 * 8];
            to[0] = low(lanes[lane]->a[part]);
            to[1] = high(lanes[lane]->a[part]);
        }
        for (int part = 0; part < 2; ++part) {
            b[c + part * 8][g] = low(lanes[lane]->b[part]);
            b[c + part * 8 + 1][g] = high(lanes[lane]->b[part]);
        }
    }
    float sums[16][8] = {};
    for (int i = 0; i < 16; ++i)
        for (int k = 0; k < 16; ++k)
            for (int j = 0; j < 8; ++j) sums[i][j] += a[i][k] * b[k][j];
    for (int lane = 0; lane < kWarpSize; ++lane) {
        const int g = lane / 4, c = lane % 4 * 2;
        for (int part = 0; part < 4; ++part) lanes[lane]->d[part] += sums[g + part / 2 * 8][c + part % 2];
    }
}

// Lane i names row i % 8 of matrix i / 8. r[m] gets of matrix m (row g, columns 2c 2c+1), or transposed.
void load_matrices(Thread *const *lanes, int matrices, bool transposed) {
    uint16_t rows[32][8];
    for (int i = 0; i < 8 * matrices; ++i) std::memcpy(rows[i], lanes[i]->row, sizeof rows[i]);
    for (int lane = 0; lane < kWarpSize; ++lane) {
        const int g = lane / 4, c = lane % 4 * 2;
        for (int m = 0; m < matrices; ++m) {
            const uint32_t first = transposed ? rows[8 * m + c][g] : rows[8 * m + g][c];
            const uint32_t second = transposed ? rows[8 * m + c + 1][g] : rows[8 * m + g][c + 1];
            lanes[lane]->r[m] = first | second << 16;
        }
    }
}

void compute(Collective kind, uint32_t mask, Thread *const *lanes) {
    switch (kind) {
        case Collective::shuffle:
            for (uint32_t left = mask; left != 0; left &= left - 1) {
                Thread &t = *lanes[__builtin_ctz(left)];
                t.result = lanes[t.source]->value;
            }
            break;
        case Collective::mma:
            multiply(lanes);
            break;
        case Collective::ldmatrix_x4:
            load_matrices(lanes, 4, false);
            break;
        case Collective::ldmatrix_x4_trans:
            load_matrices(lanes, 4, true);
            break;
        case Collective::ldmatrix_x2:
            load_matrices(lanes, 2, false);
            break;
        case Collective::ldmatrix_x2_trans:
            load_matrices(lanes, 2, true);
            break;
        case Collective::sync:
        case Collective::none:
            break;
    }
}

// The caller has put its part into the thread. Returns when all lanes of the mask have come.
void meet(Collective kind, uint32_t mask) {
    Thread &self = *current;
    Warp &warp = *self.warp;
    const uint32_t me = 1u << self.lane;
    Thread *const *lanes = &block.threads[self.number - self.lane];
    if ((mask & me) == 0) fault(cudaErrorLaunchFailure, "%s: mask %08x leaves out its caller", name_of(kind), mask);
    if ((mask & ~warp.exists) != 0)
        fault(cudaErrorLaunchFailure, "%s: mask %08x names lanes that the block doesn't have", name_of(kind), mask);
    if ((mask & warp.ended) != 0)
        fault(cudaErrorLaunchFailure, "%s: mask %08x names lanes that have ended", name_of(kind), mask);
    if (kind == Collective::shuffle && (mask >> self.source & 1u) == 0)
        fault(cudaErrorLaunchFailure, "a shuffle reads lane %d, which mask %08x leaves out", self.source, mask);
    const uint32_t others = warp.waiting & mask;
    if (others != 0) {
        const Thread &other = *lanes[__builtin_ctz(others)];
        if (other.kind != kind || other.mask != mask)
            fault(cudaErrorLaunchFailure,
                  "lanes of one warp are in different collectives: thread %d in %s, mask %08x, "
                  "but this one in %s, mask %08x",
                  other.number, name_of(other.kind), other.mask, name_of(kind), mask);
    }
    self.kind = kind;
    self.mask = mask;
    if ((others | me) != mask) {
        warp.waiting |= me;
        wait(Thread::State::collective);
        return;
    }
    compute(kind, mask, lanes);
    warp.waiting &= ~mask;
    for (uint32_t left = others; left != 0; left &= left - 1) make_ready(*lanes[__builtin_ctz(left)]);
}

void load(Collective kind, uint32_t *r, const void *row, int matrices) {
    Thread &self = *current;
    if (self.lane < 8 * matrices) {
        if (reinterpret_cast<uintptr_t>(row) % 16 != 0)
            fault(cudaErrorMisalignedAddress, "%s: row %p is not 16-byte aligned", name_of(kind), row);
        if (!is_shared(row, 16))
            fault(cudaErrorIllegalAddress, "%s: row %p is not in shared memory", name_of(kind), row);
    }
    if (self.lane < 8 * matrices) races::thread_reads(row, 16);
    self.r = r;
    self.row = row;
    meet(kind, 0xFFFFFFFFu);
}

}  // namespace

const char *name_of(Collective kind) {
    constexpr const char *kNames[] = {"nothing",     "a __syncwarp",      "a shuffle",   "an mma",
                                      "ldmatrix.x4", "ldmatrix.x4.trans", "ldmatrix.x2", "ldmatrix.x2.trans"};
    return kNames[static_cast<int>(kind)];
}

uint64_t warp_shuffle(uint32_t mask, uint64_t value, int32_t source) {
    current->value = value;
    current->source = source & (kWarpSize - 1);
    meet(Collective::shuffle, mask);
    return current->result;
}

// The last lane to come has synchronized all; the others are still in meet().
void warp_sync(uint32_t mask, const char *file, int line) {
    const Warp &warp = *current->warp;
    const bool last = (warp.waiting & mask) == (mask & ~(1u << current->lane));
    meet(Collective::sync, mask);
    if (last) races::warp_synced(current->number / kWarpSize, mask, {file, line});
}

// Threads of a block are fibers and blocks follow each other: nothing comes between.
unsigned long long atomic_add(unsigned long long *to, unsigned long long value) {
    races::thread_adds(to, sizeof *to);
    const unsigned long long before = *to;
    *to = before + value;
    return before;
}

void mma_m16n8k16_bf16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    current->a = a;
    current->b = b;
    current->d = d;
    meet(Collective::mma, 0xFFFFFFFFu);
}

void ldmatrix_x4(uint32_t (&r)[4], const void *row) { load(Collective::ldmatrix_x4, r, row, 4); }
void ldmatrix_x4_trans(uint32_t (&r)[4], const void *row) { load(Collective::ldmatrix_x4_trans, r, row, 4); }
void ldmatrix_x2(uint32_t (&r)[2], const void *row) { load(Collective::ldmatrix_x2, r, row, 2); }
void ldmatrix_x2_trans(uint32_t (&r)[2], const void *row) { load(Collective::ldmatrix_x2_trans, r, row, 2); }

void cp_async16(void *shared, const void *global, bool valid) {
    if (reinterpret_cast<uintptr_t>(shared) % 16 != 0)
        fault(cudaErrorMisalignedAddress, "cp.async: shared address %p is not 16-byte aligned", shared);
    if (!is_shared(shared, 16)) fault(cudaErrorIllegalAddress, "cp.async: %p is not in shared memory", shared);
    if (valid && reinterpret_cast<uintptr_t>(global) % 16 != 0)
        fault(cudaErrorMisalignedAddress, "cp.async: global address %p is not 16-byte aligned", global);
    races::thread_writes(shared, 16, true);
    if (valid) races::thread_reads(global, 16);
    std::memset(shared, 0xFF, 16);
    current->copies.push_back({shared, global, valid, current->group});
}

void cp_async_commit() { ++current->group; }

// Group g is complete when at most newest_left committed groups are younger than it or under way with it.
void cp_async_wait_groups(int32_t newest_left) {
    auto &copies = current->copies;
    size_t kept = 0;
    for (const PendingCopy &copy : copies) {
        if (copy.group >= current->group - newest_left) {
            copies[kept++] = copy;
            continue;
        }
        races::thread_writes(copy.to, 16);
        if (copy.valid) {
            races::thread_reads(copy.from, 16);
            std::memcpy(copy.to, copy.from, 16);
        } else {
            std::memset(copy.to, 0, 16);
        }
    }
    copies.resize(kept);
}

void drop_copies(Thread &thread) { thread.copies.clear(); }

}  // namespace cuda_host
