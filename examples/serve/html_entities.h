// Character references of HTML, and properties of characters that the placement of tags needs.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace serve {

// A decoded character and the size of its source in bytes; size 0: none.
struct Decoded {
    char32_t value = 0;
    size_t size = 0;
};

// Decodes the reference at the beginning of `text`, which begins with '&'. Knows the named references of HTML 4,
// "apos", and numbers of characters that are not control characters. As in browsers, the names of Latin-1 characters
// need no semicolon, but those in attributes do if a letter, a digit, or '=' follows.
Decoded decode_reference(std::string_view text, bool in_attribute);

// Appends `text`, with references for <, >, no-break spaces, `quote` (0: none), and each & that would otherwise begin a
// known reference or does not look like one. Unknown references therefore keep their bytes.
void append_escaped(std::string_view text, char quote, std::string *out);

// Decodes the character at the beginning of `text`, which is not empty. Invalid bytes are one character each.
Decoded decode_utf8(std::string_view text);
void append_utf8(char32_t value, std::string *out);

inline bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r' && c != '\v'); }
inline bool is_ascii_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

// Returns whether the character is a letter. Outside of ASCII, everything is, except punctuation, symbols, and emoji.
bool is_letter(char32_t c);
bool has_letter(std::string_view text);

// Returns whether a tag may be placed at this offset without splitting a word. Characters of scripts that do not
// separate words with spaces are words.
bool is_word_boundary(std::string_view text, size_t offset);

}  // namespace serve
