// The tokenization of mteval-v13a, as implemented by sacreBLEU 2.
//
// BLEU differs by several points between tokenizers, so scores are comparable only with exactly this function. It
// consists of four regular expressions, implemented as four passes over bytes. Bytes suffice because every character
// class is ASCII and a byte of a multibyte character behaves like the character (it is "not a digit"). The rules cannot
// be combined into one pass because a rule does not process its own matches again.
//
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "eval/bleu.h"
#include "eval/characters.h"

namespace xf {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_period_or_comma(char c) { return c == '.' || c == ','; }

// [\{-\~\[-\` -\&\(-\+\:-\@\/]: ASCII punctuation except ' , - . and including the space.
bool is_separated(char c) {
    return (c >= '{' && c <= '~') || (c >= '[' && c <= '`') || (c >= ' ' && c <= '&') || (c >= '(' && c <= '+') ||
           (c >= ':' && c <= '@') || c == '/';
}

void replace_all(std::string *text, std::string_view from, std::string_view to) {
    size_t at = text->find(from);
    if (at == std::string::npos) return;
    std::string out;
    size_t copied = 0;
    for (; at != std::string::npos; at = text->find(from, copied)) {
        out.append(*text, copied, at - copied).append(to);
        copied = at + from.size();
    }
    out.append(*text, copied);
    *text = std::move(out);
}

// s/CLASS/ \1 /
std::string separate_punctuation(std::string_view text) {
    std::string out;
    out.reserve(text.size() * 2);
    for (char c : text) {
        if (is_separated(c))
            out.append(1, ' ').append(1, c).append(1, ' ');
        else
            out += c;
    }
    return out;
}

// s/FIRST SECOND/BEFORE \1 BETWEEN \2 AFTER/ for classes of one character. Matches do not overlap.
template <class First, class Second>
std::string separate_pairs(std::string_view text, First first, Second second, std::string_view before,
                           std::string_view between, std::string_view after) {
    std::string out;
    out.reserve(text.size() * 2);
    for (size_t at = 0; at < text.size(); ++at) {
        if (at + 1 < text.size() && first(text[at]) && second(text[at + 1])) {
            out.append(before).append(1, text[at]).append(between).append(1, text[at + 1]).append(after);
            ++at;
        } else {
            out += text[at];
        }
    }
    return out;
}

}  // namespace

std::string tokenize_13a(std::string_view segment) {
    const auto no_digit = [](char c) { return !is_digit(c); };
    const auto is_dash = [](char c) { return c == '-'; };

    std::string text(strip_right(segment));
    replace_all(&text, "<skipped>", "");
    replace_all(&text, "-\n", "");
    replace_all(&text, "\n", " ");
    replace_all(&text, "&quot;", "\"");
    replace_all(&text, "&amp;", "&");
    replace_all(&text, "&lt;", "<");
    replace_all(&text, "&gt;", ">");
    text = separate_punctuation(" " + text + " ");
    text = separate_pairs(text, no_digit, is_period_or_comma, "", " ", " ");
    text = separate_pairs(text, is_period_or_comma, no_digit, " ", " ", "");
    return separate_pairs(text, is_digit, is_dash, "", " ", " ");
}

}  // namespace xf
