// Sub-allocation of one block: a dry pass over the shapes tells its size, a second pass gives the addresses.
//
//     Arena dry;             plan(shapes, dry);
//     buffer.reserve(device, dry.bytes());
//     Arena arena(buffer);   plan(shapes, arena);
//
// The steady state allocates nothing: the block only grows when a larger batch comes.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/error.h"

namespace xf {

class Arena {
public:
    Arena() = default;  // dry: counts, and gives null
    explicit Arena(void *base) : base_(static_cast<char *>(base)) {}

    float *floats(int64_t rows, int64_t columns = 1) { return static_cast<float *>(take(rows, columns)); }
    int32_t *ints(int64_t count) { return static_cast<int32_t *>(take(count, 1)); }
    size_t bytes() const { return bytes_; }

private:
    void *take(int64_t rows, int64_t columns) {
        constexpr int64_t kLimit = int64_t{1} << 44;  // bytes / 4: far above memory, far below overflow
        XF_CHECK(rows >= 0 && columns >= 0 && (columns == 0 || rows <= kLimit / columns), XF_ERROR_LIMIT,
                 "a tensor of %lld x %lld numbers is too large", static_cast<long long>(rows),
                 static_cast<long long>(columns));
        void *ptr = base_ == nullptr ? nullptr : base_ + bytes_;
        bytes_ += (static_cast<size_t>(rows * columns) * 4 + 63) / 64 * 64;
        return ptr;
    }
    char *base_ = nullptr;
    size_t bytes_ = 0;
};

}  // namespace xf
