// Division of sentences that are too long for a model.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "text/sentences/splitter.h"

namespace xf {

// Appends a sentence, which has no white space at its ends. If it has more than max_characters code points, it is
// divided after a comma or semicolon in the second half of that length, or else before white space, or else between
// grapheme clusters, or else anywhere; 0: no limit. The time is linear: two parts together have at least
// max_characters / 2 code points, white space included.
void append_divided(std::string_view text, TextSpan sentence, size_t max_characters, std::vector<TextSpan> *spans);

}  // namespace xf
