// Arithmetic on blocks of gradients in device memory.
//
// If device memory is host memory, the threads of the context compute; otherwise the operations of the backend do. Both
// produce the same bits: each result is the sum of two numbers, and plugin_abi.h defines the order within sums of
// squares.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/context.h"
#include "backend/device.h"

namespace xf {

// Runs task(i) for each i in [0, count).
template <class Task>
void parallel_for(ThreadPool &pool, int64_t count, Task task) {
    pool.run(
        count, [](void *arg, int64_t i, int32_t) { (*static_cast<Task *>(arg))(i); }, &task);
}

class BlockMath {
public:
    // Throws XF_ERROR_UNSUPPORTED if the backend does not have the operations.
    explicit BlockMath(Context &context);

    bool on_host() const { return on_host_; }

    // dst += src. bf16: both are rounded to bf16 before the addition, which is in fp32.
    void add(Stream &stream, float *dst, const float *src, int64_t count, bool bf16);
    void copy(Stream &stream, float *dst, const float *src, int64_t count);
    void to_bf16(Stream &stream, void *dst, const float *src, int64_t count);
    void from_bf16(Stream &stream, float *dst, const void *src, int64_t count);
    // Writes the sum of squares of each chunk of src to dst, in host memory.
    void chunk_squares(Stream &stream, const float *src, int64_t count, int64_t chunk, double *dst);

private:
    ThreadPool &pool_;
    bool on_host_;
    Buffer sums_;
};

}  // namespace xf
