// WordPiece: segments a word from left to right, always taking the longest piece that matches (Wu et al. 2016, s. 4.1).
//
// A model consists of the characters of the training text and the longer pieces. A piece with a leading space begins a
// word; all others continue one, so the usual "##" prefix is not needed. A character without a piece is encoded as
// bytes, so there are no unknown words.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/piece_trie.h"
#include "text/words/model.h"

namespace xf {

class WordPieceModel final : public WordModel {
public:
    // Checks the table, which may come from an untrusted file: XF_ERROR_CORRUPT, XF_ERROR_LIMIT.
    explicit WordPieceModel(const WordTable &table);

    WordTable table() const override { return {characters_, {}, pieces(), {}}; }
    void encode(WordSplitter words, std::vector<int32_t> *ids, EncodeScratch *scratch, Sampler *sampler) const override;

private:
    void encode_word(std::string_view word, std::vector<int32_t> *ids) const;

    PieceTrie trie_;  // the ids of all pieces except fallback bytes
};

}  // namespace xf
