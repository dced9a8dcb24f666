// See restriction.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "decode/restriction.h"

#include <algorithm>

namespace xf {

bool restricted(const SearchRequest &request, int64_t t) {
    if (request.constraint != nullptr) return true;
    if (request.prefix_ids == nullptr) return false;
    for (size_t place = 0; place < request.sentences.size(); ++place)
        if (t < static_cast<int64_t>(request.prefix(place).size())) return true;
    return false;
}

bool asks_constraint(const SearchRequest &request, size_t place, int64_t t) {
    return request.constraint != nullptr && t >= static_cast<int64_t>(request.prefix(place).size());
}

void restrict_row(const SearchRequest &request, size_t place, int64_t t, const std::vector<int32_t> &ids,
                  std::span<uint32_t> bits) {
    const std::span<const int32_t> prefix = request.prefix(place);
    if (t < static_cast<int64_t>(prefix.size())) {
        const auto id = static_cast<uint32_t>(prefix[static_cast<size_t>(t)]);
        std::fill(bits.begin(), bits.end(), 0u);
        bits[id / 32] = 1u << id % 32;
    } else if (request.constraint != nullptr) {
        (*request.constraint)({request.sentences[place], ids, request.limits[place] - t}, bits.data());
    }
}

}  // namespace xf
