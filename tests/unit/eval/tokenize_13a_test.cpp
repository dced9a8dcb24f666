// The 13a tokenizer, rule by rule. scores_test.cpp compares it with sacreBLEU.
//
// SPDX-License-Identifier: Apache-2.0
#include "support/test.hpp"

#include "eval/bleu.h"
#include "eval/characters.h"

namespace {

std::string tokens(std::string_view text) {
    const std::string tokenized = xf::tokenize_13a(text);
    std::string joined;
    for (std::string_view word : xf::split_words(tokenized)) {
        if (!joined.empty()) joined += ' ';
        joined += word;
    }
    return joined;
}

}  // namespace

XF_TEST(punctuation_is_a_separate_word) {
    CHECK_EQ(tokens("(a) [b]{c}"), "( a ) [ b ] { c }");
    CHECK_EQ(tokens("don't and/or"), "don't and / or");
    CHECK_EQ(tokens("100%*2+1=?"), "100 % * 2 + 1 = ?");
}

XF_TEST(every_ascii_character_has_its_rule) {
    const std::string alone = "!\"#$%&()*+/:;<=>?@[\\]^_`{|}~.,", blanks = "\t\n\v\f\r\x1c\x1d\x1e\x1f ";
    for (int code = 0; code < 128; ++code) {
        const auto c = static_cast<char>(code);
        std::string expected = {'x', c, 'y'};
        if (alone.find(c) != std::string::npos) expected = {'x', ' ', c, ' ', 'y'};
        if (blanks.find(c) != std::string::npos) expected = "x y";
        CHECK_EQ(tokens(std::string{'x', c, 'y'}), expected);
    }
}

XF_TEST(periods_and_commas_stay_within_numbers) {
    CHECK_EQ(tokens("1,000.50"), "1,000.50");
    CHECK_EQ(tokens("Ende."), "Ende .");
    CHECK_EQ(tokens("5."), "5 .");
    CHECK_EQ(tokens(".5"), ". 5");
    CHECK_EQ(tokens("a,b"), "a , b");
    CHECK_EQ(tokens("\u00e9.\u00e9"), "\u00e9 . \u00e9");
}

XF_TEST(a_dash_after_a_digit_is_a_separate_word) {
    CHECK_EQ(tokens("10-20"), "10 - 20");
    CHECK_EQ(tokens("well-known"), "well-known");
    CHECK_EQ(tokens("-7"), "-7");
}

XF_TEST(entities_and_marks_are_resolved) {
    CHECK_EQ(tokens("&quot;a&quot;"), "\" a \"");
    CHECK_EQ(tokens("&amp;lt;"), "<");
    CHECK_EQ(tokens("a<skipped>b"), "ab");
    CHECK_EQ(tokens("trans-\nlated\nline"), "translated line");
}

XF_TEST(white_space_is_that_of_python) {
    CHECK_EQ(tokens("a\u00a0b\u3000c\u2028d\x1c"
                    "e\u0085f"),
             "a b c d e f");
    CHECK_EQ(tokens("a\u200bb"), "a\u200bb");  // a zero-width space is not white space
    CHECK_EQ(tokens(" \u00a0 "), "");
    CHECK_EQ(tokens("text-\n"), "text-");  // the line break is stripped before it can join words
}
