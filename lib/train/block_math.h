// Arithmetic on blocks of gradients, in the memory of the device: by the context's threads where that is the host's
// memory, by the backend's operations elsewhere. Both give the same bits, as each number is one sum of two numbers, and
// the order within sums of squares is told in backend/plugin_abi.h.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/context.h"
#include "backend/device.h"

namespace xf {

class BlockMath {
public:
    // pool: whose threads compute where that is the host's memory. XF_ERROR_UNSUPPORTED where the backend lacks the
    // operations.
    BlockMath(Context &context, ThreadPool &pool);

    bool on_host() const { return on_host_; }

    // dst += src; narrow: both are rounded to bf16 before.
    void add(Stream &stream, float *dst, const float *src, int64_t count, bool narrow);
    void copy(Stream &stream, float *dst, const float *src, int64_t count);
    void to_bf16(Stream &stream, void *dst, const float *src, int64_t count);
    void from_bf16(Stream &stream, float *dst, const void *src, int64_t count);
    // dst[c], in host memory: the sum of squares of chunk c of src.
    void chunk_squares(Stream &stream, const float *src, int64_t count, int64_t chunk, double *dst);

private:
    ThreadPool &pool_;
    bool on_host_;
    Buffer sums_;
};

}  // namespace xf
