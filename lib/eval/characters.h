// Characters and blanks as Python has them, because the reference implementation of the scores is in Python.
//
// The trap: str.split() and str.rstrip() know 29 blanks, U+00A0 and U+3000 among them, but not U+200B.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace xf {

// Reads the character at *at, which must be below text.size(), and moves *at behind it. A byte that belongs to no valid
// character is U+DC80..U+DCFF, as in Python's "surrogateescape": no two different texts become equal.
uint32_t next_character(std::string_view text, size_t *at);

// str.isspace() of one character.
bool is_python_space(uint32_t code);

// str.rstrip().
std::string_view strip_right(std::string_view text);

// str.split(): the words between blanks. The views are into `text`.
std::vector<std::string_view> split_words(std::string_view text);

}  // namespace xf
