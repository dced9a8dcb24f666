// Words of a sentence and of its translation, and their alignment.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>
#include <xformer/xformer.hpp>

#include "document.h"

namespace serve {

// Each word of the translation with the source word to which most of its bytes are aligned. A word without an aligned
// token is omitted. Characters of punctuation, and Chinese and similar characters, are words.
std::vector<AlignedSpan> align_words(std::string_view source, const xf_sentence_info &sentence,
                                     const xf_hypothesis &hypothesis);

}  // namespace serve
