// Reusable buffers for encoding. A caller that keeps one for many texts avoids allocations per text.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace xf {

struct EncodeScratch {
    std::string normalized;
    std::vector<int32_t> codes;  // used by normalize()

    // BPE, for one word (BpeModel) or one segment (SentencePiece): the symbols, -1 for one that was merged into the
    // symbol before it; their neighbors; and a heap of possible merges.
    std::vector<int32_t> symbols, next, previous;
    std::vector<uint64_t> heap, dropped;
    std::vector<uint32_t> starts;     // SentencePiece BPE and sample_path(): byte offset of each symbol
    std::vector<int32_t> candidates;  // SentencePiece BPE: id of each symbol merged with the next one, or -1

    // Viterbi search of both unigram tokenizers: the best path to each byte offset, and its pieces in reverse order.
    struct Path {
        int32_t id = -1;
        float score = 0;
        uint32_t size = 0;  // bytes of the last piece; 0 if no path reaches this offset
    };
    std::vector<Path> paths;
    std::vector<Path> pieces;

    // sample_path(), for each byte offset: the total weight of all segmentations from there to the end.
    struct Suffix {
        double log_sum = 0;
        uint32_t fallbacks = 0;  // characters not covered by a piece, in each of these segmentations
    };
    std::vector<Suffix> suffixes;
};

}  // namespace xf
