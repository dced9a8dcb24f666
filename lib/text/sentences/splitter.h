// Sentence boundaries in UTF-8 text.
//
// The rules are those of UAX #29, section 5, with these changes. Abbreviations, initials, ordinals, and list markers do
// not end a sentence; words.h has the words of each language. A terminator of the Latin, Greek, Cyrillic, or
// Arabic script ends a sentence only before white space, and no terminator does so before a lower-case letter. A
// sentence never contains a line end, because a translation must keep the lines of its source.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace xf {

struct TextSpan {
    size_t begin, end;  // in bytes
};

// Returns the sentences without the white space around them; only white space lies between them. language: an ISO 639-1
// code, which a subtag may follow ("pt-BR"); nullptr or "": the words of all languages. Sentences of more than
// max_characters code points are divided, unless it is 0. The time is linear. Throws for invalid UTF-8.
std::vector<TextSpan> split_sentences(std::string_view text, const char *language, size_t max_characters);

}  // namespace xf
