// The words of a translation with the source words to which they are aligned.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "document.h"

namespace serve {

// Returns disjoint ranges that are not empty, in the order of target_begin, without white space at their ends.
//
// Subwords are joined to words; the longest subword determines the source range. Words that were copied from the source
// are cut at `cuts` (byte offsets in the source, ascending), so that tags within a word keep their position. Without
// `translation.spans`, the n-th of N words is aligned to the word at the same relative position.
std::vector<AlignedSpan> word_units(std::string_view source, const Translation &translation,
                                    std::span<const size_t> cuts);

}  // namespace serve
