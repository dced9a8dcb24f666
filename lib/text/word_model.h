// What a kind of tokenizer is: a vocabulary and a way to encode one word. BPE and WordPiece are such.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "text/encode_scratch.h"
#include "text/sampling.h"
#include "text/vocabulary.h"
#include "text/word_splitter.h"

namespace xf {

class WordModel {
public:
    virtual ~WordModel() = default;

    virtual const Vocabulary &vocabulary() const = 0;

    // Appends the ids of all words. The ids' bytes, joined, must be the words, joined. sampler may be nullptr. Called
    // from many threads.
    virtual void encode(WordSplitter words, std::vector<int32_t> *ids, EncodeScratch *scratch,
                        Sampler *sampler) const = 0;
};

}  // namespace xf
