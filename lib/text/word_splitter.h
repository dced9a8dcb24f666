// Cuts text into the words inside which BPE may merge. Nothing is lost: the words, joined, are the text.
//
//     one space before a word belongs to the word           "the cat" = "the" + " cat"
//     other white space is a word of its own                "a  \n b" = "a" + "  \n" + " b"
//     letters, marks, apostrophes between letters           "don't", "l'homme", "naïve"
//     one digit: numbers are copied, not learnt             "1997" = "1" + "9" + "9" + "7"
//     a run of anything else                                "?!", "->", control characters, invalid bytes
//
// A word ends after kMaxWordBytes whatever follows, so that the memory and time for one word are bounded: a text of
// ten million letters without a space costs no more than a book. The character classes are utf8proc's; characters
// that Unicode assigns later are "anything else" until then.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace xf {

class WordSplitter {
public:
    // A word is cut at the first character boundary at or after this size; it has at most 8 bytes more.
    static constexpr size_t kMaxWordBytes = 1024;

    // The text must live longer than the splitter and its words.
    explicit WordSplitter(std::string_view text) : text_(text) {}

    // The next word, never empty; false at the end.
    bool next(std::string_view *word);

private:
    size_t blanks_end(size_t start, size_t *last) const;
    size_t word_end(size_t start) const;

    std::string_view text_;
    size_t position_ = 0;
};

}  // namespace xf
