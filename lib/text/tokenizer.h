// Text to ids and back, by whatever tokenizer a model has: one that was learnt here (word_tokenizer.h), one of
// SentencePiece (sentencepiece.h), or two, one a side (tokenizer_pair.h).
//
// A tokenizer never changes once made: any number of threads may use one at the same time.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/encode_scratch.h"
#include "text/sampling.h"

namespace xf {

// How a tokenizer finds a text's pieces, and so which option of Sampling it heeds.
enum class Segmentation { kMerges, kLikelihood, kLongestMatch };

class Tokenizer {
public:
    virtual ~Tokenizer() = default;
    Tokenizer() = default;
    Tokenizer(const Tokenizer &) = delete;
    Tokenizer &operator=(const Tokenizer &) = delete;

    // Reads what serialize() wrote. The text may be hostile: XF_ERROR_CORRUPT, XF_ERROR_LIMIT, XF_ERROR_VERSION.
    static std::shared_ptr<const Tokenizer> parse(std::string_view json);

    // JSON on one line, always the same for the same tokenizer.
    virtual std::string serialize() const = 0;

    // The number of ids, V.
    virtual int32_t size() const = 0;

    // What the decoder is fed first, and what ends a sentence; -1 where the tokenizer has none.
    virtual int32_t start_id() const = 0;
    virtual int32_t end_id() const = 0;

    // The word under "kind" in its file.
    virtual const char *kind() const = 0;
    virtual Segmentation segmentation() const = 0;

    // Appends the ids of the text, without start or end symbols. On an error *ids is as before.
    // XF_ERROR_DATA for invalid UTF-8 where the tokenizer refuses it, XF_ERROR_LIMIT for a text above kMaxTextBytes.
    // With a sampler the text is cut in a way that is drawn, and decode() gives the same for it; without one, or where
    // the sampler's option for this segmentation is off, in the one way.
    virtual void encode(std::string_view text, std::vector<int32_t> *ids, EncodeScratch *scratch,
                        Sampler *sampler) const = 0;
    void encode(std::string_view text, std::vector<int32_t> *ids, EncodeScratch *scratch) const {
        encode(text, ids, scratch, nullptr);
    }
    void encode(std::string_view text, std::vector<int32_t> *ids) const {
        EncodeScratch scratch;
        encode(text, ids, &scratch, nullptr);
    }

    // The text of the ids; start, end and other control symbols are skipped. XF_ERROR_OUT_OF_RANGE for an id that is
    // no piece.
    virtual std::string decode(const int32_t *ids, size_t count) const = 0;

    // What cuts sources and targets, where a model has a tokenizer for each.
    virtual const Tokenizer &source() const { return *this; }
    virtual const Tokenizer &target() const { return *this; }

    // The name of a piece for people: "<s>", "</s>", "<0x41>", or its text with U+2581 for each space.
    // XF_ERROR_OUT_OF_RANGE.
    virtual std::string piece(int32_t id) const = 0;
};

}  // namespace xf
