// Counting how many n-grams two sequences share.
//
// N-grams are fixed-size values in sorted vectors, not strings in a hash table: exact, without collisions, and a
// segment of a million words costs a sort.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace xf {

// The sum over distinct n-grams of the smaller of both counts. Sorts both vectors.
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
