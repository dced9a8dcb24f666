// SPDX-License-Identifier: Apache-2.0
#include "comm/rank_status.h"

#include <cstring>
#include <string_view>

#include "core/utf8.h"

namespace xf {
namespace {

bool is_printable(const CodePoint &c) {
    const auto in = [&](uint32_t first, uint32_t last) { return c.value >= first && c.value <= last; };
    return c.valid && !in(0, 0x1F) && !in(0x7F, 0x9F) && !in(0x200E, 0x200F) && !in(0x2028, 0x202E) &&
           !in(0x2066, 0x2069);
}

}  // namespace

void sanitize(char *text, size_t size) noexcept {
    const size_t length = strnlen(text, size);
    const std::string_view all(text, length);
    size_t to = 0;
    for (size_t from = 0; from < length;) {
        const CodePoint c = decode_utf8(all, from);
        const bool cut = !c.valid && from + c.size == length && length + 1 >= size;  // in the middle of a character
        const bool fits = to + c.size < size;
        if (cut || !fits) break;
        if (is_printable(c)) {
            std::memmove(text + to, text + from, c.size);
            to += c.size;
        } else {
            text[to++] = '?';
        }
        from += c.size;
    }
    if (size > 0) text[to] = 0;
}

}  // namespace xf
