// Converts text to token ids and back. A model has a tokenizer learned by this library (words/tokenizer.h), a
// SentencePiece tokenizer (sentencepiece/tokenizer.h), or one tokenizer per side (TokenizerPair).
//
// Tokenizers are immutable, so any number of threads may use one at the same time.
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

// How a tokenizer segments text, which determines the option of Sampling that applies to it.
enum class Segmentation { kMerges, kLikelihood, kLongestMatch };

class Tokenizer {
public:
    virtual ~Tokenizer() = default;
    Tokenizer() = default;
    Tokenizer(const Tokenizer &) = delete;
    Tokenizer &operator=(const Tokenizer &) = delete;

    // Reads the output of serialize(). The text is untrusted: XF_ERROR_CORRUPT, XF_ERROR_LIMIT, XF_ERROR_VERSION.
    static std::shared_ptr<const Tokenizer> parse(std::string_view json);

    // Returns JSON on one line. The same tokenizer always gives the same bytes.
    virtual std::string serialize() const = 0;

    // The number of ids, V.
    virtual int32_t size() const = 0;

    // The first decoder input and the end of a sentence; -1 if the tokenizer has no such token.
    virtual int32_t start_id() const = 0;
    virtual int32_t end_id() const = 0;

    // The value of "kind" in the file.
    virtual const char *kind() const = 0;
    virtual Segmentation segmentation() const = 0;

    // Appends the ids of the text, without start and end tokens. On an error *ids is unchanged.
    // XF_ERROR_DATA for invalid UTF-8 if the tokenizer rejects it, XF_ERROR_LIMIT for a text above kMaxTextBytes.
    // With a sampler the segmentation is drawn at random, and decode() returns the same text as for the default
    // segmentation. The default is used without a sampler and if the sampler's option for segmentation() is off.
    virtual void encode(std::string_view text, std::vector<int32_t> *ids, EncodeScratch *scratch,
                        Sampler *sampler) const = 0;
    void encode(std::string_view text, std::vector<int32_t> *ids, EncodeScratch *scratch) const {
        encode(text, ids, scratch, nullptr);
    }
    void encode(std::string_view text, std::vector<int32_t> *ids) const {
        EncodeScratch scratch;
        encode(text, ids, &scratch, nullptr);
    }

    // Returns the text of the ids. Start, end, and other control tokens are skipped. XF_ERROR_OUT_OF_RANGE for an id
    // outside [0, size()).
    virtual std::string decode(const int32_t *ids, size_t count) const = 0;
    // Returns whether further ids leave the text of the first ids unchanged, except for an incomplete last character.
    virtual bool decodes_in_parts() const { return true; }

    // The tokenizers of the two sides. Both are *this, except in a TokenizerPair.
    virtual const Tokenizer &source() const { return *this; }
    virtual const Tokenizer &target() const { return *this; }

    // Returns the printable name of a piece: "<s>", "</s>", "<0x41>", or its text with U+2581 for each space.
    // XF_ERROR_OUT_OF_RANGE.
    virtual std::string piece(int32_t id) const = 0;
    // Returns the bytes that an id adds to a text before decode() changes its beginning: with a space before a word,
    // and empty for a control token. XF_ERROR_OUT_OF_RANGE.
    virtual std::string token_text(int32_t id) const = 0;
};

// A model's two tokenizers if the source and target languages have different ones. Functions that do not name a side
// encode with the source tokenizer; everything else uses the target tokenizer.
//
// The file is a JSON object that contains the files of both tokenizers as strings:
//
//     {"format":"xformer-tokenizer","version":1,"kind":"pair","source":"{...}","target":"{...}"}
class TokenizerPair final : public Tokenizer {
public:
    static constexpr char kKind[] = "pair";

    // Neither tokenizer may be a pair. XF_ERROR_CORRUPT if their end ids differ.
    TokenizerPair(std::shared_ptr<const Tokenizer> source, std::shared_ptr<const Tokenizer> target);

    // Same as Tokenizer::parse(), for pairs only.
    static std::shared_ptr<const Tokenizer> parse(std::string_view json);

    std::string serialize() const override;
    const char *kind() const override { return kKind; }
    Segmentation segmentation() const override { return source_->segmentation(); }
    int32_t size() const override { return target_->size(); }
    int32_t start_id() const override { return target_->start_id(); }
    int32_t end_id() const override { return target_->end_id(); }
    using Tokenizer::encode;
    void encode(std::string_view text, std::vector<int32_t> *ids, EncodeScratch *scratch,
                Sampler *sampler) const override {
        source_->encode(text, ids, scratch, sampler);
    }
    std::string decode(const int32_t *ids, size_t count) const override { return target_->decode(ids, count); }
    bool decodes_in_parts() const override { return target_->decodes_in_parts(); }
    std::string piece(int32_t id) const override { return target_->piece(id); }
    std::string token_text(int32_t id) const override { return target_->token_text(id); }
    const Tokenizer &source() const override { return *source_; }
    const Tokenizer &target() const override { return *target_; }

private:
    const std::shared_ptr<const Tokenizer> source_, target_;
};

}  // namespace xf
