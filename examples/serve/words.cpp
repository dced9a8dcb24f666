// SPDX-License-Identifier: Apache-2.0
#include "words.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace serve {
namespace {

// Returns whether a word may contain the character that begins at `at`, and its size in bytes. Spaces and punctuation
// separate words; an apostrophe or a hyphen does not.
bool in_word(std::string_view text, std::size_t at, std::size_t *size) {
    const auto c = static_cast<unsigned char>(text[at]);
    *size = c < 0x80 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
    *size = std::min(*size, text.size() - at);
    if (c < 0x80)
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '\'' || c == '-' ||
               c == '_';
    if (c == 0xC2) return false;  // U+0080 to U+00BF
    if (c == 0xE2 && *size == 3) {
        const auto next = static_cast<unsigned char>(text[at + 1]), last = static_cast<unsigned char>(text[at + 2]);
        return next > 0x81 || (next == 0x80 && (last == 0x99 || last == 0x90 || last == 0x91));  // ’ ‐ ‑
    }
    return !(c == 0xE3 && *size == 3 && static_cast<unsigned char>(text[at + 1]) == 0x80);
}

// Words of a text, as byte ranges; each character of punctuation is one, too. Chinese and the like: each character.
std::vector<std::pair<std::size_t, std::size_t>> words_of(std::string_view text) {
    std::vector<std::pair<std::size_t, std::size_t>> words;
    bool open = false;
    for (std::size_t at = 0, size = 0; at < text.size(); at += size) {
        const bool word = in_word(text, at, &size);
        const auto c = static_cast<unsigned char>(text[at]);
        if (c <= ' ') {
            open = false;
            continue;
        }
        const bool ideograph = c >= 0xE3 && c <= 0xE9;  // U+3000 to U+9FFF
        if (word && open && !ideograph)
            words.back().second = at + size;
        else
            words.emplace_back(at, at + size);
        open = word && !ideograph;
    }
    return words;
}

// Index of the word that contains a byte, or of the first word after it.
std::size_t word_at(const std::vector<std::pair<std::size_t, std::size_t>> &words, std::size_t byte) {
    const auto found = std::upper_bound(words.begin(), words.end(), byte,
                                        [](std::size_t b, const auto &word) { return b < word.second; });
    return static_cast<std::size_t>(found - words.begin());
}

}  // namespace

std::vector<AlignedSpan> align_words(std::string_view source, const xf_sentence_info &sentence,
                                     const xf_hypothesis &hypothesis) {
    std::vector<AlignedSpan> aligned;
    const std::string_view target(hypothesis.text, hypothesis.text_length);
    const auto from = words_of(source), to = words_of(target);
    if (from.empty() || to.empty()) return aligned;
    std::vector<std::unordered_map<std::size_t, std::size_t>> votes(to.size());
    std::size_t begin = 0;
    for (std::size_t i = 0; i < hypothesis.id_count; ++i) {
        const std::size_t end = hypothesis.text_ends[i];
        const std::int32_t token = hypothesis.alignment[i];
        if (token >= 0 && end > begin && static_cast<std::size_t>(token) < sentence.source_token_count) {
            // The space before a word belongs to its token.
            const std::size_t last = sentence.source_ends[token];
            const std::size_t word = word_at(from, last > 0 ? last - 1 : 0);
            std::size_t size = 0;
            for (std::size_t at = begin; at < end; at += size) {
                in_word(target, at, &size);
                const std::size_t goal = word_at(to, at);
                if (goal < to.size() && at >= to[goal].first && word < from.size()) votes[goal][word] += size;
            }
        }
        begin = end;
    }
    for (std::size_t i = 0; i < to.size(); ++i) {
        std::size_t best = from.size(), most = 0;
        for (const auto &[word, bytes] : votes[i])
            if (bytes > most || (bytes == most && word < best)) best = word, most = bytes;
        if (most > 0) aligned.push_back({from[best].first, from[best].second, to[i].first, to[i].second});
    }
    return aligned;
}

}  // namespace serve
