// SPDX-License-Identifier: Apache-2.0
#include "text/token_ends.h"

#include <utf8proc.h>

#include <algorithm>
#include <string>

#include "core/utf8.h"

namespace xf {
namespace {

// The search for the end of a difference skips at most this many characters of the tokens.
constexpr size_t kMaxSkippedOfTokens = 8;

// The stages of this search: how many characters must be equal after the difference, and how many characters of the
// text the difference has at most. The text of an unknown token is short, but the original may be long.
constexpr struct { size_t equal, skipped; } kStages[] = {{2, 8}, {1, 8}, {2, 256}, {1, 256}};

// A decomposed character, and the character to which it belongs.
struct Key {
    int32_t value;
    size_t begin, end;
};

std::vector<Key> keys_of(std::string_view text) {
    std::vector<Key> keys;
    keys.reserve(text.size());
    const auto options =
        static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT | UTF8PROC_CASEFOLD);
    int boundary_class = 0;
    for (size_t i = 0; i < text.size();) {
        const CodePoint c = decode_utf8(text, i);
        utf8proc_int32_t buffer[32];
        utf8proc_ssize_t count = utf8proc_decompose_char(c.value, buffer, 32, options, &boundary_class);
        // Tokenizers replace other white space by spaces. U+2581 is the space of SentencePiece.
        const auto category = utf8proc_category(c.value);
        if (c.value <= ' ' || c.value == 0x2581 || category == UTF8PROC_CATEGORY_ZS || count > 32) {
            buffer[0] = ' ';
            count = 1;
        }
        for (utf8proc_ssize_t k = 0; k < count; ++k) keys.push_back({buffer[k], i, i + c.size});
        i += c.size;
    }
    return keys;
}

// Skips the difference that begins at tokens[*i] and text[*j].
void skip_difference(const std::vector<Key> &tokens, const std::vector<Key> &text, size_t *i, size_t *j) {
    const bool token_space = tokens[*i].value == ' ', text_space = text[*j].value == ' ';
    if (token_space != text_space) {
        ++*(token_space ? i : j);
        return;
    }
    for (const auto &[equal, most] : kStages) {
        for (size_t skipped = 1; skipped <= kMaxSkippedOfTokens + most; ++skipped) {
            const size_t first = skipped > most ? skipped - most : 0;
            for (size_t of_tokens = first; of_tokens <= std::min(skipped, kMaxSkippedOfTokens); ++of_tokens) {
                const size_t a = *i + of_tokens, b = *j + skipped - of_tokens;
                if (a + equal > tokens.size() || b + equal > text.size()) continue;
                if (tokens[a].value != text[b].value) continue;
                if (equal == 2 && tokens[a + 1].value != text[b + 1].value) continue;
                *i = a;
                *j = b;
                return;
            }
        }
    }
    ++*i;
    ++*j;
}

}  // namespace

std::vector<size_t> token_ends(const Tokenizer &tokenizer, std::span<const int32_t> ids, std::string_view text) {
    std::string spelled;
    std::vector<size_t> ends;  // in `spelled`, and then in the text
    ends.reserve(ids.size());
    for (const int32_t id : ids) {
        spelled += tokenizer.token_text(id);
        ends.push_back(spelled.size());
    }
    const std::vector<Key> from = keys_of(spelled), to = keys_of(text);
    size_t token = 0, j = 0;
    for (size_t i = 0; i < from.size();) {
        // These tokens end before the next character is complete.
        for (; token < ends.size() && ends[token] < from[i].end; ++token)
            ends[token] = j < to.size() ? to[j].begin : text.size();
        if (j == to.size()) break;
        if (from[i].value == to[j].value)
            ++i, ++j;
        else
            skip_difference(from, to, &i, &j);
    }
    std::fill(ends.begin() + token, ends.end(), text.size());
    return ends;
}

}  // namespace xf
