// The training text of unigram and the initial set of pieces; see words/train.h.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/call.h"
#include "text/words/train.h"

namespace xf {

// The distinct words sorted by their bytes, split into chunks of at most 32 bytes so that no product of probabilities
// underflows.
struct UnigramText {
    struct Chunk {
        size_t offset, size;
        int64_t count;
    };
    explicit UnigramText(const WordCounts &words);
    std::string_view text(const Chunk &chunk) const { return std::string_view(bytes).substr(chunk.offset, chunk.size); }

    std::string bytes;
    std::vector<Chunk> chunks;
};

struct UnigramSeed {
    std::string_view text;  // a view into UnigramText::bytes
    int64_t count;
    int characters;
};

// Returns the strings of 2 to 16 characters that occur at least min_count times and consist of ASCII characters and
// `characters`: the max_count ones with the greatest count times length, in that order, ties by bytes.
std::vector<UnigramSeed> find_seeds(const UnigramText &text, const std::vector<uint32_t> &characters, int64_t min_count,
                                    size_t max_count, const Call &call);

}  // namespace xf
