// The tokenization of mteval-v13a, as implemented by sacreBLEU 2.
//
// BLEU differs by several points between tokenizers, so scores are comparable only with exactly this function. It
// consists of four regular expressions, implemented as four passes over bytes. Bytes suffice because every character
// class is ASCII and a byte of a multibyte character behaves like the character (it is "not a digit"). The rules cannot
// be combined into one pass because a rule does not process its own matches again.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace xf {

// Returns the tokens separated by white space; use split_words() (characters.h) to get a list.
std::string tokenize_13a(std::string_view segment);

}  // namespace xf
