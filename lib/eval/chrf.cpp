// Counting and scoring; see chrf.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "eval/chrf.h"

#include <vector>

#include "eval/characters.h"
#include "eval/ngrams.h"
#include "eval/signature.h"

namespace xf {
namespace {

// Six characters of 21 bits each, three in each half.
using CharacterGram = std::array<uint64_t, 2>;

std::vector<uint32_t> visible_characters(std::string_view text) {
    std::vector<uint32_t> codes;
    codes.reserve(text.size());
    for (size_t at = 0; at < text.size();) {
        const uint32_t code = next_character(text, &at);
        if (!is_python_space(code)) codes.push_back(code);
    }
    return codes;
}

std::vector<CharacterGram> grams_of(const std::vector<uint32_t> &codes, size_t order) {
    std::vector<CharacterGram> grams;
    if (codes.size() < order) return grams;
    grams.reserve(codes.size() - order + 1);
    for (size_t at = 0; at + order <= codes.size(); ++at) {
        CharacterGram gram = {0, 0};
        for (size_t k = 0; k < order; ++k) gram[k / 3] = gram[k / 3] << 21 | codes[at + k];
        grams.push_back(gram);
    }
    return grams;
}

}  // namespace

void Chrf::add(std::string_view hypothesis, std::string_view reference) {
    const std::vector<uint32_t> hyp = visible_characters(hypothesis), ref = visible_characters(reference);
    std::array<Counts, kOrders> counts;
    for (size_t order = 1; order <= kOrders; ++order) {
        std::vector<CharacterGram> hyp_grams = grams_of(hyp, order), ref_grams = grams_of(ref, order);
        Counts &count = counts[order - 1];
        // sacreBLEU does not count the n-grams of a hypothesis if the reference is too short to have any.
        count.hyp = ref_grams.empty() ? 0 : std::ssize(hyp_grams);
        count.ref = std::ssize(ref_grams);
        count.common = count_common(&hyp_grams, &ref_grams);
    }
    for (size_t k = 0; k < kOrders; ++k) {
        counts_[k].hyp += counts[k].hyp;
        counts_[k].ref += counts[k].ref;
        counts_[k].common += counts[k].common;
    }
}

double Chrf::score() const {
    constexpr double kFactor = 4;  // beta squared
    double precision = 0, recall = 0, orders = 0;
    for (const Counts &count : counts_) {
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

std::string Chrf::signature() const { return "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|" XF_SIGNATURE_VERSION; }

}  // namespace xf
