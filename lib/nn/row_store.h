// Rows of several tensors with different numbers of columns in one buffer of the device, which grows.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "backend/device.h"
#include "backend/number.h"

namespace xf {

// Layout: [tensor][rows(), columns of the tensor], of the type of the model.
class RowStore {
public:
    RowStore(Stream &stream, uint32_t dtype, std::vector<int64_t> columns);

    int64_t rows() const { return rows_; }
    Num tensor(int64_t index) const { return Num(buffer_.data(), dtype_) + rows_ * offsets_[index]; }
    // Provides at least this number of rows; tensors may move. keep: with their contents.
    void reserve(int64_t rows, bool keep);
    const void *data() const { return buffer_.data(); }

private:
    Stream &stream_;
    uint32_t dtype_;
    std::vector<int64_t> offsets_;  // of each tensor, per row; the last is the total
    int64_t rows_ = 0;
    Buffer buffer_;
};

// Rows of a store that are in use, in contiguous ranges.
class RangePool {
public:
    // Returns the first of `count` free rows. Rows from size() on did not exist before.
    int64_t take(int64_t count);
    void release(int64_t first, int64_t count);
    void clear();
    // An upper bound of the rows that are in use.
    int64_t size() const { return size_; }

private:
    struct Range {
        int64_t first, count;
    };
    std::vector<Range> free_;  // by first, not adjacent
    int64_t size_ = 0;
};

}  // namespace xf
