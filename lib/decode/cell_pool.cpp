// SPDX-License-Identifier: Apache-2.0
#include "decode/cell_pool.h"

namespace xf {

int32_t CellPool::take(int32_t previous) {
    if (free_.empty()) {
        free_.push_back(static_cast<int32_t>(cells_.size()));
        cells_.emplace_back();
        free_.reserve(cells_.capacity());  // release() does not allocate
    }
    const int32_t cell = free_.back();
    free_.pop_back();
    cells_[cell] = {previous, 0};
    if (previous >= 0) ++cells_[previous].followers;
    return cell;
}

void CellPool::release(int32_t cell) {
    while (cell >= 0 && cells_[cell].followers == 0) {
        free_.push_back(cell);
        cell = cells_[cell].previous;
        if (cell >= 0) --cells_[cell].followers;
    }
}

void CellPool::clear() {
    cells_.clear();
    free_.clear();
}

}  // namespace xf
