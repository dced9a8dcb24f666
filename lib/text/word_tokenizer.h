// The tokenizers that are learnt here: normalise, split into words, encode each word.
//
// The promise: for every text that encode() takes, decode(encode(text)) is the normalised text, byte for byte, with
// its white space. Text is encoded as if one space preceded it, so that a word has the same ids at the beginning as
// elsewhere, and decode() drops one leading space. (The empty text has no ids.) So decoding the joined ids of two
// texts puts a space between them.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/call.h"
#include "core/options.h"
#include "text/normalize.h"
#include "text/tokenizer.h"
#include "text/word_model.h"

namespace xf {

enum class TokenizerKind { kBpe, kWordPiece, kUnigram };

struct TokenizerOptions {
    TokenizerKind kind = TokenizerKind::kBpe;
    int64_t vocab_size = 37000;  // at most so many pieces, with the 2 specials and 256 bytes: 258 to 2^20
    Normalization normalization = Normalization::kNfkc;
    InvalidUtf8 invalid_utf8 = InvalidUtf8::kError;
    int64_t min_pair_count = 2;          // pairs (unigram: strings) that occur less often give no piece: 1 or more
    double character_coverage = 0.9999;  // share of characters above U+007F that get a piece of their own: 0 to 1

    static TokenizerOptions from(const Options &options);
};

// Gives the next line of training text, without its line end, valid until the next call; false at the end.
using LineSource = std::function<bool(std::string_view *line)>;

class WordTokenizer final : public Tokenizer {
public:
    // Learns a tokenizer. The result depends on the options and the multiset of lines, not on their order.
    // XF_ERROR_INVALID_ARGUMENT for options out of range; XF_ERROR_DATA for invalid UTF-8, naming the line, and for a
    // text without characters. call hears "tokenizer", in pieces.
    static std::shared_ptr<const WordTokenizer> train(const TokenizerOptions &options, const LineSource &lines,
                                                      const Call &call = Call());

    // As Tokenizer::parse(), for these kinds alone.
    static std::shared_ptr<const WordTokenizer> parse(std::string_view json);

    const TokenizerOptions &options() const { return options_; }

    std::string serialize() const override;
    const char *kind() const override;
    Segmentation segmentation() const override;
    int32_t size() const override { return model_->vocabulary().size(); }
    int32_t start_id() const override { return Vocabulary::kStartId; }  // "<s>"
    int32_t end_id() const override { return Vocabulary::kEndId; }      // "</s>"; then bytes, characters, pieces
    using Tokenizer::encode;
    void encode(std::string_view text, std::vector<int32_t> *ids, EncodeScratch *scratch,
                Sampler *sampler) const override;

    // A model may put the bytes of a character wrongly together: invalid UTF-8 becomes U+FFFD, except with kNone.
    std::string decode(const int32_t *ids, size_t count) const override;

    // Control characters are "<0x0A>".
    std::string piece(int32_t id) const override;

    // The bytes of a piece, empty for start and end; they live as long as the tokenizer. XF_ERROR_OUT_OF_RANGE.
    std::string_view piece_bytes(int32_t id) const;

private:
    WordTokenizer(const TokenizerOptions &options, std::unique_ptr<const WordModel> model);

    const TokenizerOptions options_;
    const std::unique_ptr<const WordModel> model_;
};

}  // namespace xf
