// Room for the encoding of a text; who encodes many keeps one, and then nothing is allocated for a text.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace xf {

struct EncodeScratch {
    std::string normalized;
    std::vector<int32_t> codes;  // of normalize()

    // Of one word of BpeModel, or one stretch of SentencePieceBpe: its symbols, -1 where one was merged into the one
    // before, their neighbours, and the merges that may be next.
    std::vector<int32_t> symbols, next, previous;
    std::vector<uint64_t> heap, left_out;
    std::vector<uint32_t> starts;     // of SentencePieceBpe and sample_path(): where each symbol begins in the text
    std::vector<int32_t> candidates;  // of SentencePieceBpe: what each symbol and the next would become, or -1

    // Of both unigrams: the best path to each byte of a word or stretch, and its pieces, last one first.
    struct Path {
        int32_t id = -1;
        float score = 0;
        uint32_t size = 0;  // bytes of its last piece; 0: there is no path to here
    };
    std::vector<Path> paths;
    std::vector<Path> pieces;

    // Of sample_path(): of each place in the text, what all ways from there to the end are worth together.
    struct Ways {
        double log_sum = 0;
        uint32_t fallbacks = 0;  // characters that no piece covers, in each of these ways
    };
    std::vector<Ways> ways;
};

}  // namespace xf
