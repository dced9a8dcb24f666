// WordPiece: segments a word from left to right, always taking the longest piece that matches (Wu et al. 2016, s. 4.1).
//
// A model consists of the characters of the training text and the longer pieces. A piece with a leading space begins a
// word; all others continue one, so the usual "##" prefix is not needed. A character without a piece is encoded as
// bytes, so there are no unknown words.
//
// The longest match is found by narrowing a range of the sorted pieces byte by byte: O(longest piece * log V) per piece
// for any text.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/words/model.h"

namespace xf {

struct WordPieceTable {
    std::vector<uint32_t> characters;  // code points above U+007F, in the order of their ids
    PieceList pieces;                  // of two characters or more, in the order of their ids
};

class WordPieceModel final : public WordModel {
public:
    // Checks the table, which may come from an untrusted file: XF_ERROR_CORRUPT, XF_ERROR_LIMIT.
    explicit WordPieceModel(WordPieceTable table);

    WordPieceTable table() const;
    const Vocabulary &vocabulary() const override { return vocabulary_; }
    void encode(WordSplitter words, std::vector<int32_t> *ids, EncodeScratch *scratch, Sampler *sampler) const override;

private:
    int32_t longest(std::string_view text) const;
    void encode_word(std::string_view word, std::vector<int32_t> *ids) const;

    std::vector<uint32_t> characters_;  // as in the table
    Vocabulary vocabulary_;
    std::vector<int32_t> sorted_;  // ids of all pieces except fallback bytes, sorted by their bytes
};

}  // namespace xf
