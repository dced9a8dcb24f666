// parse_html() and parse_text().
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "html_entities.h"
#include "tagged_document.h"

namespace serve {
namespace {

// Converts tokens to paragraphs: block elements become kBreak, and elements that are not translated become one token.
class HtmlParser {
public:
    explicit HtmlParser(TaggedDocument *document)
        : document_(*document),
          source_(document->source()),
          tokens_(tokenize_html(source_)),
          partners_(match_tags(source_, tokens_)) {}

    void run() {
        for (size_t i = 0; i < tokens_.size(); ++i) {
            Token token = tokens_[i];
            const std::string_view tag = source_.substr(token.begin, token.end - token.begin);
            const bool is_tag =
                token.kind != TokenKind::kText && (token.kind != TokenKind::kPoint || is_start_tag(tag));
            const unsigned flags = is_tag ? element_flags(name_of(tag)) : 0;
            if (token.kind == TokenKind::kOpen && is_opaque(tag, flags)) {
                const size_t last = end_of_opaque(i, flags);
                if (last > i) {
                    token.kind = (flags & kHidden) != 0 ? TokenKind::kPoint : TokenKind::kPiece;
                    token.end = tokens_[last].end;
                    i = last;
                }
            } else if (is_tag && token.kind != TokenKind::kClose) {
                add_attributes(token.begin, tag);
            }
            if ((flags & kBlock) != 0)
                flush();
            else
                paragraph_.push_back(token);
        }
        flush();
    }

private:
    static bool is_start_tag(std::string_view bytes) {
        return bytes.size() > 2 && bytes[0] == '<' && is_ascii_letter(bytes[1]) && bytes.back() == '>';
    }

    static bool is_opaque(std::string_view tag, unsigned flags) {
        if ((flags & kOpaque) != 0) return true;
        Attribute attribute;
        for (Attributes attributes(tag); attributes.next(&attribute);) {
            if (equals_ignoring_case(attribute.name, "translate") && equals_ignoring_case(attribute.value, "no"))
                return true;
            if (equals_ignoring_case(attribute.name, "class") && has_word(attribute.value, "notranslate")) return true;
        }
        return false;
    }

    static bool has_word(std::string_view text, std::string_view word) {
        for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
            const size_t end = at + word.size();
            if ((at == 0 || is_space(text[at - 1])) && (end == text.size() || is_space(text[end]))) return true;
        }
        return false;
    }

    // The index of the last token of an element. A block element without an end tag extends to the next block element;
    // an inline element without an end tag has no content.
    size_t end_of_opaque(size_t open, unsigned flags) const {
        if (partners_[open] != kNoPartner) return partners_[open];
        if ((flags & kBlock) == 0) return open;
        size_t last = open;
        while (last + 1 < tokens_.size()) {
            const Token &next = tokens_[last + 1];
            if (next.kind != TokenKind::kText &&
                (element_flags(name_of(source_.substr(next.begin, next.end - next.begin))) & kBlock) != 0)
                break;
            ++last;
        }
        return last;
    }

    void add_attributes(size_t begin, std::string_view tag) {
        Attribute attribute;
        for (Attributes attributes(tag); attributes.next(&attribute);) {
            if (attribute.quote == 0) continue;
            for (const char *const name : {"alt", "title", "placeholder", "aria-label"}) {
                if (!equals_ignoring_case(attribute.name, name)) continue;
                const size_t at = begin + static_cast<size_t>(attribute.value.data() - tag.data());
                document_.add_attribute(at, at + attribute.value.size(), attribute.quote);
            }
        }
    }

    void flush() {
        document_.add_paragraph(paragraph_, false);
        paragraph_.clear();
    }

    TaggedDocument &document_;
    std::string_view source_;
    std::vector<Token> tokens_;
    std::vector<uint32_t> partners_;
    std::vector<Token> paragraph_;
};

}  // namespace

std::unique_ptr<Document> parse_html(std::string_view source) {
    auto document = std::make_unique<TaggedDocument>(source, InlineStyle());
    HtmlParser(document.get()).run();
    return document;
}

std::unique_ptr<Document> parse_text(std::string_view source) {
    auto document = std::make_unique<TaggedDocument>(source, InlineStyle{.references = false});
    for (size_t line = 0; line < source.size();) {
        const size_t next = std::min(source.find('\n', line), source.size() - 1) + 1;
        size_t begin = line, end = next;
        while (begin < end && is_space(source[begin])) ++begin;
        while (begin < end && is_space(source[end - 1])) --end;
        if (begin < end) document->add_line(begin, end);
        line = next;
    }
    return document;
}

}  // namespace serve
