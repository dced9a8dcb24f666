// Classes of characters for the sentence splitter.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace xf {

enum class CharacterKind {
    kEnd,  // of the text
    kLine,
    kSpace,
    kLower,
    kUpper,
    kLetter,  // without case
    kNumber,
    kTerminator,
    kWideTerminator,  // ends a sentence also without white space after it
    kOpening,
    kClosing,
    kQuote,     // opening or closing
    kContinue,  // a comma, colon, or semicolon
    kMark,      // belongs to the character before it
    kOther
};

CharacterKind character_kind(uint32_t code_point);

// A character of a text.
struct TextCharacter {
    uint32_t code;
    CharacterKind kind;
    size_t next;  // the offset of the next character
};

// Returns the character at an offset of valid UTF-8; at the end of the text, its kind is kEnd.
TextCharacter character_at(std::string_view text, size_t offset);

inline bool is_letter(CharacterKind kind) {
    return kind == CharacterKind::kLower || kind == CharacterKind::kUpper || kind == CharacterKind::kLetter;
}
inline bool is_letter_or_number(CharacterKind kind) { return is_letter(kind) || kind == CharacterKind::kNumber; }
inline bool is_terminator(CharacterKind kind) {
    return kind == CharacterKind::kTerminator || kind == CharacterKind::kWideTerminator;
}
inline bool is_white_space(CharacterKind kind) { return kind == CharacterKind::kSpace || kind == CharacterKind::kLine; }
inline bool ends_line(CharacterKind kind) { return kind == CharacterKind::kLine || kind == CharacterKind::kEnd; }

// Returns whether a letter is two columns wide, as those of Han, kana, and Hangul.
bool is_wide(uint32_t code_point);
// Returns whether a quotation mark is one that only opens, or only closes, in most languages: Pi and Pf of Unicode.
bool is_initial_quote(uint32_t code_point);
bool is_final_quote(uint32_t code_point);

}  // namespace xf
