// Unigram: a word is cut where the product of its pieces' probabilities is greatest (Kudo 2018).
//
// A model is the characters of the training text, the longer pieces, and the logarithm of each one's probability; ASCII
// characters are pieces too. A character that has no piece is written in bytes, so there is no unknown word. The best
// way is found by Viterbi over the bytes of a word: O(word * longest piece). Sums are floats, in the order of the text;
// of two ways of the same score the one whose last piece is longer wins.
//
// (A model that comes from SentencePiece is not one of these: see sentencepiece.h.)
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/piece_trie.h"
#include "text/word_model.h"

namespace xf {

struct UnigramTable {
    static constexpr size_t kAscii = 128;

    std::vector<uint32_t> characters;  // code points above U+007F, in the order of their ids
    PieceList pieces;                  // of two characters or more, in the order of their ids
    std::vector<float> scores;         // of the 128 ASCII characters, the characters, the pieces
};

class UnigramModel final : public WordModel {
public:
    // Checks the table as something read from a file: XF_ERROR_CORRUPT, XF_ERROR_LIMIT.
    explicit UnigramModel(UnigramTable table);

    UnigramTable table() const;
    const Vocabulary &vocabulary() const override { return vocabulary_; }
    void encode(WordSplitter words, std::vector<int32_t> *ids, EncodeScratch *scratch, Sampler *sampler) const override;

    // The id of a score, by its place in the table.
    static int32_t id_of(size_t place) {
        return static_cast<int32_t>(place) +
               (place < UnigramTable::kAscii ? Vocabulary::kFirstByteId
                                             : Vocabulary::kFirstPieceId - static_cast<int32_t>(UnigramTable::kAscii));
    }

private:
    // Calls offer(end, id, score, fallback) for each piece that the word goes on with at a character's beginning, and
    // where none is that character alone, for its bytes: id -1, fallback.
    template <class Offer>
    void for_each_piece(std::string_view word, size_t at, Offer offer) const;
    void append(int32_t id, std::string_view piece, std::vector<int32_t> *ids) const;
    void encode_word(std::string_view word, std::vector<int32_t> *ids, EncodeScratch *scratch) const;

    std::vector<uint32_t> characters_;  // as in the table
    std::vector<float> scores_;
    Vocabulary vocabulary_;
    PieceTrie trie_;        // of places in scores_
    float byte_score_ = 0;  // of a byte of a character that has no piece
};

}  // namespace xf
