// Documents of the translation server: the texts of a document that are translated, and the document with their
// translations. All formats have this interface. It does not depend on libxformer.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace serve {

// Byte ranges of a translated token and of the source token to which it is aligned.
struct AlignedSpan {
    size_t source_begin, source_end, target_begin, target_end;
};

struct Translation {
    std::string text;
    std::vector<AlignedSpan> spans;  // in the order of target_begin; empty: no alignment was requested
};

// One paragraph: the caller splits it into sentences and translates it.
struct SourceText {
    std::string text;
    bool needs_alignment;
};

// A parsed document. Input is valid UTF-8 and has at most 4 GiB; it need not be a valid document. Parsing and
// assembling take linear time and do not use recursion.
//
// Threads: several threads may use the same document at once.
class Document {
public:
    virtual ~Document() = default;

    // Returns the texts in document order.
    const std::vector<SourceText> &texts() const { return texts_; }

    // Returns the document with one translation per text. Everything else has the same bytes as in the source, except
    // character references and white space inside a translated text. Ranges of `translations` outside of their text are
    // ignored. Throws std::invalid_argument if the number of translations is not that of texts().
    virtual std::string assemble(std::span<const Translation> translations) const = 0;

protected:
    std::vector<SourceText> texts_;
};

// Each returns a document that contains a copy of the source, and throws std::length_error if the source is longer than
// 4 GiB.

// Plain text. Each line that has other characters than white space is one text. Line ends, blank lines, and white space
// at the beginning and end of a line are kept.
std::unique_ptr<Document> parse_text(std::string_view source);

// A fragment or a page of HTML. docs/adr/0010-server.md describes what is translated and where tags are placed.
std::unique_ptr<Document> parse_html(std::string_view source);

// Subtitles: SubRip, or WebVTT if the source begins with "WEBVTT". The lines of a cue are one text, except that each
// speaker of a dialog ("- Yes.") is one. The translation has as many lines, if it has as many words.
std::unique_ptr<Document> parse_subtitles(std::string_view source);

}  // namespace serve
