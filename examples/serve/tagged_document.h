// A document of paragraphs with tags. Bytes outside of paragraphs and translated attributes are copied.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "document.h"
#include "inline_text.h"

namespace serve {

class TaggedDocument final : public Document {
public:
    TaggedDocument(std::string_view source, InlineStyle style);

    std::string assemble(std::span<const Translation> translations) const override;

    // The copy of the source. All ranges are byte offsets in it and are added in ascending order.
    std::string_view source() const { return source_; }

    // Adds a text without markup. Its bytes are the text.
    void add_line(size_t begin, size_t end);
    // Adds the words in consecutive tokens. `wrapped`: the translation has as many lines as the source.
    void add_paragraph(std::span<const Token> tokens, bool wrapped);
    // Adds the value of an attribute in quotes.
    void add_attribute(size_t begin, size_t end, char quote);

private:
    struct Value {
        size_t begin, end, text_index;
        char quote;
    };

    void copy(size_t begin, size_t end, std::span<const Translation> translations, std::string *out) const;

    std::string source_;
    InlineStyle style_;
    std::vector<Paragraph> paragraphs_;
    std::vector<Value> values_;
};

// Replaces spaces so that the text has this number of lines of similar length, or one line per word.
void wrap_lines(size_t lines, std::string *text);

}  // namespace serve
