// SPDX-License-Identifier: Apache-2.0
#include "decode/banned_phrases.h"

#include <algorithm>
#include <numeric>

namespace xf {
namespace {

unsigned char byte_at(std::string_view text, size_t at) { return static_cast<unsigned char>(text[at]); }

// Returns whether the character that begins with this byte belongs to a word: an ASCII letter or digit, or a character
// from U+00C0 to U+1FFF. Most languages with characters beyond U+2000 do not separate words.
bool is_word_byte(unsigned char lead) {
    const bool letter = (lead | 0x20) >= 'a' && (lead | 0x20) <= 'z', digit = lead >= '0' && lead <= '9';
    return lead < 0x80 ? letter || digit : lead >= 0xC3 && lead <= 0xE1;
}

// Returns whether a text ends where a word can begin.
bool ends_before_word(std::string_view text) {
    size_t length = text.size();
    while (length > 0 && (byte_at(text, length - 1) & 0xC0) == 0x80) --length;
    return length == 0 || !is_word_byte(byte_at(text, length - 1));
}

// Returns whether a phrase can begin after this text: at the beginning of a word, or anywhere if it is punctuation.
bool can_begin(std::string_view phrase, std::string_view text) {
    return !is_word_byte(byte_at(phrase, 0)) || ends_before_word(text);
}

void add(std::vector<uint32_t> *set, int32_t id) { (*set)[id / 32] |= 1u << id % 32; }

void remove(std::span<uint32_t> from, const std::vector<uint32_t> &set) {
    for (size_t w = 0; w < set.size(); ++w) from[w] &= ~set[w];
}

}  // namespace

BannedPhrases::BannedPhrases(const Tokenizer &tokenizer, std::string_view lines) {
    add_phrases(lines);
    if (empty()) return;
    const int32_t V = tokenizer.size();
    sorted_.resize(V);
    std::iota(sorted_.begin(), sorted_.end(), 0);
    for (const int32_t id : sorted_) texts_.push_back(tokenizer.token_text(id));
    std::sort(sorted_.begin(), sorted_.end(), [&](int32_t a, int32_t b) { return texts_[a] < texts_[b]; });
    always_.resize((V + 31) / 32);
    at_word_.resize(always_.size());
    for (int32_t id = 0; id < V; ++id) classify(id);
}

void BannedPhrases::add_phrases(std::string_view lines) {
    for (size_t begin = 0; begin < lines.size();) {
        const size_t end = std::min(lines.find('\n', begin), lines.size());
        std::string_view line = lines.substr(begin, end - begin);
        while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.remove_suffix(1);
        while (!line.empty() && line.front() == ' ') line.remove_prefix(1);
        if (!line.empty()) phrases_.emplace_back(line);
        longest_ = std::max(longest_, line.size());
        begin = end + 1;
    }
    for (const std::string &phrase : phrases_) by_first_byte_[byte_at(phrase, 0)].push_back(phrase);
}

// Adds a token to the sets to which it belongs.
void BannedPhrases::classify(int32_t id) {
    const std::string_view text = texts_[id];
    for (size_t at = 0; at < text.size(); ++at)
        for (const std::string_view phrase : by_first_byte_[byte_at(text, at)])
            if (text.substr(at).starts_with(phrase) && can_begin(phrase, text.substr(0, at)))
                add(at == 0 && is_word_byte(byte_at(phrase, 0)) ? &at_word_ : &always_, id);
}

// Returns the end of the text of a hypothesis: all bytes that can belong to the beginning of a phrase, and the
// character before them.
std::string BannedPhrases::end_of(std::span<const int32_t> hypothesis) const {
    size_t first = hypothesis.size();
    for (size_t bytes = 0; first > 0 && bytes < longest_ + 4;) bytes += texts_[hypothesis[--first]].size();
    std::string text;
    for (const int32_t id : hypothesis.subspan(first)) text += texts_[id];
    return text;
}

void BannedPhrases::forbid_tokens_with(std::string_view beginning, std::span<uint32_t> allowed) const {
    auto at = std::lower_bound(sorted_.begin(), sorted_.end(), beginning,
                               [&](int32_t id, std::string_view text) { return texts_[id] < text; });
    for (; at != sorted_.end() && texts_[*at].starts_with(beginning); ++at) allowed[*at / 32] &= ~(1u << *at % 32);
}

void BannedPhrases::forbid(std::span<const int32_t> hypothesis, std::span<uint32_t> allowed) const {
    const std::string end = end_of(hypothesis);
    const std::string_view text = end;
    remove(allowed, always_);
    if (ends_before_word(text)) remove(allowed, at_word_);
    for (size_t at = text.size() - std::min(text.size(), longest_ - 1); at < text.size(); ++at) {
        const std::string_view begun = text.substr(at);
        for (const std::string_view phrase : by_first_byte_[byte_at(text, at)])
            if (phrase.size() > begun.size() && phrase.starts_with(begun) && can_begin(phrase, text.substr(0, at)))
                forbid_tokens_with(phrase.substr(begun.size()), allowed);
    }
}

}  // namespace xf
