// The sentence splitter; see sentences.h.
//
// A scan visits each character once. At a terminator it looks ahead to the next letter, number, terminator, or line
// end, and looks back at no more than kLongestWord bytes; so each character is read a bounded number of times.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/sentences.h"

#include <utf8proc.h>

#include <algorithm>
#include <string>

#include "core/error.h"
#include "core/utf8.h"
#include "text/normalize.h"
#include "text/sentence_words.h"

namespace xf {
namespace {

constexpr size_t kLongestWord = 32;

enum class Kind {
    kEnd,  // of the text
    kLine,
    kSpace,
    kLower,
    kUpper,
    kLetter,  // without case
    kNumber,
    kTerminator,
    kWideTerminator,  // ends a sentence also without white space after it
    kOpening,
    kClosing,
    kQuote,     // opening or closing
    kContinue,  // a comma, colon, or semicolon
    kMark,      // belongs to the character before it
    kOther
};

Kind kind_of(uint32_t c) {
    if (c >= 'a' && c <= 'z') return Kind::kLower;
    if (c >= 0x10D0 && c <= 0x10FF) return Kind::kLetter;  // Georgian sentences do not begin with its capital letters
    if (c == ' ' || c == '\t') return Kind::kSpace;
    if ((c >= '\n' && c <= '\r') || c == 0x85 || c == 0x2028 || c == 0x2029) return Kind::kLine;
    if (std::u32string_view(U".!?\u2026\u203C\u203D\u2047\u2048\u2049\u037E").find(c) != std::u32string_view::npos)
        return Kind::kTerminator;
    if (c == '"' || c == '\'') return Kind::kQuote;
    if (std::u32string_view(U",:;\u060C\u061B\u055D\u3001\uFF0C\uFF1A\uFF1B\uFF64").find(c) !=
        std::u32string_view::npos)
        return Kind::kContinue;
    // Armenian, Arabic, Devanagari, Burmese, Ethiopic, Khmer, Mongolian, Ol Chiki, and CJK.
    if (c >= 0x589 && std::u32string_view(U"\u0589\u061F\u06D4\u0964\u0965\u104B\u1362\u1367\u1368\u17D4\u17D5\u1803"
                                          U"\u1809\u1C7E\u1C7F\u3002\uFE52\uFE56\uFE57\uFF01\uFF0E\uFF1F\uFF61")
                              .find(c) != std::u32string_view::npos)
        return Kind::kWideTerminator;
    switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
        case UTF8PROC_CATEGORY_LL:
            return Kind::kLower;
        case UTF8PROC_CATEGORY_LU:
        case UTF8PROC_CATEGORY_LT:
            return Kind::kUpper;
        case UTF8PROC_CATEGORY_LO:
        case UTF8PROC_CATEGORY_LM:
            return Kind::kLetter;
        case UTF8PROC_CATEGORY_ND:
        case UTF8PROC_CATEGORY_NL:
            return Kind::kNumber;
        case UTF8PROC_CATEGORY_ZS:
            return Kind::kSpace;
        case UTF8PROC_CATEGORY_PS:
            return Kind::kOpening;
        case UTF8PROC_CATEGORY_PE:
            return Kind::kClosing;
        case UTF8PROC_CATEGORY_PI:
        case UTF8PROC_CATEGORY_PF:
            return Kind::kQuote;
        case UTF8PROC_CATEGORY_MN:
        case UTF8PROC_CATEGORY_MC:
        case UTF8PROC_CATEGORY_ME:
        case UTF8PROC_CATEGORY_CF:
            return Kind::kMark;
        default:
            return Kind::kOther;
    }
}

bool is_letter(Kind kind) { return kind == Kind::kLower || kind == Kind::kUpper || kind == Kind::kLetter; }
bool is_terminator(Kind kind) { return kind == Kind::kTerminator || kind == Kind::kWideTerminator; }
bool is_space(Kind kind) { return kind == Kind::kSpace || kind == Kind::kLine; }
bool ends_line(Kind kind) { return kind == Kind::kLine || kind == Kind::kEnd; }

bool is_wide(uint32_t c) { return utf8proc_charwidth(static_cast<utf8proc_int32_t>(c)) == 2; }
bool is_initial_quote(uint32_t c) {
    return utf8proc_category(static_cast<utf8proc_int32_t>(c)) == UTF8PROC_CATEGORY_PI;
}
bool is_hangul(uint32_t c) { return c >= 0xAC00 && c <= 0xD7A3; }

class Splitter {
public:
    Splitter(std::string_view text, const char *language, size_t max_characters)
        : text_(text), words_(language), max_characters_(max_characters) {}

    std::vector<TextSpan> split();

private:
    struct Char {
        uint32_t code;
        Kind kind;
        size_t next;  // the offset of the next character
    };
    // The characters that decide whether a terminator ends a sentence.
    struct Terminator {
        size_t begin, end;  // the terminators, such as "?!"
        bool wide, dots, ellipsis, closed;
        size_t sentence_end;   // after closing quotation marks and brackets
        size_t next_sentence;  // after the white space that follows
        size_t word;           // the next letter or number, or the end of the line
    };

    Char at(size_t offset) const {
        if (offset >= text_.size()) return {0, Kind::kEnd, offset};
        const CodePoint c = decode_utf8(text_, offset);
        Kind kind = kind_of(c.value);
        if (c.value == ';' && words_.is_greek()) kind = Kind::kTerminator;
        return {c.value, kind, offset + c.size};
    }
    size_t skip(size_t offset, Kind kind) const {
        for (Char c = at(offset); c.kind == kind; c = at(offset)) offset = c.next;
        return offset;
    }
    Terminator look_ahead(size_t offset) const;
    bool skip_citation(size_t *offset) const;
    bool precedes_space(size_t offset) const { return at(offset).kind == Kind::kSpace || ends_line(at(offset).kind); }
    bool ends_sentence(const Terminator &t) const;
    bool word_ends_sentence(const Terminator &t) const;
    bool number_ends_sentence(const Terminator &t, bool starts) const;
    Abbreviation find_abbreviation(std::string_view word) const;
    std::string_view next_word(size_t offset) const;
    void start_sentence(size_t offset);
    void add(size_t end);

    std::string_view text_;
    SentenceWords words_;
    size_t max_characters_;
    std::vector<TextSpan> spans_;
    size_t sentence_ = 0;          // where the current sentence begins
    bool has_content_ = false;     // it has a letter or a number
    size_t word_ = 0, chain_ = 0;  // where the current word begins, and the abbreviations before it ("z. B.")
};

std::vector<TextSpan> Splitter::split() {
    start_sentence(0);
    size_t last = 0;  // the end of the last character that is not white space
    for (size_t i = sentence_; i < text_.size();) {
        const Char c = at(i);
        if (c.kind == Kind::kLine) {
            if (last > sentence_) add(last);
            start_sentence(c.next);
            i = sentence_;
        } else if (c.kind == Kind::kSpace) {
            const bool continues = i > word_ && i - word_ <= 5 && text_[i - 1] == '.';
            word_ = skip(i, Kind::kSpace);
            if (!continues) chain_ = word_;
            i = word_;
        } else if (is_terminator(c.kind)) {
            const Terminator t = look_ahead(i);
            if (has_content_ && ends_sentence(t)) {
                add(t.sentence_end);
                start_sentence(t.next_sentence);
                i = sentence_;
            } else {
                i = last = t.end;
            }
        } else {
            has_content_ |= is_letter(c.kind) || c.kind == Kind::kNumber;
            i = last = c.next;
        }
    }
    if (last > sentence_) add(last);
    return std::move(spans_);
}

void Splitter::start_sentence(size_t offset) {
    while (is_space(at(offset).kind)) offset = at(offset).next;
    sentence_ = word_ = chain_ = offset;
    has_content_ = false;
}

Splitter::Terminator Splitter::look_ahead(size_t offset) const {
    Terminator t{offset, offset, false, true, false, false, 0, 0, 0};
    size_t i = offset;
    Char c = at(i);
    for (; is_terminator(c.kind); c = at(i)) {
        t.wide |= c.kind == Kind::kWideTerminator;
        t.dots &= c.code == '.' || c.code == 0x2026;
        t.ellipsis |= c.code == 0x2026 || i > offset;
        i = c.next;
    }
    t.end = i;
    // After a full stop of CJK, an opening quotation mark can follow without a space.
    const auto closes = [&] {
        if (c.kind == Kind::kQuote && t.wide && !precedes_space(c.next))
            return utf8proc_category(static_cast<utf8proc_int32_t>(c.code)) == UTF8PROC_CATEGORY_PF;
        return c.kind == Kind::kQuote || c.kind == Kind::kClosing || c.kind == Kind::kMark;
    };
    for (; closes() || skip_citation(&i); c = at(i)) {
        t.closed |= c.kind != Kind::kMark;
        if (closes()) i = c.next;
    }
    t.sentence_end = i;
    i = skip(i, Kind::kSpace);
    const auto closes_after_space = [&] {
        return c.kind == Kind::kClosing ||
               (c.kind == Kind::kQuote && !is_initial_quote(c.code) && precedes_space(c.next));
    };
    for (c = at(i); i > t.sentence_end && closes_after_space(); c = at(i)) {  // as in French
        t.sentence_end = c.next;
        t.closed = true;
        i = skip(t.sentence_end, Kind::kSpace);
    }
    t.next_sentence = i;
    for (c = at(i); !is_letter(c.kind) && c.kind != Kind::kNumber && !is_terminator(c.kind) && !ends_line(c.kind);
         c = at(i))
        i = c.next;
    t.word = i;
    return t;
}

// Skips the number of a reference, such as "[12]".
bool Splitter::skip_citation(size_t *offset) const {
    if (*offset >= text_.size() || text_[*offset] != '[') return false;
    const size_t digits = *offset + 1;
    const size_t end = std::min(text_.find_first_not_of("0123456789", digits), text_.size());
    if (end == digits || end - digits > 4 || end == text_.size() || text_[end] != ']') return false;
    *offset = end + 1;
    return true;
}

bool Splitter::ends_sentence(const Terminator &t) const {
    const Char next = at(t.next_sentence);
    if (ends_line(next.kind)) return false;  // the line end ends it
    const bool spaced = t.next_sentence > t.sentence_end;
    const Char word = at(t.word);
    // UAX #29, SB8a, except that ".NET" begins a sentence.
    if (next.kind == Kind::kContinue) return false;
    if (is_terminator(next.kind) && !(next.code == '.' && is_letter(at(next.next).kind))) return false;
    if (t.begin > 0 && (text_[t.begin - 1] == '(' || text_[t.begin - 1] == '[')) return false;  // "[...]", "(!)"

    if (t.wide) {
        const std::string_view terminators = text_.substr(t.begin, t.end - t.begin);
        if (terminators == "\uFF0E" && at(t.end).kind == Kind::kNumber) return false;  // a decimal point
        // Japanese: the particles after a quotation, such as "to" before "he said".
        static constexpr std::u32string_view kParticles = U"\u3068\u3063\u3092\u304C\u306E\u306F\u306B\u306A";
        const size_t particle = spaced ? kParticles.npos : kParticles.find(next.code);
        return particle == kParticles.npos || (!t.closed && (particle > 1 || terminators == "\u3002"));
    }
    if (!spaced) return !t.dots && next.kind == Kind::kLetter && is_wide(next.code) && !is_hangul(next.code);
    if (word.kind == Kind::kLower) {
        // Dutch: "'s Avonds".
        const bool apostrophe = next.code == '\'' || next.code == 0x2019;
        return apostrophe && next.next == t.word && at(word.next).kind == Kind::kSpace;
    }
    if (!t.dots) return true;
    if (t.ellipsis) return t.begin > word_ || words_.starts_sentence(next_word(t.word));
    return word_ends_sentence(t);
}

bool Splitter::word_ends_sentence(const Terminator &t) const {
    // A no-break space connects an abbreviation with the next word.
    if (t.sentence_end == t.end && t.next_sentence - t.end <= 3) {
        const uint32_t space = at(t.end).code;
        if (space == 0xA0 || space == 0x202F) return false;
    }
    size_t begin = word_;
    if (t.begin - begin > kLongestWord) return true;
    size_t letters = 0, numbers = 0, others = 0, roman = 0, part = 0, longest_part = 0;
    while (begin < t.begin && !is_letter(at(begin).kind) && at(begin).kind != Kind::kNumber) begin = at(begin).next;
    if (begin == t.begin) return true;  // a period after a space
    Char c{};
    for (size_t i = begin; i < t.begin; i = c.next) {
        c = at(i);
        if (c.kind == Kind::kMark) continue;
        if (c.code == '.' || c.code == '-') {
            part = 0;
            continue;
        }
        longest_part = std::max(longest_part, ++part);
        numbers += c.kind == Kind::kNumber;
        letters += is_letter(c.kind);
        others += !is_letter(c.kind) && c.kind != Kind::kNumber;
        roman += c.code == 'I' || c.code == 'V' || c.code == 'X';
    }
    if (c.code >= 0xE00 && c.code < 0xF00) return false;  // Thai and Lao have no full stop
    const std::string_view word = text_.substr(begin, t.begin - begin);
    const bool starts = words_.starts_sentence(next_word(t.word));
    const bool dotted = word.find('.') != word.npos;

    Abbreviation abbreviation = Abbreviation::kNone;
    if (chain_ < begin && t.begin - chain_ <= kLongestWord) {
        std::string chain(text_.substr(chain_, t.begin - chain_));
        std::erase(chain, ' ');
        abbreviation = find_abbreviation(chain);
    }
    if (abbreviation == Abbreviation::kNone) abbreviation = find_abbreviation(word);
    const size_t separator = word.find_last_of("-/'");
    if (abbreviation == Abbreviation::kNone && separator != word.npos && separator + 1 < word.size())
        abbreviation = find_abbreviation(word.substr(separator + 1));  // "Dipl.-Ing."
    if (abbreviation == Abbreviation::kAlways) return false;
    if (abbreviation == Abbreviation::kUsually) return starts;
    if (abbreviation == Abbreviation::kBeforeNumber && at(t.word).kind == Kind::kNumber) return false;

    if (others > 0) return true;
    if (letters == 0) return number_ends_sentence(t, starts);
    if (numbers > 0) return true;
    if (letters == 1 && !is_wide(c.code)) return begin != sentence_ && starts;  // an initial
    if (dotted && longest_part <= 2) return starts;                             // "U.S."
    if (words_.is_german() && (roman == letters || word.ends_with("str"))) return starts;
    return true;
}

bool Splitter::number_ends_sentence(const Terminator &t, bool starts) const {
    const size_t size = t.begin - word_;
    if (word_ == sentence_ && size <= 6) return size == 4;  // "1." or "1.2.3." before an item of a list, but not a year
    if (at(t.word).kind == Kind::kNumber && size <= 2) return false;  // "3. 10. 1990"
    return !words_.is_german() || size > 5 || size == 4 || starts;
}

// Also finds abbreviations whose first letter is a capital because they begin a sentence.
Abbreviation Splitter::find_abbreviation(std::string_view word) const {
    const Abbreviation found = words_.abbreviation(word);
    const CodePoint first = decode_utf8(word, 0);
    if (found != Abbreviation::kNone || kind_of(first.value) != Kind::kUpper || word_ != sentence_) return found;
    std::string lower;
    append_utf8(static_cast<uint32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(first.value))), &lower);
    return words_.abbreviation(lower.append(word.substr(first.size)));
}

std::string_view Splitter::next_word(size_t offset) const {
    size_t end = offset;
    while (end - offset < kLongestWord && (is_letter(at(end).kind) || at(end).kind == Kind::kMark)) end = at(end).next;
    return text_.substr(offset, end - offset);
}

// Adds the current sentence, divided where it is too long: after a comma or semicolon in the second half, or else
// before white space, or else between grapheme clusters, or else anywhere.
void Splitter::add(size_t end) {
    while (max_characters_ > 0) {
        size_t count = 0, clause = 0, space = 0, cluster = 0, i = sentence_;
        utf8proc_int32_t state = 0;
        for (Char c{}, last{}; i < end; i = c.next, last = c, ++count) {
            c = at(i);
            if (count == 0) continue;
            const bool is_white = c.kind == Kind::kSpace;
            const bool is_comma = last.kind == Kind::kContinue && (is_white || last.code >= 0x3000);
            if (is_comma && 2 * count > max_characters_) clause = i;
            if ((is_white && last.kind != Kind::kSpace) || last.code == 0x200B) space = i;  // 200B: for Thai and others
            const auto before = static_cast<utf8proc_int32_t>(last.code), code = static_cast<utf8proc_int32_t>(c.code);
            if (utf8proc_grapheme_break_stateful(before, code, &state)) cluster = i;
            if (count >= max_characters_ && !is_white) break;
        }
        if (i >= end) break;
        size_t cut = clause > 0 ? clause : space > 0 ? space : cluster > 0 ? cluster : i;
        spans_.push_back({sentence_, cut});
        while (is_space(at(cut).kind)) cut = at(cut).next;
        sentence_ = cut;
    }
    spans_.push_back({sentence_, end});
}

}  // namespace

std::vector<TextSpan> split_sentences(std::string_view text, const char *language, size_t max_characters) {
    XF_CHECK(text.size() <= kMaxTextBytes, XF_ERROR_LIMIT, "the text has %zu bytes, expected at most %zu", text.size(),
             kMaxTextBytes);
    const size_t bad = find_invalid_utf8(text);
    XF_CHECK(bad == std::string_view::npos, XF_ERROR_DATA, "invalid UTF-8 at byte %zu (0x%02X), expected valid text",
             bad, text[bad] & 0xFFu);
    return Splitter(text, language, max_characters).split();
}

}  // namespace xf
