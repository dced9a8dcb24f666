// Counting the n-grams of two sequences.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace xf {

struct NgramCounts {
    int64_t hyp = 0, ref = 0;  // n-grams of each sequence
    int64_t common = 0;        // sum over distinct n-grams of the smaller of the two counts
};

// bits: of a value, at most 32; order: at most 2 * (64 / bits) values.
NgramCounts count_ngrams(const std::vector<uint32_t> &hyp, const std::vector<uint32_t> &ref, size_t order, size_t bits);

}  // namespace xf
