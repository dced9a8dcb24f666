// The tokens of HTML: tags, comments, and the text between them. Their concatenation is the source.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace serve {

enum class TokenKind : uint8_t {
    kText,
    kOpen,   // a start tag
    kClose,  // an end tag
    kPoint,  // the tag of an element without content, a comment, or another piece without words
    kPiece,  // an inline element that is not translated
    kBreak,  // separates paragraphs
};

// Byte offsets in the source. 12 bytes, because documents may consist of tags.
struct Token {
    uint32_t begin, end;
    TokenKind kind;
};

// Properties of an element, by its name. Unknown elements are inline elements.
enum ElementFlags : unsigned {
    kBlock = 1,   // separates paragraphs
    kVoid = 2,    // has no end tag
    kRaw = 4,     // contains text up to its end tag, not tags
    kOpaque = 8,  // is not translated
    kHidden = 16  // has no words, so that its content is not passed to the translation
};
unsigned element_flags(std::string_view name);

// Returns the name in a tag, such as "a" for "</a>", in the spelling of the source, without classes as in the
// tag <c.yellow> of WebVTT.
std::string_view name_of(std::string_view tag);

struct Attribute {
    std::string_view name, value;
    char quote;  // 0: without quotes, or the closing quote is missing
};

// Iterates over the attributes of a tag.
class Attributes {
public:
    explicit Attributes(std::string_view tag);
    bool next(Attribute *attribute);

private:
    std::string_view tag_;
    size_t at_;
};

bool equals_ignoring_case(std::string_view text, std::string_view lower_case);

constexpr uint32_t kNoPartner = UINT32_MAX;

// For each token, the index of the other tag of its pair, or kNoPartner. The partner of an end tag is the last start
// tag of the same name that has no partner yet, so pairs may cross.
std::vector<uint32_t> match_tags(std::string_view source, std::span<const Token> tokens);

// Returns the tokens kText, kOpen, kClose, and kPoint of a document. `<` without a tag is text, as is a tag without
// `>`. A comment, or a quote in a tag, that is not closed extends to the end of the document, as in browsers.
std::vector<Token> tokenize_html(std::string_view source);

}  // namespace serve
