// Proves that races.h finds planted faults, and reports nothing in the same kernels without them.
//
// SPDX-License-Identifier: Apache-2.0
#include "races.h"
#include "device_buffer.hpp"
#include "emulator.h"

namespace {

constexpr unsigned kAll = 0xFFFFFFFFu, kEven = 0x55555555u;

// The number of reports of a kernel with this grid.
template <class... P, class... A>
int64_t reports(void (*kernel)(P...), int blocks, int threads, A... args) {
    xf_cuda_host_set("races", 0);
    const Stream stream;
    CHECK_EQ(cuda_host::launch(kernel, dim3(static_cast<unsigned>(blocks)), dim3(static_cast<unsigned>(threads)), 4096,
                               stream.handle, args...),
             cudaSuccess);
    CHECK_EQ(stream.sync(), cudaSuccess);
    const int64_t count = xf_cuda_host_get("races");
    xf_cuda_host_set("races", 0);
    return count;
}

unsigned lane() { return threadIdx.x % 32; }

// A barrier after the write, and one before the next turn's write.
void turns(int *dst, bool after_write, bool before_next) {
    __shared__ int values[64];
    const unsigned i = threadIdx.x;
    int sum = 0;
    for (int turn = 0; turn < 2; ++turn) {
        values[i] = turn;
        if (after_write) __syncthreads();
        sum += values[63 - i];
        if (before_next) __syncthreads();
    }
    dst[i] = sum;
}

XF_TEST(each_barrier_of_a_loop_is_needed) {
    const Buffer<int> dst(64);
    CHECK_EQ(reports(turns, 3, 64, dst.ptr, true, true) > 0, true);  // three blocks write the same
    CHECK_EQ(reports(turns, 1, 64, dst.ptr, true, true), 0);
    CHECK(reports(turns, 1, 64, dst.ptr, false, true) > 0);
    CHECK(reports(turns, 1, 64, dst.ptr, true, false) > 0);
}

// Lanes of one warp: full and partial masks, and what orders nothing.
void lanes(int *dst, int how) {
    __shared__ int values[32];
    const unsigned i = lane();
    values[i] = 1;
    unsigned from = 31 - i;
    if (how == 1) __syncwarp();
    if (how == 2) dst[i] = __shfl_sync(kAll, static_cast<int>(i), 0);
    if (how == 3) __syncwarp(i % 2 == 0 ? kEven : ~kEven);
    if (how == 4) __syncwarp(i % 2 == 0 ? kEven : ~kEven), from = 30 + 2 * (i % 2) - i;
    if (how >= 5) {  // 0 to 1, and then 1 to 2
        if (i < 2) __syncwarp(3u);
        if (i == 1 || i == 2) __syncwarp(6u);
        from = how == 5 && i == 2 ? 0 : how == 6 && i == 0 ? 2 : i;
    }
    dst[i] = values[from];
}

XF_TEST(a_warp_is_ordered_by_its_masks) {
    const Buffer<int> dst(32);
    for (const int how : {1, 4, 5}) CHECK_EQ(reports(lanes, 1, 32, dst.ptr, how), 0);
    for (const int how : {0, 2, 3, 6}) CHECK(reports(lanes, 1, 32, dst.ptr, how) > 0);
}

// A warp synchronizes; the other warp is not part of it.
void two_warps(int *dst, bool block) {
    __shared__ int value;
    if (threadIdx.x == 0) value = 1;
    __syncwarp();
    if (block) __syncthreads();
    dst[threadIdx.x] = value;
}

// Written after it was read by many: by the reader itself, by another.
void read_then_write(int *dst, bool one) {
    __shared__ int value;
    if (threadIdx.x == 0) value = 1;
    __syncthreads();
    if (!one || threadIdx.x == 40) dst[threadIdx.x] = value;
    if (threadIdx.x == 40) value = 2;
}

XF_TEST(warps_are_ordered_by_barriers_of_the_block_only) {
    const Buffer<int> dst(64);
    CHECK_EQ(reports(two_warps, 1, 64, dst.ptr, true), 0);
    CHECK(reports(two_warps, 1, 64, dst.ptr, false) > 0);
    CHECK_EQ(reports(read_then_write, 1, 64, dst.ptr, true), 0);
    CHECK(reports(read_then_write, 1, 64, dst.ptr, false) > 0);
}

void blocks(int *memory, unsigned long long *count, int how) {
    const unsigned i = blockIdx.x;
    if (how == 0) memory[i] = 1;
    if (how == 1) memory[0] = 1;
    if (how == 2 && i == 1) memory[0] = 1;
    if (how == 2 && i != 1) memory[i + 1] = memory[0];
    if (how == 3) atomicAdd(count, 1);
    if (how == 4 && i != 1) atomicAdd(count, 1);
    if (how == 4 && i == 1) memory[0] = static_cast<int>(*count);
    if (how == 5) reinterpret_cast<short *>(memory)[i] = 1;
}

XF_TEST(blocks_are_not_ordered) {
    const Buffer<int> memory(std::vector<int>(8, 0));
    const Buffer<unsigned long long> count(std::vector<unsigned long long>(1, 0));
    for (const int64_t seed : {0, 1, 2, 3}) {
        const Setting setting("seed", seed);
        for (const int how : {0, 3, 5}) CHECK_EQ(reports(blocks, 4, 1, memory.ptr, count.ptr, how), 0);
        for (const int how : {1, 2, 4}) CHECK(reports(blocks, 4, 1, memory.ptr, count.ptr, how) > 0);
    }
}

void read_some(const int *memory, int *dst, int how) {
    __shared__ int fixed[32];
    int *const dynamic = static_cast<int *>(cuda_host::dynamic_shared());
    const unsigned i = threadIdx.x;
    if (how == 0) dst[i] = memory[i];
    if (how == 1) dst[i] = fixed[i];
    if (how == 2) dst[i] = dynamic[i];
    if (how == 3 && blockIdx.x == 0) fixed[i] = dynamic[i] = 1;
    if (how == 3 && blockIdx.x == 1) dst[i] = fixed[i] + dynamic[i];
}

XF_TEST(uninitialized_reads_are_reported) {
    const Buffer<int> memory(32), dst(32);
    const Setting setting("seed", 0);
    for (const int how : {0, 1, 2, 3}) CHECK(reports(read_some, how == 3 ? 2 : 1, 32, memory.ptr, dst.ptr, how) > 0);
    CHECK_EQ(cudaMemset(memory.ptr, 0, 31 * sizeof(int)), cudaSuccess);
    CHECK_EQ(cudaDeviceSynchronize(), cudaSuccess);
    CHECK(reports(read_some, 1, 32, memory.ptr, dst.ptr, 0) > 0);
    CHECK_EQ(reports(read_some, 1, 31, memory.ptr, dst.ptr, 0), 0);
    CHECK_EQ(cudaMemcpyAsync(dst.ptr, memory.ptr, 32 * sizeof(int), cudaMemcpyDeviceToDevice, nullptr), cudaSuccess);
    CHECK_EQ(cudaDeviceSynchronize(), cudaSuccess);
    CHECK(reports(read_some, 1, 32, dst.ptr, memory.ptr, 0) > 0);
    CHECK_EQ(reports(read_some, 1, 32, memory.ptr, dst.ptr, 0), 0);  // written by the kernel before
    cuda_host::forget(nullptr, memory.ptr, 32 * sizeof(int));
    CHECK_EQ(cudaDeviceSynchronize(), cudaSuccess);
    CHECK(reports(read_some, 1, 32, memory.ptr, dst.ptr, 0) > 0);
}

// Static shared memory belongs to the thread of the host that ran the kernel. After the end of that thread its address
// may be that of device memory, which is written before the next kernel runs.
XF_TEST(shared_memory_is_shared_only_in_a_grid) {
    const Buffer<int> memory(32), dst(32);
    cuda_host::races::shared_range(1, memory.ptr, 32 * sizeof(int));
    CHECK_EQ(cudaMemset(memory.ptr, 0, 32 * sizeof(int)), cudaSuccess);
    CHECK_EQ(cudaDeviceSynchronize(), cudaSuccess);
    CHECK_EQ(reports(read_some, 1, 32, memory.ptr, dst.ptr, 0), 0);
}

// Two warps, which copy and read each other's part.
void copy_asynchronously(const char *memory, int *dst, int how) {
    char *const shared = static_cast<char *>(cuda_host::dynamic_shared());
    const unsigned i = threadIdx.x;
    cuda_host::cp_async16(shared + 16 * i, memory + 16 * i);
    cuda_host::cp_async_commit();
    if (how != 0) cuda_host::cp_async_wait<0>();
    if (how != 1) __syncthreads();
    dst[i] = shared[16 * (63 - i)];
    if (how == 3) {  // the next copy begins before all have read
        cuda_host::cp_async16(shared + 16 * i, memory + 16 * i);
        cuda_host::cp_async_commit();
        cuda_host::cp_async_wait<0>();
    }
}

XF_TEST(asynchronous_copies_arrive_at_the_wait) {
    const Buffer<char> memory(std::vector<char>(16 * 64, 1));
    const Buffer<int> dst(64);
    CHECK_EQ(reports(copy_asynchronously, 1, 64, memory.ptr, dst.ptr, 2), 0);
    for (const int how : {0, 1, 3}) CHECK(reports(copy_asynchronously, 1, 64, memory.ptr, dst.ptr, how) > 0);
    const Buffer<char> empty(16 * 64);
    CHECK(reports(copy_asynchronously, 1, 64, empty.ptr, dst.ptr, 2) > 0);
}

void load_matrix(uint32_t *dst, bool synced) {
    char *const shared = static_cast<char *>(cuda_host::dynamic_shared());
    for (unsigned b = 0; b < 16; ++b) shared[16 * lane() + b] = 1;
    if (synced) __syncwarp();
    uint32_t r[4];
    cuda_host::ldmatrix_x4(r, shared + 16 * (31 - lane()));
    dst[lane()] = r[0];
}

XF_TEST(matrix_loads_read_the_row_of_their_lane) {
    const Buffer<uint32_t> dst(32);
    CHECK_EQ(reports(load_matrix, 1, 32, dst.ptr, true), 0);
    CHECK(reports(load_matrix, 1, 32, dst.ptr, false) > 0);
}

}  // namespace
