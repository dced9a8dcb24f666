// The tokens that may follow a hypothesis, for the search on the host and on the device: the next token of a forced
// prefix; after the prefix, the tokens that the constraint allows; without a constraint, all tokens.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "decode/search.h"

namespace xf {

// Returns whether any sentence of the request does not allow all tokens at step t.
bool restricts_tokens(const SearchRequest &request, int64_t t);

// Returns whether the constraint selects the tokens that follow a hypothesis of t tokens.
bool uses_constraint(const SearchRequest &request, int64_t sentence, int64_t t);

// If a prefix forces token t of a sentence, clears the bits of all other tokens.
void force_prefix(const SearchRequest &request, int64_t sentence, int64_t t, std::span<uint32_t> bits);

// The number of 32-bit words that hold one bit for each of V tokens.
constexpr int64_t allowed_words(int64_t V) { return (V + 31) / 32; }

}  // namespace xf
