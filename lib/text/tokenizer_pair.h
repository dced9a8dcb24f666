// A model's two tokenizers if the source and target languages have different ones.
//
// The file is a JSON object that contains the files of both tokenizers as strings:
//
//     {"format":"xformer-tokenizer","version":1,"kind":"pair","source":"{...}","target":"{...}"}
//
// Functions that do not name a side encode with the source tokenizer; everything else uses the target tokenizer.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "text/tokenizer.h"

namespace xf {

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
    std::string piece(int32_t id) const override { return target_->piece(id); }
    const Tokenizer &source() const override { return *source_; }
    const Tokenizer &target() const override { return *target_; }

private:
    const std::shared_ptr<const Tokenizer> source_, target_;
};

}  // namespace xf
