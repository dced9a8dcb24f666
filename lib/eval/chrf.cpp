// Counting and scoring; see chrf.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "eval/chrf.h"

#include <vector>

#include "eval/characters.h"
#include "xformer/version.h"

namespace xf {
namespace {

constexpr size_t kCharacterBits = 21;

std::vector<uint32_t> visible_characters(std::string_view text) {
    std::vector<uint32_t> codes;
    codes.reserve(text.size());
    for (size_t at = 0; at < text.size();) {
        const uint32_t code = next_character(text, &at);
        if (!is_python_space(code)) codes.push_back(code);
    }
    return codes;
}

}  // namespace

void Chrf::add(std::string_view hypothesis, std::string_view reference) {
    const std::vector<uint32_t> hyp = visible_characters(hypothesis), ref = visible_characters(reference);
    std::array<NgramCounts, kOrders> counts;
    for (size_t k = 0; k < kOrders; ++k) counts[k] = count_ngrams(hyp, ref, k + 1, kCharacterBits);
    for (size_t k = 0; k < kOrders; ++k) {
        // sacreBLEU does not count the n-grams of a hypothesis if the reference is too short to have any.
        if (counts[k].ref > 0) counts_[k].hyp += counts[k].hyp;
        counts_[k].ref += counts[k].ref;
        counts_[k].common += counts[k].common;
    }
}

double Chrf::score() const {
    constexpr double kFactor = 4;  // beta squared
    double precision = 0, recall = 0, orders = 0;
    for (const NgramCounts &count : counts_) {
        if (count.hyp == 0 || count.ref == 0) continue;
        const double common = count.common;
        precision += common / count.hyp;
        recall += common / count.ref;
        orders += 1;
    }
    if (precision + recall == 0) return 0;
    precision /= orders;
    recall /= orders;
    return 100 * (1 + kFactor) * precision * recall / (kFactor * precision + recall);
}

std::string Chrf::signature() const {
    return std::string("nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:xformer-") + xf_version();
}

}  // namespace xf
