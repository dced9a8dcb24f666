// Abbreviations, and words that begin sentences, of each language for the sentence splitter.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace xf {

enum class Abbreviation {
    kNone,          // not an abbreviation
    kAlways,        // never ends a sentence: "Dr."
    kBeforeNumber,  // does not end a sentence before a number: "No. 5"
    kUsually        // ends a sentence only before a word that often begins sentences: "etc. The"
};

// The words of a language, or of all languages, or of none.
class SentenceWords {
public:
    explicit SentenceWords(const char *language);
    // word: without its last period and without spaces
    Abbreviation abbreviation(std::string_view word) const;
    bool starts_sentence(std::string_view word) const;
    bool is_german() const;  // "3." and "III." are ordinal numbers, and nouns begin with a capital letter
    bool is_greek() const { return greek_; }  // ";" ends a question

private:
    size_t first_, last_;  // the range of languages in the table
    bool greek_ = false;
};

}  // namespace xf
