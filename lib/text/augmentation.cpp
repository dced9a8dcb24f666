// SPDX-License-Identifier: Apache-2.0
#include "text/augmentation.h"

#include <utf8proc.h>

#include <vector>

#include "core/philox.h"
#include "core/utf8.h"
#include "text/sentences/characters.h"

namespace xf {
namespace {

// Makes the draws independent of other uses of the seed.
constexpr uint64_t kAugmentStream = 0x6175676D656E7421u;
constexpr uint32_t kSharpS = 0xDF;  // utf8proc has no capital form of it that German uses
constexpr int64_t kLeastLettersOfTypo = 4;

enum TextChange : uint32_t { kCapitals, kTitle, kSmall, kNoEnd, kTypo, kChanges };

bool is_between_words(CharacterKind kind) { return kind == CharacterKind::kSpace || kind == CharacterKind::kLine; }

void append_upper(uint32_t code, std::string *out) {
    if (code == kSharpS)
        out->append("SS");
    else
        append_utf8(utf8proc_toupper(code), out);
}

// Calls each(begin, end) for every word, that is, text without white space.
template <class Each>
void each_word(std::string_view text, Each each) {
    for (size_t at = 0, begin = 0;;) {
        const TextCharacter c = character_at(text, at);
        if (c.kind == CharacterKind::kEnd || is_between_words(c.kind)) {
            if (begin < at) each(begin, at);
            begin = c.next;
        }
        if (c.kind == CharacterKind::kEnd) return;
        at = c.next;
    }
}

// Returns whether a word consists of letters and punctuation, and not of a point between letters, as in a file name.
bool is_prose(std::string_view word) {
    bool after_point = false;
    for (size_t at = 0; at < word.size();) {
        const TextCharacter c = character_at(word, at);
        const bool sign = c.kind == CharacterKind::kNumber || (c.kind == CharacterKind::kOther && c.code != '-');
        if (sign || (after_point && is_letter(c.kind))) return false;
        after_point = is_terminator(c.kind);
        at = c.next;
    }
    return true;
}

// Appends the text with each word of prose as change(word, out) appends it. File names, options, and placeholders stay,
// because a model has to copy them.
template <class Change>
void change_prose(std::string_view text, std::string *out, Change change) {
    size_t done = 0;
    each_word(text, [&](size_t begin, size_t end) {
        const std::string_view word = text.substr(begin, end - begin);
        if (!is_prose(word)) return;
        out->append(text.substr(done, begin - done));
        change(word, out);
        done = end;
    });
    out->append(text.substr(done));
}

void append_capitals(std::string_view word, std::string *out) {
    for (size_t at = 0; at < word.size();) {
        const TextCharacter c = character_at(word, at);
        append_upper(c.code, out);
        at = c.next;
    }
}

void append_title(std::string_view word, std::string *out) {
    const TextCharacter first = character_at(word, 0);
    append_utf8(utf8proc_toupper(first.code), out);
    out->append(word.substr(first.next));
}

void append_small(std::string_view word, std::string *out) {
    for (size_t at = 0; at < word.size();) {
        const TextCharacter c = character_at(word, at);
        append_utf8(utf8proc_tolower(c.code), out);
        at = c.next;
    }
}

void without_end(std::string_view text, std::string *out) {
    size_t end = 0;  // after the last character that stays
    for (size_t at = 0; at < text.size();) {
        const TextCharacter c = character_at(text, at);
        if (!is_terminator(c.kind) && !is_between_words(c.kind)) end = c.next;
        at = c.next;
    }
    out->append(end > 0 ? text.substr(0, end) : text);
}

void with_typo(std::string_view text, const uint32_t draws[2], std::string *out) {
    // Letters that another letter follows, in words that are long enough.
    struct Place {
        size_t begin, middle, end;
    };
    std::vector<Place> places;
    each_word(text, [&](size_t begin, size_t end) {
        if (!is_prose(text.substr(begin, end - begin))) return;
        std::vector<Place> own;
        int64_t letters = 0;
        for (size_t at = begin, last = end; at < end;) {
            const TextCharacter c = character_at(text, at);
            if (is_letter(c.kind)) {
                ++letters;
                if (last != end) own.push_back({last, at, c.next});
            }
            last = is_letter(c.kind) ? at : end;
            at = c.next;
        }
        if (letters >= kLeastLettersOfTypo) places.insert(places.end(), own.begin(), own.end());
    });
    if (places.empty()) {
        out->append(text);
        return;
    }
    const Place place = places[draws[0] % places.size()];
    const std::string_view first = text.substr(place.begin, place.middle - place.begin),
                           second = text.substr(place.middle, place.end - place.middle);
    out->append(text.substr(0, place.begin));
    const uint32_t kind = draws[1] % 3;
    if (kind == 0)
        out->append(second).append(first);
    else if (kind == 1)
        out->append(second);
    else
        out->append(first).append(first).append(second);
    out->append(text.substr(place.end));
}

}  // namespace

Augmentation Augmentation::from(const Options &options) {
    const uint64_t seed = options.i64("data.seed");
    return {options.f64("data.augment"), seed};
}

std::string_view Augmentation::apply(std::string_view text, bool source, int64_t epoch, int64_t pair,
                                     std::string *changed) const {
    if (share == 0) return text;
    const uint64_t e = epoch, p = pair, key = seed ^ kAugmentStream;
    // Both sides of a pair have the same change.
    const Philox draw = philox(key, e, e >> 32, p, p >> 32);
    if (draw.word[0] >= share * 4294967296.0 || find_invalid_utf8(text) != std::string_view::npos) return text;
    const uint32_t change = draw.word[1] % kChanges;
    if (!source && change != kCapitals && change != kNoEnd) return text;
    changed->clear();
    if (change == kCapitals) change_prose(text, changed, append_capitals);
    if (change == kTitle) change_prose(text, changed, append_title);
    if (change == kSmall) change_prose(text, changed, append_small);
    if (change == kNoEnd) without_end(text, changed);
    if (change == kTypo) with_typo(text, &draw.word[2], changed);
    return *changed;
}

}  // namespace xf
