// The sentence splitter; see splitter.h.
//
// A scan visits each character once. At a terminator it looks ahead to the next letter, number, terminator, or line
// end, and looks back at no more than kLongestWord bytes; so each character is read a bounded number of times.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/sentences/splitter.h"

#include <utf8proc.h>

#include <algorithm>
#include <string>

#include "core/error.h"
#include "core/utf8.h"
#include "text/normalize.h"
#include "text/sentences/characters.h"
#include "text/sentences/long_sentences.h"
#include "text/sentences/words.h"

namespace xf {
namespace {

constexpr size_t kLongestWord = 32;

using Kind = CharacterKind;
using Char = TextCharacter;

bool is_hangul(uint32_t c) { return c >= 0xAC00 && c <= 0xD7A3; }

class Splitter {
public:
    Splitter(std::string_view text, const char *language, size_t max_characters)
        : text_(text), words_(language), max_characters_(max_characters) {}

    std::vector<TextSpan> split();

private:
    // The characters that decide whether a terminator ends a sentence.
    struct Terminator {
        size_t begin, end;  // the terminators, such as "?!"
        bool wide, dots, ellipsis, closed;
        size_t sentence_end;   // after closing quotation marks and brackets
        size_t next_sentence;  // after the white space that follows
        size_t word;           // the next letter or number, or the end of the line
    };

    Char at(size_t offset) const {
        Char c = character_at(text_, offset);
        if (c.code == ';' && words_.is_greek()) c.kind = Kind::kTerminator;
        return c;
    }
    size_t skip(size_t offset, Kind kind) const {
        for (Char c = at(offset); c.kind == kind; c = at(offset)) offset = c.next;
        return offset;
    }
    Terminator look_ahead(size_t offset) const;
    bool skip_citation(size_t *offset) const;
    bool ends_sentence(const Terminator &t) const;
    bool word_ends_sentence(const Terminator &t) const;
    bool number_ends_sentence(const Terminator &t) const;
    Abbreviation find_abbreviation(size_t begin, size_t tail, size_t end) const;
    Abbreviation look_up(std::string_view word) const;
    bool starts_sentence(size_t offset) const;
    void start_sentence(size_t offset);
    void add(size_t end);

    std::string_view text_;
    SentenceWords words_;
    size_t max_characters_;
    std::vector<TextSpan> spans_;
    size_t sentence_ = 0;          // where the current sentence begins
    bool has_content_ = false;     // it has a letter or a number
    bool quoted_ = false;          // an odd number of " precedes in the line
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
            quoted_ = false;
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
                quoted_ = quoted_ && !t.closed;
                i = sentence_;
            } else {
                i = last = t.end;
            }
        } else {
            has_content_ |= is_letter_or_number(c.kind);
            quoted_ ^= c.code == '"';
            i = last = c.next;
        }
    }
    if (last > sentence_) add(last);
    return std::move(spans_);
}

void Splitter::start_sentence(size_t offset) {
    while (is_white_space(at(offset).kind)) offset = at(offset).next;
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
    // In CJK, an opening quotation mark can follow without a space.
    const auto closes = [&] {
        if (c.kind == Kind::kQuote && !ends_line(at(c.next).kind) && at(c.next).kind != Kind::kSpace) {
            if (t.wide) return is_final_quote(c.code) || (c.code == '"' && quoted_);
            if (is_initial_quote(c.code) && is_letter(at(c.next).kind)) return false;
        }
        return c.kind == Kind::kQuote || c.kind == Kind::kClosing || c.kind == Kind::kMark;
    };
    for (; closes() || skip_citation(&i); c = at(i)) {
        t.closed |= c.kind != Kind::kMark;
        if (closes()) i = c.next;
    }
    t.sentence_end = i;
    i = skip(i, Kind::kSpace);
    const auto closes_after_space = [&] {
        if (c.kind == Kind::kClosing) return true;
        return c.kind == Kind::kQuote && !is_initial_quote(c.code) && !is_letter_or_number(at(c.next).kind);
    };
    for (c = at(i); i > t.sentence_end && closes_after_space(); c = at(i)) {  // as in French
        t.sentence_end = c.next;
        t.closed = true;
        i = skip(t.sentence_end, Kind::kSpace);
    }
    t.next_sentence = i;
    for (c = at(i); !is_letter_or_number(c.kind) && !is_terminator(c.kind) && !ends_line(c.kind); c = at(i)) i = c.next;
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
    if (!spaced) {  // before Han and kana, but not Hangul
        const bool opens = next.kind == Kind::kOpening || is_initial_quote(next.code);
        return !t.dots && (opens || is_letter(next.kind)) && is_wide(word.code) && !is_hangul(word.code);
    }
    if (word.kind == Kind::kLower) {
        // Dutch: "'s Avonds".
        const bool apostrophe = next.code == '\'' || next.code == 0x2019;
        return apostrophe && next.next == t.word && at(word.next).kind == Kind::kSpace;
    }
    if (!t.dots) return true;
    if (t.ellipsis)  // "Options... > Language"; in German, a space precedes an ellipsis of words
        return next.kind != Kind::kOther && (t.begin > word_ || !words_.is_german() || starts_sentence(t.word));
    return word_ends_sentence(t);
}

bool Splitter::word_ends_sentence(const Terminator &t) const {
    // A no-break space connects an abbreviation with the next word.
    const uint32_t space = at(t.end).code;
    if (t.next_sentence == at(t.end).next && (space == 0xA0 || space == 0x202F)) return false;
    size_t begin = word_;
    if (t.begin - begin > kLongestWord) return true;
    while (begin < t.begin && !is_letter_or_number(at(begin).kind)) begin = at(begin).next;
    if (begin == t.begin) return true;  // a period after a space

    size_t letters = 0, numbers = 0, marks = 0, others = 0, roman = 0, part = 0, longest_part = 0, tail = begin;
    Char c{};
    for (size_t i = begin; i < t.begin; i = c.next) {
        c = at(i);
        longest_part = std::max(longest_part, part = c.code == '.' || c.code == '-' ? 0 : part + 1);
        letters += is_letter(c.kind);
        numbers += c.kind == Kind::kNumber;
        marks += c.kind == Kind::kMark;
        others += !is_letter_or_number(c.kind) && c.kind != Kind::kMark && c.code != '.' && c.code != '-';
        roman += c.code == 'I' || c.code == 'V' || c.code == 'X';
        if (c.kind == Kind::kQuote || c.code == '-' || c.code == '/') tail = c.next;
    }
    if (c.code >= 0xE00 && c.code < 0xF00) return false;  // Thai and Lao have no full stop
    if (letters == 0 && others == 0) return number_ends_sentence(t);
    switch (find_abbreviation(begin, tail, t.begin)) {
        case Abbreviation::kAlways:
            return false;
        case Abbreviation::kUsually:
            return starts_sentence(t.word);
        case Abbreviation::kBeforeNumber:
            if (at(t.word).kind == Kind::kNumber) return false;
            break;
        case Abbreviation::kNone:
            break;
    }
    if (others > 0 || numbers > 0) return true;
    const std::string_view word = text_.substr(begin, t.begin - begin);
    if (letters == 1 && marks == 0 && !is_wide(c.code)) {  // an initial, or the marker of a list
        if (begin == sentence_) return false;
    } else {
        const bool dotted = word.find('.') != word.npos && longest_part <= 2;                   // "U.S."
        const bool german = words_.is_german() && (roman == letters || word.ends_with("str"));  // "Karl II."
        if (!dotted && !german) return true;
    }
    return starts_sentence(t.word);
}

bool Splitter::number_ends_sentence(const Terminator &t) const {
    const size_t size = t.begin - word_;
    if (word_ == sentence_ && size <= 6) return size == 4;  // "1." or "1.2.3." before an item of a list, but not a year
    if (at(t.word).kind == Kind::kNumber && size <= 2) return false;  // "3. 10. 1990"
    return !words_.is_german() || size > 5 || size == 4 || starts_sentence(t.word);
}

// Looks up the word with the abbreviations before it ("z. B."), the word, and its part after a hyphen ("Dipl.-Ing.").
Abbreviation Splitter::find_abbreviation(size_t begin, size_t tail, size_t end) const {
    auto found = Abbreviation::kNone;
    if (chain_ < word_ && end - chain_ <= kLongestWord) {
        std::string chain;
        for (size_t i = chain_; i < end; i = at(i).next)
            if (at(i).kind != Kind::kSpace && (!chain.empty() || is_letter(at(i).kind)))
                chain += text_.substr(i, at(i).next - i);
        found = look_up(chain);
    }
    if (found == Abbreviation::kNone) found = look_up(text_.substr(begin, end - begin));
    if (found == Abbreviation::kNone && tail > begin) found = look_up(text_.substr(tail, end - tail));
    return found;
}

// Also finds abbreviations whose first letter is a capital because they begin a sentence.
Abbreviation Splitter::look_up(std::string_view word) const {
    if (word.empty()) return Abbreviation::kNone;
    const Abbreviation found = words_.abbreviation(word);
    const Char first = character_at(word, 0);
    if (found != Abbreviation::kNone || first.kind != Kind::kUpper || chain_ != sentence_) return found;
    std::string lower;
    append_utf8(static_cast<uint32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(first.code))), &lower);
    return words_.abbreviation(lower.append(word.substr(first.next)));
}

// Returns whether the word at an offset often begins sentences.
bool Splitter::starts_sentence(size_t offset) const {
    size_t end = offset;
    while (end - offset < kLongestWord && (is_letter(at(end).kind) || at(end).kind == Kind::kMark)) end = at(end).next;
    if (at(offset).next == end && at(end).code == '.') return false;  // an initial
    return words_.starts_sentence(text_.substr(offset, end - offset));
}

void Splitter::add(size_t end) { append_divided(text_, {sentence_, end}, max_characters_, &spans_); }

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
