// The word splitter: examples of its rules, and a check that no text is lost.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/words/splitter.h"

#include "support/test.hpp"
#include "text_support.hpp"

using namespace xf;
using namespace xf_test;

namespace {

std::vector<std::string> split(std::string_view text) {
    std::vector<std::string> words;
    WordSplitter splitter(text);
    std::string_view word;
    while (splitter.next(&word)) words.emplace_back(word);
    return words;
}

std::string joined(std::string_view text) {
    std::string out;
    for (const std::string &word : split(text)) {
        if (!out.empty()) out += '|';
        out += word;
    }
    return out;
}

}  // namespace

XF_TEST(splits_by_its_rules) {
    CHECK_EQ(joined(" the cat"), " the| cat");
    CHECK_EQ(joined("a  b   c"), "a| | b|  | c");
    CHECK_EQ(joined("a  \n b\t c \n"), "a|  \n| b|\t| c| \n");
    CHECK_EQ(joined("  "), "  ");
    CHECK_EQ(joined(" (don't!)"), " (|don't|!)");
    CHECK_EQ(joined("'a' l'homme rock'n'roll' it\xE2\x80\x99s"), "'|a|'| l'homme| rock'n'roll|'| it\xE2\x80\x99s");
    CHECK_EQ(joined(" 1997 x2y"), " 1|9|9|7| x|2|y");
    CHECK_EQ(joined("\xCC\x88x nai\xCC\x88ve"), "\xCC\x88x| nai\xCC\x88ve");
    CHECK_EQ(joined("a\xC2\xA0"
                    "b"),
             "a|\xC2\xA0|b");
    CHECK_EQ(joined("!\xFF\xC3?"), "!\xFF\xC3?");
    CHECK(split("").empty());
}

XF_TEST(splitting_is_lossless_and_bounds_words) {
    std::mt19937 random(2);
    std::vector<std::string> texts = nasty_texts();
    for (int i = 0; i < 500; ++i) texts.push_back(random_unicode(&random, 1 + i % 60));
    for (int i = 0; i < 500; ++i) texts.push_back(random_bytes(&random, 1 + i % 60));
    for (const char *unit :
         {"a", " ", "\xC3\xA4", "!", "\n", " a'", "\xF0\x9F\x98\x80", "7\xCC\x88", "\xCC\x88", "\xFF"}) {
        std::string text;
        while (text.size() < 5000) text += unit;
        texts.push_back(text + " end");
    }
    for (const std::string &text : texts) {
        std::string all;
        for (const std::string &word : split(text)) {
            CHECK(!word.empty() && word.size() <= WordSplitter::kMaxWordBytes + 8);
            all += word;
        }
        CHECK(all == text);
    }
}
