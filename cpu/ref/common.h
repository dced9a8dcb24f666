// What the operations of the reference backend share: the stream with its scratch, errors, parallel loops, dropout.
//
// Numbers: tensors are fp32, but every sum in cpu/ref runs in double, in rising index order, and is rounded once
// when it is stored. The product of two floats is exact in double, so results are correct to about one fp32 rounding.
//
// The trap: nothing here may depend on host->workers(). Tasks are fixed tiles; a worker number only picks the
// scratch a task works in. Nothing throws: memory comes from host->alloc and is checked.
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
    double *scratch;  // grows, never shrinks; the content is lost from one operation to the next
    size_t scratch_bytes;
};

namespace xf::ref {

// Fills err (may be NULL) and returns status.
int32_t report(xf_error *err, int32_t status, const char *message);

// count doubles of the stream's scratch, 64-byte aligned; NULL when the host has no memory (the old scratch stays).
double *scratch(xf_stream *stream, int64_t count);
int32_t no_scratch(xf_error *err);

inline int32_t workers(const xf_stream *stream) {
    const xf_host_v1 *host = stream->device->host;
    return std::max<int32_t>(1, host->workers(host->user));
}

// body(task, worker) for each task; see xf_host_v1.parallel.
template <class Body>
void parallel(const xf_stream *stream, int64_t tasks, const Body &body) {
    if (tasks <= 0) return;
    const xf_host_v1 *host = stream->device->host;
    host->parallel(
        host->user, tasks,
        [](void *arg, int64_t task, int32_t worker) { (*static_cast<const Body *>(arg))(task, worker); },
        const_cast<Body *>(&body));
}

// body(index, worker) for index = 0 .. count-1, block indices to a task.
template <class Body>
void parallel_blocks(const xf_stream *stream, int64_t count, int64_t block, const Body &body) {
    parallel(stream, (count + block - 1) / block, [&](int64_t task, int32_t worker) {
        const int64_t end = std::min(count, (task + 1) * block);
        for (int64_t i = task * block; i < end; ++i) body(i, worker);
    });
}

constexpr int64_t kRowsPerTask = 16;

// dst[n] += sum over rows of src [M, N], in double.
template <class T>
void add_column_sums(const xf_stream *stream, const T *src, int64_t ld, int64_t M, int64_t N, float *dst) {
    parallel_blocks(stream, N, kRowsPerTask, [&](int64_t n, int32_t) {
        double sum = 0.0;
        for (int64_t m = 0; m < M; ++m) sum += src[m * ld + n];
        dst[n] = static_cast<float>(dst[n] + sum);
    });
}

// The dropout mask of one tensor (see xf_dropout). Keeps the last Philox block: eight elements share one.
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

    // x where element i is kept, scaled; 0 where it is dropped, whatever x is.
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

// The operations, one file each, or one for a pair.
XF_FOR_EACH_REQUIRED_OP(XF_OP_DECLARE)

}  // namespace xf::ref
