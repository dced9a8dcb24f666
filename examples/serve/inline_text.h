// One paragraph with inline tags: its text without tags, and the translated text with the same tags.
//
// Pairs of tags form a tree. A pair that enclosed source words encloses the target words that are aligned to them. If
// these are not contiguous, it encloses the range with the largest number of them minus the number of other words.
// Other tags are points: they precede the target word that is aligned to the word that followed them. Every tag occurs
// once, and within the same pair as in the source. Start tags and end tags whose partner is in another paragraph keep
// their order.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "document.h"
#include "html_tokens.h"

namespace serve {

// A tag, or a pair of tags, with byte offsets in the source and in the text of the paragraph.
struct Mark {
    enum Kind : uint8_t {
        kPair,
        kPiece,  // its words are part of the text, but the output contains the source in their place
        kPoint,
        kOpen,   // a start tag without its end tag
        kClose,  // an end tag without its start tag
    };
    uint32_t begin, end;              // the (start) tag
    uint32_t close_begin, close_end;  // kPair: the end tag
    uint32_t text_begin, text_end;
    uint32_t scope;  // 1 + the index of the pair that encloses it; 0: none
    Kind kind;
    bool after, close_after;  // whether the (end) tag follows the white space at its position
    bool space, close_space;  // whether another white space follows the (end) tag
};

struct InlineStyle {
    bool references = true;  // whether the text has character references
    std::string_view line_end = "\n";
};

struct Paragraph {
    uint32_t begin, end;  // in the source
    uint32_t lines;       // of the source
    uint32_t text_index;  // in Document::texts()
    bool final_space;     // within the last pair of tags; not part of the text
    std::vector<Mark> marks;
};

// Builds a paragraph from consecutive tokens (all kinds except kBreak). White space and tags around the words are not
// part of it. Tags are not pairs if they cross other pairs, and no tags are if they are nested too deeply. Returns
// nothing if there are no letters.
std::optional<Paragraph> build_paragraph(std::string_view source, std::span<const Token> tokens,
                                         const InlineStyle &style, std::string *text);

// Appends the bytes [begin, end) of the source, with translated attributes.
using CopySource = std::function<void(size_t begin, size_t end, std::string *out)>;

// Appends the translation of a paragraph. `source_text` is the text that build_paragraph() returned.
void render_paragraph(const Paragraph &paragraph, std::string_view source_text, const Translation &translation,
                      const InlineStyle &style, const CopySource &copy, std::string *out);

// Appends text without tags.
void append_text(std::string_view text, const InlineStyle &style, std::string *out);

}  // namespace serve
