// The text that unigram training reads, and the strings it begins with; see unigram_train.h.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/call.h"
#include "text/bpe_train.h"

namespace xf {

// The distinct words in the order of their bytes, cut at 32 bytes so that no product of probabilities underflows.
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
    std::string_view text;  // in the bytes of the text
    int64_t count;
    int characters;
};

// The `most` strings of 2 to 16 characters with the greatest count times length that occur min_count times or more and
// consist of ASCII and the characters; the greatest first, then by bytes.
std::vector<UnigramSeed> find_seeds(const UnigramText &text, const std::vector<uint32_t> &characters, int64_t min_count,
                                    size_t most, const Call &call);

}  // namespace xf
