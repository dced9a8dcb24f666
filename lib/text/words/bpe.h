// Byte-pair encoding of words (Sennrich et al. 2016), as the paper's section 5.1 uses it.
//
// A model consists of two lists: the characters of the training text, and the merges in the order in which they were
// learned. All pieces follow from them, so a file cannot contradict itself. A merge of two pieces gives the piece with
// the concatenated bytes: a new id, or an existing one if another pair gave the same bytes ("ab"+"c" after "a"+"bc").
//
// Encoding a word starts from its characters (or bytes, for a character without a piece) and repeatedly applies the
// merge of lowest rank, leftmost first, with a heap: O(n log n). Most words are one piece and are found by one lookup.
// However, a word that is a piece does not always encode to that piece, because a merge of lower rank may cross the
// boundary of the pieces that it was made of. intact_ marks the pieces that encode to themselves.
//
// With BPE-dropout, each step visits the possible merges by rank, skips each with the given probability, and applies
// the first one that is not skipped. If all are skipped, the word is finished (Provilkov et al. 2020, algorithm 1).
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/hash_index.h"
#include "text/words/model.h"

namespace xf {

class BpeModel final : public WordModel {
public:
    static constexpr size_t kMaxMerges = size_t{1} << 21;

    // Checks the table, which may come from an untrusted file: XF_ERROR_CORRUPT, XF_ERROR_LIMIT.
    explicit BpeModel(WordTable table);

    WordTable table() const override { return {characters_, merges_, {}, {}}; }
    void encode(WordSplitter words, std::vector<int32_t> *ids, EncodeScratch *scratch, Sampler *sampler) const override;

private:
    void add_merge(size_t rank);
    int32_t find_merge(int32_t left, int32_t right) const;
    void encode_word(std::string_view word, EncodeScratch *scratch, Sampler *sampler, std::vector<int32_t> *ids) const;

    std::vector<BpeMerge> merges_;
    std::vector<int32_t> results_;  // by rank: the id of the merged piece
    HashIndex ranks_;
    std::vector<uint8_t> intact_;  // by id: whether the piece encodes to itself
};

}  // namespace xf
