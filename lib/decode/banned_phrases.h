// "decode.banned_phrases": forbids the tokens that would complete a banned word or phrase.
//
// Hypotheses are compared as text, because the tokens of a vocabulary can spell most words in several ways. For
// example, if a phrase is "Open Office" and a hypothesis ends with "an Op", every token whose text begins with "en
// Office" is forbidden. Most phrases need several tokens; only tokens that complete a phrase are forbidden.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace xf {

// Immutable.
class BannedPhrases {
public:
    // lines: one phrase per line. Spaces at both ends of a line, and empty lines, are ignored.
    BannedPhrases(const Tokenizer &tokenizer, std::string_view lines);
    BannedPhrases(const BannedPhrases &) = delete;
    BannedPhrases &operator=(const BannedPhrases &) = delete;

    bool empty() const { return phrases_.empty(); }
    // Clears the bits of the tokens that must not follow a hypothesis.
    void forbid(std::span<const int32_t> hypothesis, std::span<uint32_t> allowed) const;

private:
    void add_phrases(std::string_view lines);
    void classify(int32_t id);
    std::string end_of(std::span<const int32_t> hypothesis) const;
    void forbid_tokens_with(std::string_view beginning, std::span<uint32_t> allowed) const;

    std::vector<std::string> texts_;  // of each token
    std::vector<int32_t> sorted_;     // the tokens by text
    std::vector<std::string> phrases_;
    std::array<std::vector<std::string_view>, 256> by_first_byte_;  // the phrases
    size_t longest_ = 0;                                            // size of the longest phrase in bytes
    // Bit sets of tokens that contain a phrase. always_: forbidden everywhere, because the phrase begins at a word
    // inside the token, or with punctuation. at_word_: begin with the phrase; forbidden only where a word can begin.
    std::vector<uint32_t> always_, at_word_;
};

}  // namespace xf
