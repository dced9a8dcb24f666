// See search.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "decode/search.h"

#include <algorithm>

namespace xf {

void SearchTask::force_prefix(int64_t t, std::span<uint32_t> bits) const {
    if (t >= prefix.size()) return;
    const int32_t id = prefix.token(t);
    std::fill(bits.begin(), bits.end(), 0u);
    bits[id / 32] = 1u << id % 32;
}

}  // namespace xf
