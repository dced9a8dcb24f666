// See allowed_tokens.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "decode/allowed_tokens.h"

#include <algorithm>

namespace xf {

bool restricts_tokens(const SearchRequest &request, int64_t t) {
    if (request.constraint != nullptr) return true;
    if (request.prefixes.empty()) return false;
    for (int64_t s = 0; s < request.size(); ++s)
        if (t < request.prefix_size(s)) return true;
    return false;
}

bool uses_constraint(const SearchRequest &request, int64_t sentence, int64_t t) {
    return request.constraint != nullptr && t >= request.prefix_size(sentence);
}

void force_prefix(const SearchRequest &request, int64_t sentence, int64_t t, std::span<uint32_t> bits) {
    if (t >= request.prefix_size(sentence)) return;
    const int32_t id = request.prefixes.token(request.sentences[sentence], t);
    std::fill(bits.begin(), bits.end(), 0u);
    bits[id / 32] = 1u << id % 32;
}

}  // namespace xf
