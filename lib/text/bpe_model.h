// Byte-pair encoding of words (Sennrich et al. 2016), as the paper's section 5.1 uses it.
//
// A model is two lists: the characters of the training text and the merges in the order they were learnt. All pieces
// follow from them, so a file cannot contradict itself. A merge of two pieces makes the piece with the joined bytes:
// a new id, or the old one where another pair made these bytes before ("ab"+"c" after "a"+"bc").
//
// Encoding a word starts from its characters (bytes for a character that is not in the vocabulary) and applies, while
// there is one, the merge of lowest rank, leftmost first, from a heap: O(n log n). Most words of a text are one piece;
// those are found by one look-up. The trap: a word that is a piece is not always encoded as that piece, because a
// merge of lower rank may cross the pieces it was made of. intact_ holds the pieces that do encode to themselves.
//
// With BPE-dropout each step goes through the merges that are possible, lowest rank first, leaves each out with the
// probability, and does the first that stays; where none stays, the word is done (Provilkov et al. 2020, algorithm 1).
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/hash_index.h"
#include "text/word_model.h"

namespace xf {

struct BpeMerge {
    int32_t left;
    int32_t right;
};

struct BpeTable {
    static constexpr size_t kMaxMerges = size_t{1} << 21;

    std::vector<uint32_t> characters;  // code points above U+007F, in the order of their ids
    std::vector<BpeMerge> merges;      // by rank
};

class BpeModel final : public WordModel {
public:
    // Checks the table as something read from a file: XF_ERROR_CORRUPT, XF_ERROR_LIMIT.
    explicit BpeModel(BpeTable table);

    const BpeTable &table() const { return table_; }
    const Vocabulary &vocabulary() const override { return vocabulary_; }
    void encode(WordSplitter words, std::vector<int32_t> *ids, EncodeScratch *scratch, Sampler *sampler) const override;

private:
    void add_merge(size_t rank);
    int32_t find_merge(int32_t left, int32_t right) const;
    void encode_word(std::string_view word, EncodeScratch *scratch, Sampler *sampler, std::vector<int32_t> *ids) const;

    BpeTable table_;
    Vocabulary vocabulary_;
    std::vector<int32_t> results_;  // by rank: the id of the merged piece
    HashIndex ranks_;
    std::vector<uint8_t> intact_;  // by id
};

// Adds the characters of a table: XF_ERROR_CORRUPT, XF_ERROR_LIMIT.
void add_characters(const std::vector<uint32_t> &characters, Vocabulary *vocabulary);

// Adds the pieces of a table that lists them, of two characters or more: XF_ERROR_CORRUPT, XF_ERROR_LIMIT.
void add_pieces(const PieceList &pieces, Vocabulary *vocabulary);

// Appends the ids of a word's characters: what BPE starts from, in training and in encoding.
void append_characters(const Vocabulary &vocabulary, std::string_view word, std::vector<int32_t> *ids);

}  // namespace xf
