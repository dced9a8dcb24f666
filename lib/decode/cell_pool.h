// The cells of the key/value cache (nn/decoder_step.h) that live hypotheses use.
//
// Each token of a hypothesis has a cell, which follows the cell of the previous token. Hypotheses with a common prefix
// share the cells of this prefix. A cell is free again when no live hypothesis contains it, so the number of cells is
// proportional to the number of different live prefixes, not to the longest sentence.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace xf {

class CellPool {
public:
    // Returns a cell that follows `previous`; -1: none.
    int32_t take(int32_t previous);
    // Frees a cell that no other cell follows, and the cells before it that only this one followed.
    void release(int32_t cell);
    void clear();
    // Greater than every cell in use.
    int64_t size() const { return std::ssize(cells_); }

private:
    struct Cell {
        int32_t previous, followers;
    };
    std::vector<Cell> cells_;
    std::vector<int32_t> free_;
};

}  // namespace xf
