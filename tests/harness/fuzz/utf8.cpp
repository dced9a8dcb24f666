// Any bytes through the UTF-8 decoder, beside glibc's iconv: the same verdict, the same place, the same characters.
//
// SPDX-License-Identifier: Apache-2.0
#include <iconv.h>

#include <cerrno>
#include <cstring>

#include "core/utf8.h"
#include "fuzz.hpp"

namespace {

// The result of iconv: the characters up to the first byte that it refuses, and the position of that byte.
size_t by_iconv(std::string_view text, std::vector<uint32_t> *characters) {
    static const iconv_t converter = iconv_open("UTF-32LE", "UTF-8");
    characters->resize(text.size() + 1);
    char *in = const_cast<char *>(text.data()), *out = reinterpret_cast<char *>(characters->data());
    size_t in_left = text.size(), out_left = characters->size() * sizeof(uint32_t);
    iconv(converter, nullptr, nullptr, nullptr, nullptr);
    const size_t result = iconv(converter, &in, &in_left, &out, &out_left);
    characters->resize(characters->size() - out_left / sizeof(uint32_t));
    if (result != static_cast<size_t>(-1)) return std::string_view::npos;
    if (errno != EILSEQ && errno != EINVAL) fuzz::defect("iconv: %s", std::strerror(errno));
    return text.size() - in_left;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const std::string_view text(reinterpret_cast<const char *>(data), size);
    static std::vector<uint32_t> theirs;
    const size_t bad = by_iconv(text, &theirs);
    const size_t ours = xf::find_invalid_utf8(text);
    if (ours != bad) fuzz::defect("invalid at byte %zd, by iconv at %zd", ours, bad);

    // One character after the other, past what is invalid too; what replaces it is one mark for each part.
    std::string replaced, again;
    size_t count = 0;
    for (size_t i = 0; i < size;) {
        const xf::CodePoint c = xf::decode_utf8(text, i);
        if (c.size < 1 || c.size > (c.valid ? 4u : 3u) || i + c.size > size)
            fuzz::defect("a character of %u bytes", c.size);
        if (!c.valid && c.value != 0xFFFD) fuzz::defect("U+%X in place of what is invalid", c.value);
        if (i < bad && (count >= theirs.size() || theirs[count] != c.value))
            fuzz::defect("character %zu is U+%X, not so by iconv", count, c.value);
        xf::append_utf8(c.value, &replaced);
        if (c.valid && text.substr(i, c.size) != std::string_view(replaced).substr(replaced.size() - c.size))
            fuzz::defect("U+%X is written in another way than it was read", c.value);
        if (!c.valid && c.size > 1) {
            // A maximal part: it would have become a character, so it is none when its last byte is taken away either.
            const xf::CodePoint cut = xf::decode_utf8(text.substr(0, i + c.size - 1), i);
            if (cut.valid || cut.size != c.size - 1) fuzz::defect("a part of %u bytes is not maximal", c.size);
        }
        i += c.size;
        ++count;
    }
    if (xf::replace_invalid_utf8(text) != replaced) fuzz::defect("what is invalid is replaced in two ways");
    if (xf::find_invalid_utf8(replaced) != std::string_view::npos) fuzz::defect("invalid after it was replaced");
    return 0;
}
