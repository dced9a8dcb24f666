// NFC and NFKC; see normalize.h.
//
// The text is split before inert characters. Runs of inert characters are copied. Each run of other characters is
// decomposed, sorted, and composed together with the inert character before it, which may be its base letter.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/normalize.h"

#include <utf8proc.h>

#include <algorithm>

#include "core/error.h"
#include "core/utf8.h"

namespace xf {
namespace {

using Codes = std::vector<utf8proc_int32_t>;

void decompose(std::string_view text, utf8proc_option_t options, Codes *codes) {
    codes->clear();
    int boundary_class = 0;
    for (size_t i = 0; i < text.size();) {
        const CodePoint c = decode_utf8(text, i);
        i += c.size;
        utf8proc_int32_t buffer[32];  // the longest decomposition, of U+FDFA, has 18
        const utf8proc_ssize_t n = utf8proc_decompose_char(c.value, buffer, 32, options, &boundary_class);
        XF_CHECK(n >= 0 && n <= 32, XF_ERROR_INTERNAL, "utf8proc cannot decompose U+%04X: %s", c.value,
                 n < 0 ? utf8proc_errmsg(n) : "too long");
        codes->insert(codes->end(), buffer, buffer + n);
    }
}

// The canonical ordering algorithm: stable-sorts each run of characters with nonzero combining class by that class.
void order_marks(Codes *codes) {
    const auto mark_class = [](utf8proc_int32_t c) { return utf8proc_get_property(c)->combining_class; };
    for (size_t i = 0; i < codes->size();) {
        size_t end = i;
        while (end < codes->size() && mark_class((*codes)[end]) > 0) ++end;
        if (end - i > 1) {
            std::stable_sort(codes->begin() + i, codes->begin() + end,
                             [&](auto a, auto b) { return mark_class(a) < mark_class(b); });
        }
        i = end + 1;
    }
}

void normalize_segment(std::string_view text, utf8proc_option_t options, Codes *codes, std::string *out) {
    decompose(text, options, codes);
    order_marks(codes);
    const utf8proc_ssize_t count = codes->size();
    const utf8proc_ssize_t n = utf8proc_normalize_utf32(codes->data(), count, options);
    XF_CHECK(n >= 0 && n <= count, XF_ERROR_INTERNAL, "utf8proc cannot compose %zu characters: %s", codes->size(),
             n < 0 ? utf8proc_errmsg(n) : "too long");
    for (utf8proc_ssize_t i = 0; i < n; ++i) append_utf8((*codes)[i], out);
}

void normalize_valid(std::string_view text, Normalization form, std::string *out, Codes *codes) {
    const int flags = UTF8PROC_STABLE | UTF8PROC_COMPOSE | (form == Normalization::kNfkc ? UTF8PROC_COMPAT : 0);
    const auto options = static_cast<utf8proc_option_t>(flags);
    size_t done = 0;        // all text before this offset is in *out
    size_t last_inert = 0;  // the last offset at which the text can be split
    for (size_t i = 0; i < text.size();) {
        const CodePoint c = decode_utf8(text, i);
        if (is_inert(c.value)) {
            last_inert = i;
            i += c.size;
            continue;
        }
        size_t end = i + c.size;
        while (end < text.size()) {
            const CodePoint next = decode_utf8(text, end);
            if (is_inert(next.value)) break;
            end += next.size;
        }
        out->append(text.substr(done, last_inert - done));
        normalize_segment(text.substr(last_inert, end - last_inert), options, codes, out);
        done = last_inert = i = end;
    }
    out->append(text.substr(done));
}

}  // namespace

bool is_inert(uint32_t c) {
    const auto in = [c](uint32_t first, uint32_t last) { return c >= first && c <= last; };
    if (c < 0x80 || in(0xC0, 0xFF)) return true;                                // ASCII, Latin-1 letters
    if (in(0x100, 0x131) || in(0x134, 0x13E) || in(0x141, 0x148)) return true;  // Latin Extended-A without
    if (in(0x14A, 0x17E) || in(0x410, 0x44F)) return true;                      // its ligatures; Cyrillic
    if (in(0x2012, 0x2016) || in(0x2018, 0x2022)) return true;                  // dashes, quotes, bullet
    if (in(0x3041, 0x3096) || in(0x30A1, 0x30FA)) return true;                  // kana
    // The code point before the Hangul finals. utf8proc 2.8 wrongly composes it with the preceding syllable and drops
    // it; declaring it inert keeps it.
    if (c == 0x11A7) return true;
    return in(0x4E00, 0x9FA5) || in(0xAC00, 0xD7A3);  // Han, Hangul syllables
}

void normalize(std::string_view text, Normalization form, InvalidUtf8 invalid, std::string *out, Codes *codes) {
    XF_CHECK(text.size() <= kMaxTextBytes, XF_ERROR_LIMIT, "the text has %zu bytes, expected at most %zu", text.size(),
             kMaxTextBytes);
    if (form == Normalization::kNone) {
        out->append(text);
        return;
    }
    const size_t bad = find_invalid_utf8(text);
    if (bad == std::string_view::npos) {
        normalize_valid(text, form, out, codes);
        return;
    }
    XF_CHECK(invalid == InvalidUtf8::kReplace, XF_ERROR_DATA, "invalid UTF-8 at byte %zu (0x%02X), expected valid text",
             bad, text[bad] & 0xFFu);
    normalize_valid(replace_invalid_utf8(text), form, out, codes);
}

}  // namespace xf
