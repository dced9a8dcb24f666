// Where the tokens of a text end in it.
//
// A tokenizer normalizes a text before it splits it, so the text of the tokens may differ from the original. Both are
// compared as sequences of compatibility-decomposed, case-folded characters. After a difference, the comparison
// continues where the sequences agree again. The result is exact where they agree, and approximate elsewhere.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace xf {

// Returns the offset in the text where each token ends. Offsets are those of the last complete character, never
// decrease, and are at most text.size(). ids: from encode() of the text, or those from which decode() made it. The time
// is linear.
std::vector<size_t> token_ends(const Tokenizer &tokenizer, std::span<const int32_t> ids, std::string_view text);

}  // namespace xf
