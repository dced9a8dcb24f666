// Decoding, stripping, and splitting; see characters.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "eval/characters.h"

#include "core/utf8.h"

namespace xf {

uint32_t next_character(std::string_view text, size_t *at) {
    const CodePoint code = decode_utf8(text, *at);
    const unsigned char byte = text[*at];
    *at += code.valid ? code.size : 1;
    return code.valid ? code.value : 0xDC00u | byte;
}

bool is_python_space(uint32_t code) {
    return (code >= 0x09 && code <= 0x0D) || (code >= 0x1C && code <= 0x20) || code == 0x85 || code == 0xA0 ||
           code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 || code == 0x202F ||
           code == 0x205F || code == 0x3000;
}

std::string_view strip_right(std::string_view text) {
    size_t kept = 0;
    for (size_t at = 0; at < text.size();)
        if (!is_python_space(next_character(text, &at))) kept = at;
    return text.substr(0, kept);
}

std::vector<std::string_view> split_words(std::string_view text) {
    std::vector<std::string_view> words;
    size_t begin = 0;
    for (size_t at = 0; at < text.size();) {
        const size_t here = at;
        if (!is_python_space(next_character(text, &at))) continue;
        if (here > begin) words.push_back(text.substr(begin, here - begin));
        begin = at;
    }
    if (text.size() > begin) words.push_back(text.substr(begin));
    return words;
}

}  // namespace xf
