// Character classes and word boundaries; see words/splitter.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/words/splitter.h"

#include <utf8proc.h>

#include "core/utf8.h"

namespace xf {
namespace {

enum class Class : unsigned char { kBlank, kLetter, kMark, kDigit, kOther };

Class ascii_class(uint32_t c) {
    if ((c | 0x20) - 'a' < 26) return Class::kLetter;
    if (c - '0' < 10) return Class::kDigit;
    return c == ' ' || (c >= '\t' && c <= '\r') ? Class::kBlank : Class::kOther;
}

Class classify(const CodePoint &c) {
    if (c.value < 0x80) return ascii_class(c.value);
    if (!c.valid) return Class::kOther;
    if (c.value == 0x85) return Class::kBlank;                        // NEL
    if (c.value == 0x200C || c.value == 0x200D) return Class::kMark;  // joiners shape the word around them
    switch (utf8proc_category(c.value)) {
        case UTF8PROC_CATEGORY_LU:
        case UTF8PROC_CATEGORY_LL:
        case UTF8PROC_CATEGORY_LT:
        case UTF8PROC_CATEGORY_LM:
        case UTF8PROC_CATEGORY_LO:
            return Class::kLetter;
        case UTF8PROC_CATEGORY_MN:
        case UTF8PROC_CATEGORY_MC:
        case UTF8PROC_CATEGORY_ME:
            return Class::kMark;
        case UTF8PROC_CATEGORY_ND:
            return Class::kDigit;
        case UTF8PROC_CATEGORY_ZS:
        case UTF8PROC_CATEGORY_ZL:
        case UTF8PROC_CATEGORY_ZP:
            return Class::kBlank;
        default:
            return Class::kOther;
    }
}

bool is_apostrophe(uint32_t c) { return c == '\'' || c == 0x2019; }

}  // namespace

// Returns the end of the white space at `start`; *last is the offset of its last character.
size_t WordSplitter::blanks_end(size_t start, size_t *last) const {
    size_t end = start;
    while (end < text_.size() && end - start < kMaxWordBytes) {
        const CodePoint c = decode_utf8(text_, end);
        if (classify(c) != Class::kBlank) break;
        *last = end;
        end += c.size;
    }
    return end;
}

// Returns the end of the word at `start`, which must not be white space.
size_t WordSplitter::word_end(size_t start) const {
    const CodePoint first = decode_utf8(text_, start);
    Class kind = classify(first);
    if (kind == Class::kMark) kind = Class::kLetter;
    size_t end = start + first.size;
    while (end < text_.size() && end - start < kMaxWordBytes) {
        const CodePoint c = decode_utf8(text_, end);
        const Class next = classify(c);
        const bool continues = next == Class::kMark || (next == kind && kind != Class::kDigit) ||
                               (kind == Class::kLetter && is_apostrophe(c.value) && end + c.size < text_.size() &&
                                classify(decode_utf8(text_, end + c.size)) == Class::kLetter);
        if (!continues) break;
        end += c.size;
    }
    return end;
}

bool WordSplitter::next(std::string_view *word) {
    if (position_ >= text_.size()) return false;
    size_t last = position_;
    const size_t blanks = blanks_end(position_, &last);
    size_t end = blanks;
    if (blanks == position_) {
        end = word_end(position_);
    } else if (blanks < text_.size() && text_[last] == ' ') {
        // One space and its word, or the white space before that space.
        end = last == position_ ? word_end(blanks) : last;
    }
    *word = text_.substr(position_, end - position_);
    position_ = end;
    return true;
}

}  // namespace xf
