// WordPiece: a word is cut from the left, each time at the longest piece that fits (Wu et al. 2016, s. 4.1).
//
// A model is the characters of the training text and the longer pieces. Pieces that begin with a space begin a word,
// others go on with one: what elsewhere is written with "##" needs no mark here. Every character that has no piece is
// written in bytes, so there is no unknown word.
//
// The longest match is found by narrowing a range of the sorted pieces byte by byte: O(longest piece * log V) for each
// piece of the word, whatever the text.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/word_model.h"

namespace xf {

struct WordPieceTable {
    std::vector<uint32_t> characters;  // code points above U+007F, in the order of their ids
    PieceList pieces;                  // of two characters or more, in the order of their ids
};

class WordPieceModel final : public WordModel {
public:
    // Checks the table as something read from a file: XF_ERROR_CORRUPT, XF_ERROR_LIMIT.
    explicit WordPieceModel(WordPieceTable table);

    WordPieceTable table() const;
    const Vocabulary &vocabulary() const override { return vocabulary_; }
    void encode(WordSplitter words, std::vector<int32_t> *ids, EncodeScratch *scratch, Sampler *sampler) const override;

private:
    int32_t longest(std::string_view text) const;
    void encode_word(std::string_view word, std::vector<int32_t> *ids) const;

    std::vector<uint32_t> characters_;  // as in the table
    Vocabulary vocabulary_;
    std::vector<int32_t> sorted_;  // ids of all pieces but the fallback bytes, by their bytes
};

}  // namespace xf
