// Corpus chrF2 (Popovic 2015): the F-score of character n-grams, equal to sacreBLEU 2's default chrF.
//
// Uses n-grams of 1 to 6 characters, no word n-grams, and beta = 2, which weights recall four times as much as
// precision. Orders that are missing on one side are excluded from the mean ("effective order"). White space is removed
// first, so n-grams span words. Needs no tokenizer.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "eval/ngrams.h"

namespace xf {

class Chrf {
public:
    static constexpr size_t kOrders = 6;

    // Each byte that is not valid UTF-8 counts as one character.
    void add(std::string_view hypothesis, std::string_view reference);

    // The score of all segments added so far, 0 to 100; 0 if there are none.
    double score() const;

    // As sacreBLEU writes it.
    std::string signature() const;

private:
    std::array<NgramCounts, kOrders> counts_ = {};
};

}  // namespace xf
