// Unigram: chooses the segmentation of a word with the greatest product of piece probabilities (Kudo 2018).
//
// A model consists of the characters of the training text, the longer pieces, and the log probability of each; ASCII
// characters are pieces too. A character without a piece is encoded as bytes, so there are no unknown words. The best
// segmentation is found in O(word * longest piece) (unigram_path.h).
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

class UnigramModel final : public WordModel {
public:
    static constexpr int32_t kAscii = 128;

    // Checks the table, which may come from an untrusted file: XF_ERROR_CORRUPT, XF_ERROR_LIMIT.
    explicit UnigramModel(WordTable table);

    WordTable table() const override { return {characters_, {}, pieces(), scores_}; }
    void encode(WordSplitter words, std::vector<int32_t> *ids, EncodeScratch *scratch, Sampler *sampler) const override;

    // Converts an index of WordTable::scores to an id.
    static int32_t id_of(int32_t index) {
        return index + (index < kAscii ? Vocabulary::kFirstByteId : Vocabulary::kFirstPieceId - kAscii);
    }

private:
    // Calls offer(end, id, score, fallback) for each piece that begins at word[at]. If the character there has no
    // piece, also calls it for the character's bytes, with id -1 and fallback set.
    template <class Offer>
    void for_each_piece(std::string_view word, size_t at, Offer offer) const;

    std::vector<float> scores_;
    PieceTrie trie_;        // values are indices of scores_
    float byte_score_ = 0;  // per byte of a character without a piece
};

}  // namespace xf
