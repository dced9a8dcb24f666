// The sentence splitter: a table of texts, properties that hold for all texts, and time.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/sentences/splitter.h"

#include <utf8proc.h>

#include "support/processor_time.hpp"
#include "support/test.hpp"
#include "text_support.hpp"

using namespace xf;
using namespace xf_test;

namespace {

bool is_white(uint32_t c) {
    const utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
    return (c >= '\t' && c <= '\r') || c == 0x85 ||
           (category >= UTF8PROC_CATEGORY_ZS && category <= UTF8PROC_CATEGORY_ZP);
}

// The sentences, joined by bars.
std::string split(std::string_view text, const char *language = nullptr, size_t max_characters = 0) {
    std::string joined;
    for (const auto [begin, end] : split_sentences(text, language, max_characters))
        joined.append(joined.empty() ? "" : "|").append(text.substr(begin, end - begin));
    return joined;
}

// Checks that spans are ordered and trimmed and contain all that is not white space, and that a sentence, split again,
// is one sentence.
void check_properties(const std::string &text, const char *language, size_t max_characters) {
    size_t last = 0;
    const auto check_white = [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; i += decode_utf8(text, i).size) CHECK(is_white(decode_utf8(text, i).value));
    };
    for (const auto [begin, end] : split_sentences(text, language, max_characters)) {
        CHECK(begin >= last && end > begin && end <= text.size());
        check_white(last, begin);
        last = end;
        size_t count = 0;
        uint32_t c = 0;
        CHECK(!is_white(decode_utf8(text, begin).value));
        for (size_t i = begin; i < end; ++count, i += decode_utf8(text, i).size) {
            c = decode_utf8(text, i).value;
            CHECK(c != '\n' && c != '\r' && c != 0x2028 && c != 0x2029);
        }
        CHECK(!is_white(c));
        CHECK(max_characters == 0 || count <= max_characters);
        const std::string sentence = text.substr(begin, end - begin);
        // In a part of a text, an opening " may be missing.
        if (max_characters == 0 && text.find('"') == text.npos) CHECK_EQ(split(sentence, language), sentence);
    }
    check_white(last, text.size());
}

std::string repeated(std::string_view part, size_t bytes) {
    std::string text;
    while (text.size() < bytes) text += part;
    return text;
}

// The text and its sentences, joined by bars, of a row of the table.
std::pair<std::string, std::string> parse(std::string marked) {
    for (const auto &[from, to] : {std::pair("\\n", "\n"), {"\\r", "\r"}, {"\\t", "\t"}})
        for (size_t at; (at = marked.find(from)) != marked.npos;) marked.replace(at, 2, to);
    std::string text, sentences;
    std::stringstream parts(marked);
    for (std::string part; std::getline(parts, part, '|');) {
        text += part;
        part.erase(0, part.find_first_not_of(" \n\r\t"));
        part.erase(part.find_last_not_of(" \n\r\t") + 1);
        sentences.append(sentences.empty() ? "" : "|").append(part);
    }
    return {text, sentences};
}

}  // namespace

XF_TEST(agrees_with_the_table) {
    std::ifstream file(XF_SENTENCES);
    std::map<std::string, int> cases;
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with('#')) continue;
        const size_t tab = line.find('\t');
        const std::string language = line.substr(0, tab);
        const auto [text, sentences] = parse(line.substr(tab + 1));
        CHECK_EQ(language + ": " + split(text, language == "-" ? nullptr : language.c_str()),
                 language + ": " + sentences);
        ++cases[language];
    }
    for (const char *language : {"en", "de", "fr"}) CHECK(cases[language] >= 20);
    for (const char *language : {"es", "it", "pt", "nl", "pl", "ru", "ja", "zh", "th", "hi", "ar"})
        CHECK(cases[language] >= 5);
}

XF_TEST(spans_have_their_properties) {
    std::mt19937 random(1);
    std::vector<std::string> texts = nasty_texts();
    for (int i = 0; i < 2000; ++i) texts.push_back(random_unicode(&random, 1 + i % 60));
    static constexpr std::string_view kParts[] = {".", "?", "!", " ",   "\n", "a",      "A",      "1",      "\"",
                                                  "(", ")", ",", "Dr.", "z.", "\u3002", "\u201C", "\u00BB", "\u2026"};
    for (int i = 0; i < 20000; ++i) {
        std::string text;
        for (int j = i % 20; j >= 0; --j) text += kParts[random() % std::size(kParts)];
        texts.push_back(text);
    }
    const char *const languages[] = {nullptr, "en", "de", "ja", "xx"};
    for (size_t i = 0; i < texts.size(); ++i) check_properties(texts[i], languages[i % 5], i % 7);
}

XF_TEST(long_sentences_are_divided) {
    CHECK_EQ(split("one two three", "en", 7), "one two|three");
    CHECK_EQ(split("one two three", "en", 13), "one two three");
    CHECK_EQ(split("one, two three four", "en", 5), "one,|two|three|four");
    CHECK_EQ(split("one two, three four", "en", 12), "one two,|three four");
    CHECK_EQ(split("a, two three four", "en", 12), "a, two three|four");  // the comma is too early
    CHECK_EQ(split("abcdefgh", "en", 3), "abc|def|gh");
    CHECK_EQ(split("e\u0301e\u0301e\u0301", "fr", 3), "e\u0301|e\u0301|e\u0301");
    CHECK_EQ(split("\u0301\u0301\u0301\u0301", "fr", 3), "\u0301\u0301\u0301|\u0301");
    CHECK_EQ(split("\u6211\u8d70\u4e86\uff0c\u4ed6\u6765\u4e86", "zh", 5),
             "\u6211\u8d70\u4e86\uff0c|\u4ed6\u6765\u4e86");
    CHECK_EQ(split("\u0e01\u0e02\u200b\u0e01\u0e02", "th", 4), "\u0e01\u0e02\u200b|\u0e01\u0e02");
    CHECK_EQ(split("One. Two three.", "en", 9), "One.|Two|three.");
}

XF_TEST(wrong_text_is_refused) {
    CHECK_REFUSED(split("ok \xED\xA0\x80"), XF_ERROR_DATA, "invalid UTF-8 at byte 3 (0xED), expected valid text");
    CHECK_EQ(split(""), "");
    CHECK_EQ(split("a\0b. C"sv), "a\0b.|C"sv);
}

// A splitter that looks back or ahead without a bound needs hours.
XF_TEST(hostile_text_takes_linear_time) {
    const size_t bytes = XF_TEST_SANITIZED ? 1 << 16 : 1 << 20;
    const double start = processor_seconds();
    for (const std::string_view part :
         {".",   "(",  "\u0301", "a.", "a. ", "A. ", ". ",  ".)",  ".) ",    ".\" ",   "\u3002\u201C", "1. ",
          "1.2", "a ", "\n",     " ",  "[1]", ".[",  ".[1", "? )", "z. B. ", "\u2026", "e\u0301",      "\u0e01"}) {
        CHECK(!split_sentences(repeated(part, bytes), nullptr, 500).empty() || is_white(part[0] & 0xFFu));
    }
    CHECK(processor_seconds() - start < 100);
}
