// A tokenizer that the SentencePiece program learnt (Kudo and Richardson 2018), with the same ids for the same text.
//
// encode() normalises the text (sentencepiece_normalizer.h), cuts it (sentencepiece_encoder.h), and gives ids. It takes
// any bytes. decode() joins the pieces, puts spaces for U+2581, drops the dummy space, and puts bytes together. What
// normalisation took away, and text that became the unknown piece, does not come back: this is not reversible as the
// library's own tokenizers are.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/piece_trie.h"
#include "text/sentencepiece_encoder.h"
#include "text/sentencepiece_normalizer.h"
#include "text/sentencepiece_table.h"
#include "text/tokenizer.h"

namespace xf {

class SentencePieceTokenizer final : public Tokenizer {
public:
    // Checks the table as something read from a file: XF_ERROR_CORRUPT, XF_ERROR_LIMIT.
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
    std::string piece(int32_t id) const override;

private:
    void check_table();
    void check_id(int32_t id) const;
    void append_bytes(std::string *bytes, std::string *text) const;

    const SentencePieceTable table_;
    int32_t unknown_id_ = -1;
    std::array<int32_t, 256> byte_ids_;  // with byte fallback
    PieceTrie user_defined_;
    std::unique_ptr<const SentencePieceNormalizer> normalizer_, after_decoding_;
    std::unique_ptr<const SentencePieceEncoder> encoder_;
};

}  // namespace xf
