// The tokenizers learned by this library: they normalize a text, split it into words, and encode each word.
//
// For every text that encode() accepts, decode(encode(text)) is exactly the normalized text, including its white space.
// Text is encoded as if one space preceded it, so that a word has the same ids at the beginning of a text as elsewhere,
// and decode() drops one leading space. (The empty text has no ids.) Consequently, decoding the concatenated ids of two
// texts puts a space between them.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
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
#include "text/words/model.h"

namespace xf {

enum class TokenizerKind { kBpe, kWordPiece, kUnigram };

// The words for the values, in options and in files.
inline constexpr Choice<TokenizerKind> kTokenizerKinds[] = {
    {"bpe", TokenizerKind::kBpe}, {"wordpiece", TokenizerKind::kWordPiece}, {"unigram", TokenizerKind::kUnigram}};
inline constexpr Choice<Normalization> kNormalizations[] = {
    {"none", Normalization::kNone}, {"nfc", Normalization::kNfc}, {"nfkc", Normalization::kNfkc}};
inline constexpr Choice<InvalidUtf8> kInvalidUtf8Kinds[] = {{"error", InvalidUtf8::kError},
                                                            {"replace", InvalidUtf8::kReplace}};

// The word for a value.
template <class T, size_t n>
const char *word_for(const Choice<T> (&choices)[n], T value) {
    const auto found = std::find_if(choices, choices + n, [&](const Choice<T> &each) { return each.value == value; });
    return found->word.data();
}

struct TokenizerOptions {
    TokenizerKind kind = TokenizerKind::kBpe;
    int64_t vocab_size = 37000;  // maximum number of pieces, including 2 control tokens and 256 bytes: 258 to 2^20
    Normalization normalization = Normalization::kNfkc;
    InvalidUtf8 invalid_utf8 = InvalidUtf8::kError;
    int64_t min_pair_count = 2;          // rarer pairs (unigram: strings) do not become pieces; not an option
    double character_coverage = 0.9999;  // fraction of the characters above U+007F that get a piece: 0 to 1

    static TokenizerOptions from(const Options &options);
};

// Sets *line to the next line of training text, without its line end and valid until the next call; returns false at
// the end.
using LineSource = std::function<bool(std::string_view *line)>;

class WordTokenizer final : public Tokenizer {
public:
    // Learns a tokenizer. The result depends on the options and the multiset of lines, not on their order.
    // XF_ERROR_INVALID_ARGUMENT for options out of range; XF_ERROR_DATA for invalid UTF-8, naming the line, and for an
    // empty text. Reports progress as "tokenizer", in pieces.
    static std::shared_ptr<const WordTokenizer> train(const TokenizerOptions &options, const LineSource &lines,
                                                      const Call &call = Call());

    // Same as Tokenizer::parse(), for these kinds only.
    static std::shared_ptr<const WordTokenizer> parse(std::string_view json);

    const TokenizerOptions &options() const { return options_; }

    std::string serialize() const override;
    const char *kind() const override { return word_for(kTokenizerKinds, options_.kind); }
    Segmentation segmentation() const override;
    int32_t size() const override { return model_->vocabulary().size(); }
    int32_t start_id() const override { return Vocabulary::kStartId; }  // "<s>"
    int32_t end_id() const override { return Vocabulary::kEndId; }      // "</s>"; then bytes, characters, pieces
    using Tokenizer::encode;
    void encode(std::string_view text, std::vector<int32_t> *ids, EncodeScratch *scratch,
                Sampler *sampler) const override;

    // Invalid UTF-8, which a model can produce from byte pieces, becomes U+FFFD, except with Normalization::kNone.
    std::string decode(const int32_t *ids, size_t count) const override;

    // Control characters are written as "<0x0A>".
    std::string piece(int32_t id) const override;
    std::string token_text(int32_t id) const override { return std::string(piece_bytes(id)); }

    // Returns the bytes of a piece, empty for start and end. Valid as long as the tokenizer. XF_ERROR_OUT_OF_RANGE.
    std::string_view piece_bytes(int32_t id) const;

private:
    WordTokenizer(const TokenizerOptions &options, std::unique_ptr<const WordModel> model);

    const TokenizerOptions options_;
    const std::unique_ptr<const WordModel> model_;
};

}  // namespace xf
