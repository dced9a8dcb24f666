// A tokenizer learned by SentencePiece (Kudo and Richardson 2018), with the same ids for the same text.
//
// encode() accepts any bytes; it normalizes the text (normalizer.h) and segments it (encoder.h). decode() concatenates
// the pieces, replaces U+2581 by spaces, drops the dummy space, and assembles bytes into characters. Unlike the
// library's own tokenizers, this is not reversible: information removed by normalization and text encoded as the
// unknown piece are lost.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/piece_trie.h"
#include "text/sentencepiece/encoder.h"
#include "text/sentencepiece/normalizer.h"
#include "text/sentencepiece/table.h"
#include "text/tokenizer.h"

namespace xf {

class SentencePieceTokenizer final : public Tokenizer {
public:
    // Checks the table, which may come from an untrusted file: XF_ERROR_CORRUPT, XF_ERROR_LIMIT.
    explicit SentencePieceTokenizer(SentencePieceTable table);

    std::string serialize() const override;
    const char *kind() const override;
    Segmentation segmentation() const override;
    int32_t size() const override { return table_.pieces.size(); }
    int32_t start_id() const override { return table_.start_id; }
    int32_t end_id() const override { return table_.end_id; }
    using Tokenizer::encode;
    void encode(std::string_view text, std::vector<int32_t> *ids, EncodeScratch *scratch,
                Sampler *sampler) const override;
    std::string decode(const int32_t *ids, size_t count) const override;
    bool decodes_in_parts() const override { return denormalizer_ == nullptr; }
    std::string piece(int32_t id) const override;
    std::string token_text(int32_t id) const override;

private:
    void check_table();
    void check_id(int32_t id) const;
    void append_bytes(std::string *bytes, std::string *text) const;

    const SentencePieceTable table_;
    int32_t unknown_id_ = -1;
    std::array<int32_t, 256> byte_ids_;  // -1 without byte fallback
    PieceTrie user_defined_;
    std::unique_ptr<const SentencePieceNormalizer> normalizer_, denormalizer_;
    std::unique_ptr<const SentencePieceEncoder> encoder_;
};

}  // namespace xf
