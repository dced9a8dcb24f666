// SPDX-License-Identifier: Apache-2.0
#include "nn/row_store.h"

#include <algorithm>

#include "nn/arena.h"

namespace xf {

RowStore::RowStore(Stream &stream, uint32_t dtype, std::vector<int64_t> columns)
    : stream_(stream), dtype_(dtype), offsets_{0} {
    for (const int64_t each : columns) offsets_.push_back(offsets_.back() + each);
}

void RowStore::reserve(int64_t rows, bool keep) {
    if (rows <= rows_) return;
    Arena size(dtype_);
    size.numbers(rows, offsets_.back());
    if (!keep || rows_ == 0) {
        rows_ = 0;
        buffer_.reset();
        buffer_ = Buffer(stream_.device(), size.bytes());
    } else {
        Buffer larger(stream_.device(), size.bytes());
        const Num to(larger.data(), dtype_);
        for (size_t i = 0; i + 1 < offsets_.size(); ++i)
            stream_.copy(to + rows * offsets_[i], tensor(i),
                         rows_ * (offsets_[i + 1] - offsets_[i]) * number_bytes(dtype_));
        stream_.sync();
        buffer_ = std::move(larger);
    }
    rows_ = rows;
}

int64_t RangePool::take(int64_t count) {
    auto found = std::find_if(free_.begin(), free_.end(), [&](const Range &range) { return range.count >= count; });
    if (found == free_.end()) {
        // Extends the free rows at the end, if there are any.
        const bool at_end = !free_.empty() && free_.back().first + free_.back().count == size_;
        if (!at_end) free_.push_back({size_, 0});
        found = free_.end() - 1;
        found->count = count;
        size_ = found->first + count;
    }
    const int64_t first = found->first;
    found->first += count;
    found->count -= count;
    if (found->count == 0) free_.erase(found);
    return first;
}

void RangePool::release(int64_t first, int64_t count) {
    auto next = std::find_if(free_.begin(), free_.end(), [&](const Range &range) { return range.first > first; });
    next = free_.insert(next, {first, count});
    if (next + 1 != free_.end() && first + count == next[1].first) {
        next->count += next[1].count;
        free_.erase(next + 1);
    }
    if (next != free_.begin() && next[-1].first + next[-1].count == first) {
        next[-1].count += next->count;
        free_.erase(next);
    }
}

void RangePool::clear() {
    free_.clear();
    size_ = 0;
}

}  // namespace xf
