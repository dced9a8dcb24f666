// Characters and white space as defined by Python, in which the reference implementation of the scores is written.
//
// str.split() and str.rstrip() treat 29 characters as white space, including U+00A0 and U+3000 but not U+200B.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace xf {

// Reads the character at *at and advances *at to the next one. Requires *at < text.size(). A byte that is not part of a
// valid character becomes U+DC80..U+DCFF, as with Python's "surrogateescape", so different texts remain different.
uint32_t next_character(std::string_view text, size_t *at);

// str.isspace() for one character.
bool is_python_space(uint32_t code);

// str.rstrip().
std::string_view strip_right(std::string_view text);

// str.split(): the words between white space, as views into `text`.
std::vector<std::string_view> split_words(std::string_view text);

}  // namespace xf
