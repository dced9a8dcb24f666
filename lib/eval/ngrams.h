// Counting the n-grams that two sequences have in common.
//
// N-grams are fixed-size values in sorted vectors instead of strings in a hash table, which is exact and makes a
// segment of a million words as cheap as a sort.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace xf {

// Returns the sum over distinct n-grams of the smaller of the two counts. Sorts both vectors.
template <class Gram>
int64_t count_common(std::vector<Gram> *a, std::vector<Gram> *b) {
    std::sort(a->begin(), a->end());
    std::sort(b->begin(), b->end());
    int64_t common = 0;
    for (auto left = a->begin(), right = b->begin(); left != a->end() && right != b->end();) {
        if (*left < *right) {
            ++left;
        } else if (*right < *left) {
            ++right;
        } else {
            ++common;
            ++left;
            ++right;
        }
    }
    return common;
}

}  // namespace xf
