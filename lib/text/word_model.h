// What a kind of tokenizer is: a vocabulary and a way to encode one word. BPE and WordPiece are such.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "text/vocabulary.h"
#include "text/word_splitter.h"

namespace xf {

// Room for the encoding of a text; who encodes many keeps one, and then nothing is allocated for a text.
struct EncodeScratch {
    std::string normalized;
    std::vector<int32_t> codes;  // of normalize()
    // Of one word of BpeModel: its symbols, -1 where one was merged into the one before, their neighbours, and the
    // merges that may be next.
    std::vector<int32_t> symbols, next, previous;
    std::vector<uint64_t> heap;
};

class WordModel {
public:
    virtual ~WordModel() = default;

    virtual const Vocabulary &vocabulary() const = 0;

    // Appends the ids of all words. The ids' bytes, joined, must be the words, joined. Called from many threads.
    virtual void encode(WordSplitter words, std::vector<int32_t> *ids, EncodeScratch *scratch) const = 0;
};

}  // namespace xf
