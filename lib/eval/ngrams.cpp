// N-grams are fixed-size values in sorted vectors instead of strings in a hash table, which is exact and makes a
// segment of a million words as cheap as a sort.
//
// SPDX-License-Identifier: Apache-2.0
#include "eval/ngrams.h"

#include <algorithm>
#include <array>

namespace xf {
namespace {

using Gram = std::array<uint64_t, 2>;

std::vector<Gram> sorted_grams(const std::vector<uint32_t> &values, size_t order, size_t bits) {
    std::vector<Gram> grams;
    if (values.size() < order) return grams;
    const size_t per_word = 64 / bits;
    grams.resize(values.size() - order + 1, {0, 0});
    for (size_t at = 0; at < grams.size(); ++at)
        for (size_t k = 0; k < order; ++k) {
            uint64_t &word = grams[at][k / per_word];
            word = word << bits | values[at + k];
        }
    std::sort(grams.begin(), grams.end());
    return grams;
}

}  // namespace

NgramCounts count_ngrams(const std::vector<uint32_t> &hyp, const std::vector<uint32_t> &ref, size_t order,
                         size_t bits) {
    const std::vector<Gram> a = sorted_grams(hyp, order, bits), b = sorted_grams(ref, order, bits);
    NgramCounts counts{std::ssize(a), std::ssize(b), 0};
    for (auto left = a.begin(), right = b.begin(); left != a.end() && right != b.end();) {
        const bool less = *left < *right, greater = *right < *left;
        counts.common += !less && !greater;
        left += !greater;
        right += !less;
    }
    return counts;
}

}  // namespace xf
