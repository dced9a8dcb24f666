// Classes of characters; see characters.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/sentences/characters.h"

#include <utf8proc.h>

#include "core/utf8.h"

namespace xf {
namespace {

utf8proc_category_t category(uint32_t c) { return utf8proc_category(static_cast<utf8proc_int32_t>(c)); }

bool is_one_of(std::u32string_view list, uint32_t c) { return list.find(c) != list.npos; }

}  // namespace

CharacterKind character_kind(uint32_t c) {
    using enum CharacterKind;
    if (c >= 'a' && c <= 'z') return kLower;
    if (c >= 0x10D0 && c <= 0x10FF) return kLetter;  // Georgian does not capitalize the beginning of a sentence
    if (c == ' ' || c == '\t') return kSpace;
    if ((c >= '\n' && c <= '\r') || c == 0x85 || c == 0x2028 || c == 0x2029) return kLine;
    if (c == '"' || c == '\'') return kQuote;
    if (is_one_of(U".!?\u037E\u2026\u203C\u203D\u2047\u2048\u2049", c)) return kTerminator;
    if (is_one_of(U",:;\u055D\u060C\u061B\u3001\uFF0C\uFF1A\uFF1B\uFF64", c)) return kContinue;
    // Armenian, Arabic, Devanagari, Burmese, Ethiopic, Khmer, Mongolian, Ol Chiki, and CJK.
    if (is_one_of(U"\u0589\u061F\u06D4\u0964\u0965\u104B\u1362\u1367\u1368\u17D4\u17D5\u1803\u1809\u1C7E\u1C7F", c) ||
        is_one_of(U"\u3002\uFE52\uFE56\uFE57\uFF01\uFF0E\uFF1F\uFF61", c))
        return kWideTerminator;
    switch (category(c)) {
        case UTF8PROC_CATEGORY_LL:
            return kLower;
        case UTF8PROC_CATEGORY_LU:
        case UTF8PROC_CATEGORY_LT:
            return kUpper;
        case UTF8PROC_CATEGORY_LO:
        case UTF8PROC_CATEGORY_LM:
            return kLetter;
        case UTF8PROC_CATEGORY_ND:
        case UTF8PROC_CATEGORY_NL:
            return kNumber;
        case UTF8PROC_CATEGORY_ZS:
            return kSpace;
        case UTF8PROC_CATEGORY_PS:
            return kOpening;
        case UTF8PROC_CATEGORY_PE:
            return kClosing;
        case UTF8PROC_CATEGORY_PI:
        case UTF8PROC_CATEGORY_PF:
            return kQuote;
        case UTF8PROC_CATEGORY_MN:
        case UTF8PROC_CATEGORY_MC:
        case UTF8PROC_CATEGORY_ME:
        case UTF8PROC_CATEGORY_CF:
            return kMark;
        default:
            return kOther;
    }
}

TextCharacter character_at(std::string_view text, size_t offset) {
    if (offset >= text.size()) return {0, CharacterKind::kEnd, offset};
    const CodePoint c = decode_utf8(text, offset);
    return {c.value, character_kind(c.value), offset + c.size};
}

bool is_wide(uint32_t c) { return utf8proc_charwidth(static_cast<utf8proc_int32_t>(c)) == 2; }
bool is_initial_quote(uint32_t c) { return category(c) == UTF8PROC_CATEGORY_PI; }
bool is_final_quote(uint32_t c) { return category(c) == UTF8PROC_CATEGORY_PF; }

}  // namespace xf
