// parse_html() with random tags, translations, and alignments, and with large documents.
//
// SPDX-License-Identifier: Apache-2.0
#include "fake.hpp"
#include "html_tokens.h"
#include "support/processor_time.hpp"

using serve::Translation;

namespace {

// A reproducible random number below `end`.
struct Random {
    uint64_t state;
    size_t below(size_t end) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return static_cast<size_t>(state >> 33) % end;
    }
};

std::string join(const std::vector<std::string> &parts) {
    std::string all;
    for (const std::string &part : parts) all += part;
    return all;
}

// kValid: pairs are nested. kOneParagraph: the same without block elements.
enum Kind { kAnyTags, kValid, kOneParagraph };

// Tags and words in random order.
std::string random_html(Random *random, int kind) {
    const bool valid = kind != kAnyTags;
    static const char *const words[] = {
        "ab",        "c ",    " d",  " ",     "ef gh ",        "&amp; ",         "\xC3\xA4\xC3\xB6 ",
        "7",         "\n i",  ", j", "<img>", "<!-- <b> --> ", "<code>m</code>", "k&nbsp;l",
        "&nosuch; ", " <br> "};
    static const char *const names[] = {"b", "i", "a", "em", "span", "x-y", "p", "td"};
    const size_t word_count = std::size(words) - (kind == kOneParagraph ? 1 : 0);
    const size_t name_count = std::size(names) - (kind == kOneParagraph ? 2 : 0);
    std::vector<std::string> parts, open;
    for (size_t n = 1 + random->below(40); n > 0; --n) {
        const size_t what = random->below(5);
        if (what < 2) {
            parts.push_back(words[random->below(word_count)]);
        } else if (what < 4) {
            open.push_back(names[random->below(name_count)]);
            parts.push_back("<" + open.back() + (random->below(3) == 0 ? " title='t u'>" : ">"));
        } else if (valid) {
            if (open.empty()) continue;
            parts.push_back("</" + open.back() + ">");
            open.pop_back();
        } else {
            parts.push_back(std::string("</") + names[random->below(name_count)] + ">");
        }
    }
    for (; valid && !open.empty(); open.pop_back()) parts.push_back("</" + open.back() + ">");
    return join(parts);
}

// Random words, and spans that may be wrong in every way.
Translation random_translation(const std::string &source, Random *random) {
    static const char *const words[] = {"one", "zw\xC3\xB6lf ", " ",     "three,", "\xE5\x9B\x9B",
                                        "<b>", "&lt;",          "x y z", "7\n"};
    Translation result;
    for (size_t n = random->below(12); n > 0; --n) {
        const size_t begin = result.text.size();
        result.text += words[random->below(std::size(words))];
        const size_t a = random->below(source.size() + 2), b = random->below(source.size() + 2);
        if (random->below(4) != 0) result.spans.push_back({a, b, begin, result.text.size() + random->below(2)});
        if (random->below(2) == 0) result.text += ' ';
    }
    if (random->below(8) == 0) result.spans.clear();
    return result;
}

Translation permuted(const std::string &source, Random *random) {
    std::vector<size_t> order;
    const size_t count = fake::words_of(source).size();
    for (size_t n = random->below(count + 3); n > 0; --n) order.push_back(random->below(count));
    return fake::select(source, order);
}

std::vector<std::string> tags_of(const std::string &html) {
    std::vector<std::string> tags;
    for (const serve::Token &token : serve::tokenize_html(html))
        if (token.kind != serve::TokenKind::kText) tags.push_back(html.substr(token.begin, token.end - token.begin));
    return tags;
}

// For each tag, the tags that enclose it; sorted, because siblings may change their order. One line if tags cross.
std::vector<std::string> nesting_of(const std::string &html) {
    std::vector<std::string> open, paths;
    for (const std::string &tag : tags_of(html)) {
        if (tag[1] == '/') {
            const bool matches = !open.empty() && serve::name_of(open.back()) == serve::name_of(tag);
            if (!matches) return {"crossing tags in " + html};
            open.pop_back();
        } else {
            paths.push_back(join(open) + tag);
            if (tag[1] != '!' && tag != "<img>" && tag != "<br>") open.push_back(tag);
        }
    }
    std::sort(paths.begin(), paths.end());
    return paths;
}

std::vector<std::string> sorted(std::vector<std::string> list) {
    std::sort(list.begin(), list.end());
    return list;
}

// With one space for each run between two tags.
std::string canonical(const std::string &html) {
    std::string result;
    for (const char c : html) {
        const bool space = c == ' ' || c == '\n';
        if (!space || result.empty() || result.back() != ' ') result += space ? ' ' : c;
    }
    return result;
}

constexpr int kCases = XF_TEST_SANITIZED ? 3000 : 30000;

}  // namespace

XF_TEST(identity_keeps_random_documents) {
    Random random{1};
    for (int i = 0; i < kCases; ++i) {
        const std::string html = random_html(&random, i % 3);
        const std::string result = fake::translate(*serve::parse_html(html), fake::identity);
        CHECK_EQ(canonical(result), canonical(html));
        CHECK_EQ(fake::texts_of(*serve::parse_html(result)), fake::texts_of(*serve::parse_html(html)));
    }
}

XF_TEST(random_translations_keep_tags) {
    Random random{2};
    for (int i = 0; i < kCases; ++i) {
        const std::string html = random_html(&random, i % 3);
        const auto document = serve::parse_html(html);
        const std::string result = fake::translate(*document, [&](const std::string &text) {
            if (text == "t u") return Translation{text, {}};
            return i % 4 == 0 ? permuted(text, &random) : random_translation(text, &random);
        });
        CHECK_EQ(join(sorted(tags_of(result))), join(sorted(tags_of(html))));
        if (i % 3 == kValid) CHECK(nesting_of(result).size() == nesting_of(html).size());
        if (i % 3 == kOneParagraph) CHECK_EQ(join(nesting_of(result)), join(nesting_of(html)));
    }
}

XF_TEST(large_documents_take_linear_time) {
    for (const char *const part : {"<",
                                   "<b>",
                                   "a<b>",
                                   "&",
                                   "<!--",
                                   "</b>",
                                   "a</b>",
                                   "<b>a</b>",
                                   "<b>a ",
                                   "<a b=\"",
                                   "<a b='><",
                                   "<title>",
                                   "<script>",
                                   "&#",
                                   "<code>a",
                                   "<p translate=no>",
                                   "a<code>b</code>",
                                   "{\\",
                                   "<![CDATA[",
                                   "</",
                                   "a\n",
                                   "- a\n",
                                   "a\t",
                                   "<b a",
                                   "<i>a<b>b</i>"}) {
        std::string source;
        while (source.size() < (XF_TEST_SANITIZED ? 1u << 17 : 1u << 20)) source += part;
        const std::string cue = "1\n00:00:01,000 --> 00:00:02,000\n" + source;
        for (const auto parse : {serve::parse_html, serve::parse_text, serve::parse_subtitles}) {
            const double begin = xf_test::processor_seconds();
            const auto document = parse(parse == serve::parse_subtitles ? cue : source);
            CHECK(!fake::translate(*document, fake::reversed).empty());
            const double seconds = xf_test::processor_seconds() - begin;
            if (std::getenv("XF_TEST_TIMES")) std::printf("%s %.3f\n", part, seconds);
            CHECK(seconds < 5);  // measured: 0.3 s; quadratic time takes minutes
        }
    }
}
