// Strict UTF-8: one decoder for validation, normalization, splitting, and display.
//
// All code must report the same error at the same byte. Surrogates, overlong forms, and values above U+10FFFF are
// invalid. An invalid sequence has the length of its "maximal subpart" (Unicode 15, section 3.9, table 3-7), so
// replacement agrees with browsers, Python, and Java.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace xf {

struct CodePoint {
    uint32_t value;  // U+FFFD if invalid
    uint32_t size;   // in bytes: 1 to 4, or 1 to 3 if invalid
    bool valid;
};

// The code point at text[offset]; offset must be below text.size().
CodePoint decode_utf8(std::string_view text, size_t offset);

// The offset of the first invalid byte sequence, or std::string_view::npos.
size_t find_invalid_utf8(std::string_view text);

// Appends the UTF-8 form of a scalar value (below 0x110000, not a surrogate).
void append_utf8(uint32_t code_point, std::string *text);

// The text with each maximal invalid subpart replaced by U+FFFD.
std::string replace_invalid_utf8(std::string_view text);

}  // namespace xf
