// Shared parts of the reference operations: the stream with its scratch memory, errors, parallel loops, and dropout.
//
// Tensors are fp32, but every sum in cpu/ref is computed in fp64, in order of increasing index, and rounded once when
// it is stored. The product of two floats is exact in fp64, so results are correct to about one fp32 rounding.
//
// Nothing here may depend on host->workers(). Tasks are fixed tiles; the worker index selects only the scratch memory
// of a task. Nothing throws: memory comes from host->alloc and is checked.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "backend/plugin_abi.h"
#include "core/philox.h"

struct xf_device {
    const xf_host_v1 *host;
};

struct xf_stream {
    xf_device *device;
    double *scratch;  // grows, never shrinks; each operation may overwrite it
    size_t scratch_bytes;
};

namespace xf::ref {

// Fills err (may be NULL) and returns status.
int32_t report(xf_error *err, int32_t status, const char *message);

// Returns `count` doubles of the stream's scratch, 64-byte aligned. Returns NULL if memory runs out; the old scratch is
// kept.
double *scratch(xf_stream *stream, int64_t count);
int32_t no_scratch(xf_error *err);

inline int32_t workers(const xf_stream *stream) {
    const xf_host_v1 *host = stream->device->host;
    return std::max<int32_t>(1, host->workers(host->user));
}

// Calls body(task, worker) for each task; see xf_host_v1.parallel.
template <class Body>
void parallel(const xf_stream *stream, int64_t tasks, const Body &body) {
    if (tasks <= 0) return;
    const xf_host_v1 *host = stream->device->host;
    host->parallel(
        host->user, tasks,
        [](void *arg, int64_t task, int32_t worker) { (*static_cast<const Body *>(arg))(task, worker); },
        const_cast<Body *>(&body));
}

// Calls body(index, worker) for index = 0 .. count-1, `block` indices per task.
template <class Body>
void parallel_blocks(const xf_stream *stream, int64_t count, int64_t block, const Body &body) {
    parallel(stream, (count + block - 1) / block, [&](int64_t task, int32_t worker) {
        const int64_t end = std::min(count, (task + 1) * block);
        for (int64_t i = task * block; i < end; ++i) body(i, worker);
    });
}

constexpr int64_t kRowsPerTask = 16;

// dst[n] += the sum over the rows of src [M, N], in fp64.
template <class T>
void add_column_sums(const xf_stream *stream, const T *src, int64_t ld, int64_t M, int64_t N, float *dst) {
    parallel_blocks(stream, N, kRowsPerTask, [&](int64_t n, int32_t) {
        double sum = 0.0;
        for (int64_t m = 0; m < M; ++m) sum += src[m * ld + n];
        dst[n] = static_cast<float>(dst[n] + sum);
    });
}

// The dropout mask of one tensor (see xf_dropout). Caches the last Philox block, because eight elements share one.
class Dropout {
public:
    explicit Dropout(const xf_dropout &args)
        : args_(args),
          on_(args.rate > 0.0f),
          threshold_(dropout_threshold(args.rate)),
          scale_(on_ ? dropout_scale(threshold_) : 1.0f),
          step_(on_ ? args.when[0] : 0),
          batch_(on_ ? args.when[1] : 0) {}

    bool on() const { return on_; }

    // Returns x scaled if element i is kept, or 0 if it is dropped (even if x is NaN).
    double apply(double x, uint64_t i) {
        if (!on_) return x;
        return bits(i) >= threshold_ ? x * scale_ : 0.0;
    }

private:
    uint32_t bits(uint64_t i) {
        const uint64_t block = i / 8;
        if (!drawn_ || block != block_) {
            words_ = philox(args_.seed, static_cast<uint32_t>(block),
                            static_cast<uint32_t>(block >> 32) ^ (batch_ << 16), args_.site, step_);
            block_ = block;
            drawn_ = true;
        }
        const uint32_t word = words_.word[(i % 8) / 2];
        return (i & 1) ? word >> 16 : word & 0xFFFFu;
    }

    xf_dropout args_;
    bool on_;
    uint32_t threshold_;
    double scale_;
    uint32_t step_, batch_;
    bool drawn_ = false;
    uint64_t block_ = 0;
    Philox words_{};
};

// The operations. Each file implements one operation or a forward/backward pair.
XF_FOR_EACH_REQUIRED_OP(XF_OP_DECLARE)

}  // namespace xf::ref
