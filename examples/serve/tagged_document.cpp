// SPDX-License-Identifier: Apache-2.0
#include "tagged_document.h"

#include <algorithm>
#include <stdexcept>

#include "html_entities.h"

namespace serve {
namespace {

size_t characters(std::string_view text) {
    return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

size_t distance(size_t a, size_t b) { return a < b ? b - a : a - b; }

}  // namespace

TaggedDocument::TaggedDocument(std::string_view source, InlineStyle style) : source_(source), style_(style) {
    if (source.size() >= UINT32_MAX)
        throw std::length_error("the document has " + std::to_string(source.size()) +
                                " bytes; the maximum is 4294967294; send it in several parts");
}

void TaggedDocument::add_line(size_t begin, size_t end) {
    paragraphs_.push_back(
        {static_cast<uint32_t>(begin), static_cast<uint32_t>(end), 1, static_cast<uint32_t>(texts_.size()), false, {}});
    texts_.push_back({source_.substr(begin, end - begin), false});
}

void TaggedDocument::add_paragraph(std::span<const Token> tokens, bool wrapped) {
    std::string text;
    std::optional<Paragraph> paragraph = build_paragraph(source_, tokens, style_, &text);
    if (!paragraph) return;
    paragraph->text_index = static_cast<uint32_t>(texts_.size());
    const auto at = source_.begin();
    if (wrapped)
        paragraph->lines += static_cast<uint32_t>(std::count(at + paragraph->begin, at + paragraph->end, '\n'));
    texts_.push_back({std::move(text), !paragraph->marks.empty()});
    paragraphs_.push_back(std::move(*paragraph));
}

void TaggedDocument::add_attribute(size_t begin, size_t end, char quote) {
    while (begin < end && is_space(source_[begin])) ++begin;
    while (begin < end && is_space(source_[end - 1])) --end;
    std::string text;
    for (size_t i = begin; i < end;) {
        const Decoded c =
            source_[i] == '&' ? decode_reference(std::string_view(source_).substr(i, end - i), true) : Decoded();
        if (c.size > 0)
            append_utf8(c.value, &text);
        else if (!is_space(source_[i]))
            text += source_[i];
        else if (text.empty() || text.back() != ' ')
            text += ' ';
        i += std::max<size_t>(c.size, 1);
    }
    if (!has_letter(text)) return;
    values_.push_back({begin, end, texts_.size(), quote});
    texts_.push_back({std::move(text), false});
}

void TaggedDocument::copy(size_t begin, size_t end, std::span<const Translation> translations, std::string *out) const {
    auto value =
        std::lower_bound(values_.begin(), values_.end(), begin, [](const Value &a, size_t b) { return a.begin < b; });
    for (; value != values_.end() && value->begin < end; ++value) {
        out->append(source_, begin, value->begin - begin);
        append_escaped(translations[value->text_index].text, value->quote, out);
        begin = value->end;
    }
    out->append(source_, begin, end - begin);
}

std::string TaggedDocument::assemble(std::span<const Translation> translations) const {
    if (translations.size() != texts_.size())
        throw std::invalid_argument("assemble() received " + std::to_string(translations.size()) +
                                    " translations, expected " + std::to_string(texts_.size()) + ", one per text");
    std::string out;
    out.reserve(source_.size() + source_.size() / 4);
    const CopySource copy_source = [&](size_t begin, size_t end, std::string *to) {
        copy(begin, end, translations, to);
    };
    size_t at = 0;
    for (const Paragraph &paragraph : paragraphs_) {
        copy(at, paragraph.begin, translations, &out);
        at = paragraph.end;
        const std::string &source = texts_[paragraph.text_index].text;
        const Translation &translation = translations[paragraph.text_index];
        if (paragraph.lines == 1) {
            render_paragraph(paragraph, source, translation, style_, copy_source, &out);
            continue;
        }
        Translation wrapped = translation;
        wrap_lines(paragraph.lines, &wrapped.text);
        render_paragraph(paragraph, source, wrapped, style_, copy_source, &out);
    }
    copy(at, source_.size(), translations, &out);
    return out;
}

void wrap_lines(size_t lines, std::string *text) {
    size_t left = characters(*text), begin = 0;
    for (; lines > 1; --lines) {
        const size_t ideal = left / lines;
        size_t best = std::string::npos, best_length = 0, length = 0;
        for (size_t i = begin; i < text->size(); ++i) {
            if ((*text)[i] == ' ' && i > begin &&
                (best == std::string::npos || distance(length, ideal) < distance(best_length, ideal))) {
                best = i;
                best_length = length;
            }
            if (best != std::string::npos && length > ideal && distance(best_length, ideal) < length - ideal) break;
            length += ((*text)[i] & 0xC0) != 0x80;
        }
        if (best == std::string::npos) return;
        (*text)[best] = '\n';
        left -= best_length + 1;
        begin = best + 1;
    }
}

}  // namespace serve
