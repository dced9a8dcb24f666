// Strict UTF-8: one decoder for validation, normalisation, splitting and display.
//
// The library's own, because each user must see the same error at the same byte: surrogates, overlong forms and
// values above U+10FFFF are invalid, and an invalid sequence has the length of its "maximal subpart" (Unicode 15,
// section 3.9, table 3-7), so that replacement agrees with what browsers, Python and Java do.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace xf {

struct CodePoint {
    uint32_t value;  // U+FFFD when not valid
    uint32_t size;   // bytes taken: 1 to 4, 1 to 3 when not valid
    bool valid;
};

// The code point at text[offset]; offset must be below text.size().
CodePoint decode_utf8(std::string_view text, size_t offset);

// The offset of the first invalid byte sequence, or std::string_view::npos.
size_t find_invalid_utf8(std::string_view text);

// Appends the UTF-8 of a scalar value (below 0x110000, no surrogate).
void append_utf8(uint32_t code_point, std::string *text);

// The text with each maximal invalid subpart replaced by U+FFFD.
std::string replace_invalid_utf8(std::string_view text);

}  // namespace xf
