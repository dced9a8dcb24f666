// Splits text into words; pieces never cross word boundaries. The concatenated words are the text.
//
//     one space before a word belongs to the word           "the cat" = "the" + " cat"
//     other white space is a separate word                  "a  \n b" = "a" + "  \n" + " b"
//     letters, marks, apostrophes between letters           "don't", "l'homme", "naïve"
//     one digit: numbers are copied, not learned            "1997" = "1" + "9" + "9" + "7"
//     a run of other characters                             "?!", "->", control characters, invalid bytes
//
// A word ends after kMaxWordBytes in any case, which bounds the memory and time per word even for a text of ten million
// letters without a space. The character classes are those of utf8proc; characters that its Unicode version does not
// define are "other characters".
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace xf {

class WordSplitter {
public:
    // A word is split at the first character boundary at or after this size, so it has at most 8 more bytes.
    static constexpr size_t kMaxWordBytes = 1024;

    // The text must outlive the splitter and its words.
    explicit WordSplitter(std::string_view text) : text_(text) {}

    // Sets *word to the next word, which is not empty; returns false at the end.
    bool next(std::string_view *word);

private:
    size_t blanks_end(size_t start, size_t *last) const;
    size_t word_end(size_t start) const;

    std::string_view text_;
    size_t position_ = 0;
};

}  // namespace xf
