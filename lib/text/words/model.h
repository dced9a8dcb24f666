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

struct BpeMerge {
    int32_t left;
    int32_t right;
};

// The contents of a model file.
struct WordTable {
    std::vector<uint32_t> characters = {};  // code points above U+007F, in the order of their ids
    std::vector<BpeMerge> merges = {};      // BPE: by rank
    PieceList pieces = {};           // WordPiece and unigram: of two characters or more, in the order of their ids
    std::vector<float> scores = {};  // unigram: of the 128 ASCII characters, then `characters`, then `pieces`
};

class WordModel {
public:
    virtual ~WordModel() = default;

    const Vocabulary &vocabulary() const { return vocabulary_; }
    virtual WordTable table() const = 0;

    // Appends the ids of all words. The concatenated bytes of the ids equal the concatenated words. sampler may be
    // nullptr. Thread-safe.
    virtual void encode(WordSplitter words, std::vector<int32_t> *ids, EncodeScratch *scratch,
                        Sampler *sampler) const = 0;

protected:
    // Adds the characters and pieces of a table, which may come from an untrusted file: XF_ERROR_CORRUPT,
    // XF_ERROR_LIMIT.
    explicit WordModel(const WordTable &table);
    // The pieces with the ids after the characters.
    PieceList pieces() const { return vocabulary_.pieces_from(Vocabulary::kFirstPieceId + std::ssize(characters_)); }

    std::vector<uint32_t> characters_;  // as in the table
    Vocabulary vocabulary_;
};

// Adds the characters of a table: XF_ERROR_CORRUPT, XF_ERROR_LIMIT.
void add_characters(const std::vector<uint32_t> &characters, Vocabulary *vocabulary);

// Appends the ids of a word's characters, with bytes for a character that is not in the vocabulary.
void append_characters(const Vocabulary &vocabulary, std::string_view word, std::vector<int32_t> *ids);

}  // namespace xf
