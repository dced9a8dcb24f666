// Which tokens may follow a hypothesis, whatever the model thinks of them: the next one of a forced prefix alone, after
// it what a constraint leaves, else all. One rule for the search on the host and the one on the device.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "decode/search.h"

namespace xf {

// Whether some sentence of the request has less than all tokens at step t.
bool restricted(const SearchRequest &request, int64_t t);

// Whether the constraint is to be asked about a hypothesis of t tokens; else the prefix says it, or nothing.
bool asks_constraint(const SearchRequest &request, size_t place, int64_t t);

// Clears the bits of what may not follow a hypothesis of t tokens, ids, of the sentence at a place of the request. All
// bits are set before. ids are looked at only when the constraint is asked, which may throw.
void restrict_row(const SearchRequest &request, size_t place, int64_t t, const std::vector<int32_t> &ids,
                  std::span<uint32_t> bits);

// Words of a row's bits.
constexpr int64_t allowed_words(int64_t V) { return (V + 31) / 32; }

}  // namespace xf
