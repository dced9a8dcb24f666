// Offsets of tokens: exact where a tokenizer keeps the text, at the ends of characters everywhere.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/token_ends.h"

#include "text_support.hpp"

using namespace xf;
using namespace xf_test;

namespace {

using Ends = std::vector<size_t>;

// Returns the parts of the text that the tokens cover, each followed by '|'.
std::string covered(const Tokenizer &tokenizer, const std::vector<int32_t> &ids, std::string_view text) {
    std::string parts;
    size_t begin = 0;
    for (const size_t end : token_ends(tokenizer, ids, text)) {
        parts += std::string(text.substr(begin, end - begin)) + "|";
        begin = end;
    }
    return parts;
}

std::string covered(const Tokenizer &tokenizer, std::string_view text) {
    std::vector<int32_t> ids;
    tokenizer.encode(text, &ids);
    return covered(tokenizer, ids, text);
}

void check_valid(const Ends &ends, std::string_view text) {
    CHECK(std::is_sorted(ends.begin(), ends.end()));
    if (ends.empty()) return;
    CHECK_EQ(ends.back(), text.size());
    for (const size_t end : ends) CHECK(end == text.size() || (text[end] & 0xC0) != 0x80);
}

std::vector<std::shared_ptr<const Tokenizer>> tokenizers() {
    std::vector<std::shared_ptr<const Tokenizer>> all;
    for (const std::string name : kModels) all.push_back(model(name));
    for (const Normalization form : {Normalization::kNone, Normalization::kNfc, Normalization::kNfkc}) {
        TokenizerOptions options;
        options.vocab_size = 300;
        options.normalization = form;
        all.push_back(train({"some words, some other words", "one two three"}, options));
    }
    return all;
}

}  // namespace

XF_TEST(every_text_has_ordered_ends_of_characters) {
    std::mt19937 random(5);
    std::vector<std::string> texts = nasty_texts();
    for (int i = 0; i < 100; ++i) texts.push_back(random_unicode(&random, 1 + i / 3));
    for (const auto &tokenizer : tokenizers())
        for (const std::string &text : texts) {
            std::vector<int32_t> ids;
            tokenizer->encode(text, &ids);
            check_valid(token_ends(*tokenizer, ids, text), text);
        }
}

XF_TEST(ends_in_decoded_text_are_the_sizes_of_its_beginnings) {
    std::mt19937 random(6);
    for (const auto &tokenizer : tokenizers()) {
        if (!tokenizer->decodes_in_parts()) continue;
        for (int i = 0; i < 60; ++i) {
            std::string text = "one two " + random_unicode(&random, static_cast<size_t>(i / 4));
            std::vector<int32_t> ids;
            tokenizer->encode(text, &ids);
            text = tokenizer->decode(ids.data(), ids.size());
            const Ends ends = token_ends(*tokenizer, ids, text);
            for (size_t n = 1; n <= ids.size(); ++n) {
                const std::string part = tokenizer->decode(ids.data(), n);
                // An incomplete last character remains or is replaced.
                if (find_invalid_utf8(part) != std::string::npos || !text.starts_with(part)) continue;
                CHECK_EQ(ends[n - 1], part.size());
            }
        }
    }
}

XF_TEST(normalized_characters_belong_to_their_originals) {
    TokenizerOptions options;
    options.vocab_size = 258;  // bytes
    options.normalization = Normalization::kNfkc;
    const auto bytes = train({"some text"}, options);
    // The first token is a space that the tokenizer adds. A character ends with the last of its bytes or letters.
    CHECK_EQ(covered(*bytes, "ae\u0301b"), std::string("|a||e\u0301|b|"));
    CHECK_EQ(covered(*bytes, "a\ufb01b"), std::string("|a||\ufb01|b|"));
    CHECK_EQ(covered(*bytes, "\uff21\uff22c"), std::string("|\uff21|\uff22|c|"));
    CHECK_EQ(covered(*bytes, "\u1112\u1161\u11abx"), std::string("||||\u1112\u1161\u11ab|x|").substr(1));
}

// The text of a SentencePiece tokenizer's unknown token has no character of the original.
XF_TEST(an_unknown_token_covers_what_it_replaced) {
    SentencePieceTable table = sentencepiece_table(
        SentencePieceTable::Kind::kUnigram, {{"\u2581", -3}, {"\u2581a", -1}, {"b", -1}, {"\u2581c", -1}, {"d", -1}});
    table.remove_extra_whitespaces = true;
    const SentencePieceTokenizer tokenizer(std::move(table));
    std::string unknown;
    for (int i = 0; i < 80; ++i) unknown += "\u4e2d\u6587";
    CHECK_EQ(covered(tokenizer, "a b  c"), std::string("a| |b|  c|"));
    CHECK_EQ(covered(tokenizer, "xb" + unknown + " cd"), "x|b|" + unknown + "| c|d|");
    CHECK_EQ(covered(tokenizer, " ab" + unknown + " cd"), " a|b|" + unknown + "| c|d|");
}
