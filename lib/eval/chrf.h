// Corpus chrF2 (Popovic 2015): F-score of character n-grams, equal to sacreBLEU 2's default chrF.
//
// N-grams of 1 to 6 characters without blanks, no words, beta = 2: recall counts four times. Orders that one side does
// not have are left out of the mean ("effective order"). It needs no tokenizer and tells small differences apart
// better than BLEU where words are long. The trap: blanks are gone before n-grams are taken, so these span words.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace xf {

class Chrf {
public:
    static constexpr size_t kOrders = 6;

    // Bytes that are not UTF-8 are taken one by one as characters of their own.
    void add(std::string_view hypothesis, std::string_view reference);

    // 0 to 100, of what was added so far; 0 if that is nothing.
    double score() const;

private:
    struct Counts {
        int64_t hyp = 0, ref = 0, common = 0;
    };
    std::array<Counts, kOrders> counts_ = {};
};

}  // namespace xf
