// The interface of the models in this folder (BPE, WordPiece, unigram): a vocabulary, and encoding word by word.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "text/encode_scratch.h"
#include "text/sampling.h"
#include "text/vocabulary.h"
#include "text/words/splitter.h"

namespace xf {

class WordModel {
public:
    virtual ~WordModel() = default;

    virtual const Vocabulary &vocabulary() const = 0;

    // Appends the ids of all words. The concatenated bytes of the ids equal the concatenated words. sampler may be
    // nullptr. Thread-safe.
    virtual void encode(WordSplitter words, std::vector<int32_t> *ids, EncodeScratch *scratch,
                        Sampler *sampler) const = 0;
};

// Adds the characters of a table: XF_ERROR_CORRUPT, XF_ERROR_LIMIT.
void add_characters(const std::vector<uint32_t> &characters, Vocabulary *vocabulary);

// Adds the pieces of a table, each of two characters or more: XF_ERROR_CORRUPT, XF_ERROR_LIMIT.
void add_pieces(const PieceList &pieces, Vocabulary *vocabulary);

// Appends the ids of a word's characters, with bytes for a character that is not in the vocabulary.
void append_characters(const Vocabulary &vocabulary, std::string_view word, std::vector<int32_t> *ids);

}  // namespace xf
