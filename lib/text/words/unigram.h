// Unigram: chooses the segmentation of a word with the greatest product of piece probabilities (Kudo 2018).
//
// A model consists of the characters of the training text, the longer pieces, and the log probability of each; ASCII
// characters are pieces too. A character without a piece is encoded as bytes, so there are no unknown words. The best
// segmentation is found by the Viterbi algorithm over the bytes of a word: O(word * longest piece). Sums are floats, in
// text order. If two segmentations have the same score, the one with the longer last piece is chosen.
//
// Unigram models from SentencePiece are in sentencepiece/unigram.cpp.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/piece_trie.h"
#include "text/words/model.h"

namespace xf {

struct UnigramTable {
    static constexpr size_t kAscii = 128;

    std::vector<uint32_t> characters;  // code points above U+007F, in the order of their ids
    PieceList pieces;                  // of two characters or more, in the order of their ids
    std::vector<float> scores;         // of the 128 ASCII characters, then `characters`, then `pieces`
};

class UnigramModel final : public WordModel {
public:
    // Checks the table, which may come from an untrusted file: XF_ERROR_CORRUPT, XF_ERROR_LIMIT.
    explicit UnigramModel(UnigramTable table);

    UnigramTable table() const;
    const Vocabulary &vocabulary() const override { return vocabulary_; }
    void encode(WordSplitter words, std::vector<int32_t> *ids, EncodeScratch *scratch, Sampler *sampler) const override;

    // Converts an index of UnigramTable::scores to an id.
    static int32_t id_of(int32_t index) {
        constexpr int32_t kAscii = UnigramTable::kAscii;
        return index + (index < kAscii ? Vocabulary::kFirstByteId : Vocabulary::kFirstPieceId - kAscii);
    }

private:
    // Calls offer(end, id, score, fallback) for each piece that begins at word[at]. If the character there has no
    // piece, also calls it for the character's bytes, with id -1 and fallback set.
    template <class Offer>
    void for_each_piece(std::string_view word, size_t at, Offer offer) const;
    void append(int32_t id, std::string_view piece, std::vector<int32_t> *ids) const;
    void encode_word(std::string_view word, std::vector<int32_t> *ids, EncodeScratch *scratch) const;

    std::vector<uint32_t> characters_;  // as in the table
    std::vector<float> scores_;
    Vocabulary vocabulary_;
    PieceTrie trie_;        // values are indices of scores_
    float byte_score_ = 0;  // per byte of a character without a piece
};

}  // namespace xf
