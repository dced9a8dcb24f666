// Documents of examples/serve. The first byte selects the parser and the kind of translation, the second one seeds
// random choices, and the rest is the document. The document with translated texts has the same tags as before.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/utf8.h"
#include "document.h"
#include "fuzz.hpp"
#include "html_tokens.h"

namespace {

struct Random {
    uint32_t state;
    size_t below(size_t end) {
        state = state * 1664525u + 1013904223u;
        return end == 0 ? 0 : (state >> 8) % end;
    }
};

// The offset of the character that contains this byte.
size_t aligned(const std::string &text, size_t offset) {
    while (offset > 0 && offset < text.size() && (text[offset] & 0xC0) == 0x80) --offset;
    return offset;
}

serve::Translation identity(const std::string &text) {
    serve::Translation result{text, {}};
    for (size_t begin = 0; begin < text.size();) {
        const size_t end = std::min(text.find(' ', begin), text.size());
        if (begin < end) result.spans.push_back({begin, end, begin, end});
        begin = end + 1;
    }
    return result;
}

// Words of the source and others, with correct, wrong, and missing alignments.
serve::Translation random_translation(const std::string &text, Random *random) {
    static const char *const others[] = {"a", " ", "\xC3\xA4,", "\xE4\xB8\xAD", "<", "&lt;", "\n"};
    serve::Translation result;
    for (size_t n = random->below(16); n > 0; --n) {
        size_t a = aligned(text, random->below(text.size() + 1)), b = aligned(text, random->below(text.size() + 1));
        const size_t begin = result.text.size();
        if (random->below(2) == 0 && a < b)
            result.text += text.substr(a, b - a);
        else
            result.text += others[random->below(std::size(others))];
        if (random->below(4) == 0) std::swap(a, b);
        if (random->below(4) != 0) result.spans.push_back({a, b, begin, result.text.size() + random->below(2) * 9});
        if (random->below(2) == 0) result.text += ' ';
    }
    return result;
}

// Everything that is not text; sorted, because translations change the order.
std::vector<std::string> tags_of(std::string_view html) {
    std::vector<std::string> tags;
    size_t at = 0;
    for (const serve::Token &token : serve::tokenize_html(html)) {
        if (token.begin != at || token.end <= token.begin) fuzz::defect("tokens do not cover the source");
        at = token.end;
        if (token.kind != serve::TokenKind::kText) tags.emplace_back(html.substr(token.begin, token.end - token.begin));
    }
    if (at != html.size()) fuzz::defect("tokens do not cover the source");
    std::sort(tags.begin(), tags.end());
    return tags;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz::Choices choices(data, size);
    const size_t parser = choices.below(3), kind = choices.below(4);
    Random random{static_cast<uint32_t>(kind)};
    const std::string source = xf::replace_invalid_utf8(choices.rest());
    const auto parse = parser == 0 ? serve::parse_html : parser == 1 ? serve::parse_subtitles : serve::parse_text;
    const std::unique_ptr<serve::Document> document = parse(source);
    std::vector<serve::Translation> translations;
    for (const serve::SourceText &text : document->texts()) {
        if (text.text.empty() || xf::find_invalid_utf8(text.text) != std::string_view::npos)
            fuzz::defect("a text is empty or not UTF-8");
        translations.push_back(kind == 0 ? identity(text.text) : random_translation(text.text, &random));
        // Attributes are part of tags.
        if (kind != 0 && !text.needs_alignment && parser == 0) translations.back() = identity(text.text);
    }
    const std::string result = document->assemble(translations);
    if (xf::find_invalid_utf8(result) != std::string_view::npos) fuzz::defect("the result is not UTF-8");
    if (parser == 2 && kind == 0 && result != source) fuzz::defect("lines have changed");
    if (parser != 0) return 0;
    // The identity may change references in attributes.
    std::transform(document->texts().begin(), document->texts().end(), translations.begin(),
                   [](const serve::SourceText &text) { return identity(text.text); });
    const std::string same = document->assemble(translations);
    if (tags_of(result) != tags_of(same)) fuzz::defect("tags have changed");
    if (tags_of(same).size() != tags_of(source).size()) fuzz::defect("the number of tags has changed");
    const std::unique_ptr<serve::Document> again = parse(same);
    const auto equal = [](const serve::SourceText &a, const serve::SourceText &b) { return a.text == b.text; };
    if (!std::equal(document->texts().begin(), document->texts().end(), again->texts().begin(), again->texts().end(),
                    equal))
        fuzz::defect("the texts have changed");
    return 0;
}
