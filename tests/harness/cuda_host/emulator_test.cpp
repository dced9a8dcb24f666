// Proves the emulation of a grid: threads, blocks, barriers, shared memory, and that the errors it is there to find
// are found.
//
// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "device_buffer.hpp"
#include "emulator.h"

namespace {

constexpr unsigned kAll = 0xFFFFFFFFu;

void note_order(int *next, int *order) { order[(*next)++] = static_cast<int>(blockIdx.x); }

XF_TEST(the_seed_determines_the_order_of_blocks) {
    std::vector<std::vector<int>> orders;
    for (const int64_t seed : {0, 1, 2}) {
        const Setting setting("seed", seed);
        const Stream stream;
        const Buffer<int> next(std::vector<int>{0}), order(97);
        CHECK_EQ(cuda_host::launch(note_order, dim3(97), dim3(1), 0, stream.handle, next.ptr, order.ptr), cudaSuccess);
        orders.push_back(order.get(stream));
    }
    CHECK(std::is_sorted(orders[0].begin(), orders[0].end()));
    CHECK(orders[1] != orders[0]);
    CHECK(orders[2] != orders[1]);
    for (auto &order : orders) {
        std::sort(order.begin(), order.end());
        for (int i = 0; i < 97; ++i) CHECK_EQ(order[static_cast<size_t>(i)], i);
    }
}

// Each thread reads what its mirror wrote, many times over. With no barrier between, order decides.
void mirror(int *dst, bool with_barrier) {
    __shared__ int values[256];
    const int i = static_cast<int>(threadIdx.x), n = static_cast<int>(blockDim.x);
    int x = i;
    for (int round = 0; round < 9; ++round) {
        values[i] = x;
        if (with_barrier) __syncthreads();
        x = values[n - 1 - i];
        if (with_barrier) __syncthreads();
    }
    dst[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

XF_TEST(a_missing_barrier_changes_the_result) {
    for (const bool with_barrier : {true, false}) {
        const Stream stream;
        const Buffer<int> dst(4 * 256);
        CHECK_EQ(cuda_host::launch(mirror, dim3(4), dim3(256), 0, stream.handle, dst.ptr, with_barrier), cudaSuccess);
        const std::vector<int> got = dst.get(stream);
        int wrong = 0;
        for (size_t i = 0; i < got.size(); ++i) wrong += got[i] == 255 - static_cast<int>(i % 256) ? 0 : 1;
        CHECK_EQ(wrong == 0, with_barrier);
    }
}

// Reads its shared memory before it writes it.
void read_unwritten(float *dst) {
    auto *dynamic = static_cast<float *>(cuda_host::dynamic_shared());
    __shared__ float fixed[64];
    const unsigned i = threadIdx.x, at = 2 * (blockIdx.x * blockDim.x + i);
    dst[at] = dynamic[i];
    dst[at + 1] = fixed[i];
    dynamic[i] = fixed[i] = 1;
}

XF_TEST(shared_memory_is_nan_at_the_start_of_each_block) {
    const Stream stream;
    const Buffer<float> dst(2 * 64 * 5);
    for (int repeat = 0; repeat < 2; ++repeat) {
        CHECK_EQ(cuda_host::launch(read_unwritten, dim3(5), dim3(64), 64 * 4, stream.handle, dst.ptr), cudaSuccess);
        const std::vector<float> got = dst.get(stream);
        for (size_t i = 0; i < got.size(); ++i) {
#ifdef __SANITIZE_ADDRESS__
            if (i % 2 == 1) continue;
#endif
            CHECK(std::isnan(got[i]));
        }
    }
}

void early_exit(int *) {
    if (threadIdx.x == 70) return;
    __syncthreads();
}
void half_barrier(int *) {
    if (threadIdx.x >= 32)
        __syncthreads();
    else
        (void)__shfl_sync(kAll, threadIdx.x, 0), (void)__syncthreads_or(1);
}
void two_collectives(int *) {
    if (threadIdx.x % 2 == 0)
        __syncwarp();
    else
        (void)__shfl_sync(kAll, 1, 0);
}
void two_masks(int *) {
    const unsigned lane = threadIdx.x % 32;
    __syncwarp(lane < 16 ? 0x0000FFFFu : kAll);
}
void ended_lane(int *) {
    if (threadIdx.x == 3) return;
    __syncwarp();
}
void foreign_mask(int *) { __syncwarp(0xFFFFFFFEu); }
void source_outside(int *dst) {
    if (threadIdx.x < 16) dst[threadIdx.x] = __shfl_sync(0xFFFFu, 1, 20);
}
void barrier_and_shuffle(int *) {
    if (threadIdx.x < 5)
        __syncthreads();
    else
        __syncwarp();
}
void misaligned_row(int *) {
    auto *bytes = static_cast<char *>(cuda_host::dynamic_shared());
    uint32_t r[4];
    cuda_host::ldmatrix_x4(r, bytes + 8 * (threadIdx.x % 32));
}
void misaligned_copy(int *src) { cuda_host::cp_async16(cuda_host::dynamic_shared(), src + 1); }

XF_TEST(divergence_is_detected) {
    const Faults faults;
    const auto finds = [](void (*kernel)(int *), const char *what, cudaError_t want) {
        const Stream stream;
        const Buffer<int> dst(64);
        CHECK_EQ(cuda_host::launch_as(false, "a name", kernel, dim3(2), dim3(96), 4096, stream.handle, dst.ptr),
                 cudaSuccess);
        CHECK_EQ(stream.sync(), want);
        CHECK_EQ(stream.sync(), want);
        CHECK_EQ(cudaGetLastError(), want);
        const bool named = cuda_host::last_fault.find("a name") != std::string::npos;
        const bool told = cuda_host::last_fault.find(what) != std::string::npos;
        CHECK(named && told);
        Faults::clear();
        // The device works again.
        CHECK_EQ(cuda_host::launch(mirror, dim3(1), dim3(64), 0, stream.handle, dst.ptr, true), cudaSuccess);
        CHECK_EQ(dst.get(stream)[5], 58);
    };
    finds(early_exit, "thread 70 ended", cudaErrorLaunchFailure);
    finds(half_barrier, "barriers of different kinds", cudaErrorLaunchFailure);
    finds(two_collectives, "different collectives", cudaErrorLaunchFailure);
    finds(two_masks, "mask", cudaErrorLaunchFailure);
    finds(ended_lane, "a __syncwarp", cudaErrorLaunchFailure);
    finds(foreign_mask, "leaves out its caller", cudaErrorLaunchFailure);
    finds(source_outside, "a shuffle reads lane 20", cudaErrorLaunchFailure);
    finds(barrier_and_shuffle, "threads 0..4 in a barrier", cudaErrorLaunchFailure);
    finds(misaligned_row, "not 16-byte aligned", cudaErrorMisalignedAddress);
    finds(misaligned_copy, "not 16-byte aligned", cudaErrorMisalignedAddress);
}

#ifndef __SANITIZE_ADDRESS__
void write_behind(int *) { static_cast<char *>(cuda_host::dynamic_shared())[100 + threadIdx.x] = 1; }

XF_TEST(a_write_after_dynamic_shared_memory_is_detected) {
    const Faults faults;
    const Stream stream;
    CHECK_EQ(cuda_host::launch(write_behind, dim3(1), dim3(1), 100, stream.handle, nullptr), cudaSuccess);
    CHECK_EQ(stream.sync(), cudaErrorIllegalAddress);
}
#endif

XF_TEST(launches_beyond_the_limits_are_rejected) {
    const Stream stream;
    const Buffer<int> dst(1);
    const auto launch = [&](dim3 grid, dim3 block, size_t shared) {
        return cuda_host::launch(early_exit, grid, block, shared, stream.handle, dst.ptr);
    };
    CHECK_EQ(launch(dim3(1), dim3(1025), 0), cudaErrorInvalidConfiguration);
    CHECK_EQ(launch(dim3(1), dim3(1, 1, 65), 0), cudaErrorInvalidConfiguration);
    CHECK_EQ(launch(dim3(0), dim3(1), 0), cudaErrorInvalidConfiguration);
    CHECK_EQ(launch(dim3(1, 65536), dim3(1), 0), cudaErrorInvalidConfiguration);
    CHECK_EQ(launch(dim3(1), dim3(1), 47 << 10), cudaSuccess);
    CHECK_EQ(launch(dim3(1), dim3(1), (47 << 10) + 1), cudaErrorInvalidValue);  // static arrays want room, too
    CHECK_EQ(cudaFuncSetAttribute(early_exit, cudaFuncAttributeMaxDynamicSharedMemorySize, 232449),
             cudaErrorInvalidValue);
    CHECK_EQ(cudaFuncSetAttribute(early_exit, cudaFuncAttributeMaxDynamicSharedMemorySize, 232448), cudaSuccess);
    CHECK_EQ(launch(dim3(1), dim3(1), 232449), cudaErrorInvalidValue);
    CHECK_EQ(launch(dim3(1), dim3(1), 232448), cudaSuccess);
    CHECK_EQ(stream.sync(), cudaSuccess);
    const Setting setting("shared_per_block", 65536);
    CHECK_EQ(launch(dim3(1), dim3(1), 65537), cudaErrorInvalidValue);
    CHECK_EQ(cudaGetLastError(), cudaErrorInvalidValue);
    CHECK_EQ(cudaGetLastError(), cudaSuccess);
}

// A kernel of a dependent launch; thread `out` ends without having waited.
void dependent(const int *src, int *dst, unsigned out) {
    if (threadIdx.x == out) return;
    cuda_host::wait_for_previous();
    dst[threadIdx.x] = src[threadIdx.x] + 1;
    cuda_host::wait_for_previous();  // again is nothing
}

XF_TEST(each_thread_of_a_dependent_launch_waits) {
    for (const int64_t guard : {0, 1}) {
        const Faults faults;
        const Setting guarded("guard", guard);
        const Stream stream;
        const Buffer<int> src(std::vector<int>(64, 4)), dst(64);
        for (const bool dependent_launch : {true, false})  // launched plainly it has nothing to wait for
            for (const unsigned out : {64u, 3u}) {
                CHECK_EQ(cuda_host::launch_as(dependent_launch, "dependent", dependent, dim3(3), dim3(64), 0,
                                              stream.handle, src.ptr, dst.ptr, out),
                         cudaSuccess);
                const bool good = out == 64 || !dependent_launch;
                CHECK_EQ(stream.sync(), good ? cudaSuccess : cudaErrorLaunchFailure);
                if (out == 64) CHECK(dst.get(stream) == std::vector<int>(64, 5));
                Faults::clear();
            }
    }
}

// Guarded memory is out of reach until all threads of the block have waited.
void too_early(int *dst) {
    dst[threadIdx.x] = 1;
    cuda_host::wait_for_previous();
}

XF_TEST(an_early_read_of_a_dependent_launch_fails) {
    const Setting guarded("guard", 1);
    for (const bool dependent_launch : {false, true}) {
        const pid_t child = fork();
        if (child == 0) {
            signal(SIGSEGV, SIG_DFL);
            const Stream stream;
            const Buffer<int> dst(64);
            cuda_host::launch_as(dependent_launch, "too_early", too_early, dim3(1), dim3(64), 0, stream.handle,
                                 dst.ptr);
            _exit(stream.sync() == cudaSuccess ? 0 : 1);
        }
        int status = 0;
        CHECK_EQ(waitpid(child, &status, 0), child);
        CHECK_EQ(WIFEXITED(status) && WEXITSTATUS(status) == 0, !dependent_launch);
    }
}

}  // namespace
