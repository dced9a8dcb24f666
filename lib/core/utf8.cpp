// The UTF-8 decoder; see utf8.h. The bounds of the second byte carry all the special cases of the format.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/utf8.h"

#include <cstring>

namespace xf {

CodePoint decode_utf8(std::string_view text, size_t offset) {
    const auto byte = [&](size_t i) { return text[i] & 0xFFu; };
    const uint32_t lead = byte(offset);
    if (lead < 0x80) return {lead, 1, true};

    uint32_t size = 0, low = 0x80, high = 0xBF;  // bounds of the second byte
    if (lead >= 0xC2 && lead <= 0xDF) {
        size = 2;
    } else if (lead >= 0xE0 && lead <= 0xEF) {
        size = 3;
        if (lead == 0xE0) low = 0xA0;   // overlong below
        if (lead == 0xED) high = 0x9F;  // surrogates above
    } else if (lead >= 0xF0 && lead <= 0xF4) {
        size = 4;
        if (lead == 0xF0) low = 0x90;   // overlong below
        if (lead == 0xF4) high = 0x8F;  // beyond U+10FFFF above
    } else {
        return {0xFFFD, 1, false};
    }

    uint32_t value = lead & (0x7Fu >> size);
    for (uint32_t i = 1; i < size; ++i) {
        if (offset + i >= text.size()) return {0xFFFD, i, false};
        const uint32_t next = byte(offset + i);
        if (next < low || next > high) return {0xFFFD, i, false};
        value = (value << 6) | (next & 0x3F);
        low = 0x80;
        high = 0xBF;
    }
    return {value, size, true};
}

size_t find_invalid_utf8(std::string_view text) {
    size_t i = 0;
    while (i < text.size()) {
        uint64_t eight = 0;
        if (text.size() - i >= sizeof eight) {
            std::memcpy(&eight, text.data() + i, sizeof eight);
            if ((eight & 0x8080808080808080u) == 0) {
                i += sizeof eight;
                continue;
            }
        }
        const CodePoint c = decode_utf8(text, i);
        if (!c.valid) return i;
        i += c.size;
    }
    return std::string_view::npos;
}

void append_utf8(uint32_t c, std::string *text) {
    const auto put = [&](uint32_t byte) { text->push_back(byte); };
    if (c < 0x80) {
        put(c);
    } else if (c < 0x800) {
        put(0xC0 | (c >> 6));
        put(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
        put(0xE0 | (c >> 12));
        put(0x80 | ((c >> 6) & 0x3F));
        put(0x80 | (c & 0x3F));
    } else {
        put(0xF0 | (c >> 18));
        put(0x80 | ((c >> 12) & 0x3F));
        put(0x80 | ((c >> 6) & 0x3F));
        put(0x80 | (c & 0x3F));
    }
}

std::string replace_invalid_utf8(std::string_view text) {
    size_t size = 0;
    for (size_t i = 0; i < text.size();) {
        const CodePoint c = decode_utf8(text, i);
        size += c.valid ? c.size : 3;
        i += c.size;
    }
    std::string out;
    out.reserve(size);
    for (size_t i = 0; i < text.size();) {
        const CodePoint c = decode_utf8(text, i);
        if (c.valid)
            out.append(text.substr(i, c.size));
        else
            append_utf8(0xFFFD, &out);
        i += c.size;
    }
    return out;
}

}  // namespace xf
