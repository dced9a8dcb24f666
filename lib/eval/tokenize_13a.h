// The tokenization of mteval-v13a, as sacreBLEU 2 has it.
//
// BLEU depends on the tokenizer by several points, so a score can be compared only if this is the very same function.
// It is four regular expressions, written out as four passes over bytes. That bytes do is no accident: every character
// class is ASCII, and a byte of a longer character behaves as the character does (it is "no digit").
// The trap: a rule does not look again at what it has matched, so the rules can't be merged into one pass.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace xf {

// Tokens are separated by blanks: split_words() of characters.h gives them.
std::string tokenize_13a(std::string_view segment);

}  // namespace xf
