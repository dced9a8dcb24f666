// The option data.augment: changes to pairs of texts for training, so that a model learns forms that are rare in its
// corpus.
//
// A changed pair has one of these changes, with equal probability:
//
//     source and target in capital letters
//     source with a capital letter at the beginning of each word, as in a title
//     source in small letters
//     source and target without the final punctuation
//     a typing error in a word of the source: two letters exchanged, or a letter omitted or doubled
//
// Words with digits or signs, such as file names and placeholders, are not changed.
//
// Random numbers come from Philox, keyed by (seed, epoch, pair), as those of text/sampling.h.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/options.h"

namespace xf {

struct Augmentation {
    double share = 0;  // of the pairs that are changed
    uint64_t seed = 1;

    static Augmentation from(const Options &options);
    // Returns the text of one side of a pair: `text`, or *changed, which is overwritten. Text that is not valid UTF-8
    // is not changed.
    std::string_view apply(std::string_view text, bool source, int64_t epoch, int64_t pair, std::string *changed) const;
};

}  // namespace xf
