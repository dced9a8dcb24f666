// SPDX-License-Identifier: Apache-2.0
#include "word_units.h"

#include <algorithm>

#include "html_entities.h"

namespace serve {
namespace {

// Extends a range to whole characters and removes white space at its ends.
void trim(std::string_view text, size_t *begin, size_t *end) {
    const auto inside = [&](size_t at) { return at > 0 && at < text.size() && (text[at] & 0xC0) == 0x80; };
    *end = std::min(*end, text.size());
    while (inside(*begin)) --*begin;
    while (inside(*end)) ++*end;
    while (*begin < *end && is_space(text[*begin])) ++*begin;
    while (*begin < *end && is_space(text[*end - 1])) --*end;
}

std::vector<std::pair<size_t, size_t>> words_of(std::string_view text) {
    std::vector<std::pair<size_t, size_t>> words;
    for (size_t i = 0; i < text.size();) {
        if (is_space(text[i])) {
            ++i;
            continue;
        }
        const size_t begin = i;
        while (i < text.size() && !is_space(text[i])) ++i;
        words.emplace_back(begin, i);
    }
    return words;
}

std::vector<AlignedSpan> proportional(std::string_view source, std::string_view target) {
    const auto from = words_of(source), to = words_of(target);
    std::vector<AlignedSpan> spans;
    for (size_t i = 0; i < to.size() && !from.empty(); ++i) {
        const auto &word = from[i * from.size() / to.size()];
        spans.push_back({word.first, word.second, to[i].first, to[i].second});
    }
    return spans;
}

}  // namespace

std::vector<AlignedSpan> word_units(std::string_view source, const Translation &translation,
                                    std::span<const size_t> cuts) {
    const std::string_view target = translation.text;
    const auto copied = [&](const AlignedSpan &span) {
        return source.substr(span.source_begin, span.source_end - span.source_begin) ==
               target.substr(span.target_begin, span.target_end - span.target_begin);
    };
    std::vector<AlignedSpan> units;
    size_t longest = 0;  // subword of the last unit, in bytes
    bool last_copied = false;
    const auto add = [&](AlignedSpan span) {
        trim(source, &span.source_begin, &span.source_end);
        trim(target, &span.target_begin, &span.target_end);
        if (span.source_begin >= span.source_end || span.target_begin >= span.target_end) return;
        if (!units.empty() && span.target_begin < units.back().target_end) return;
        const size_t size = span.target_end - span.target_begin;
        const bool copy = copied(span);
        const bool joins = !units.empty() && span.target_begin == units.back().target_end && !(copy && last_copied) &&
                           !is_word_boundary(target, span.target_begin);
        last_copied = copy;
        if (joins) {
            AlignedSpan &unit = units.back();
            unit.target_end = span.target_end;
            if (size <= longest) return;
            unit.source_begin = span.source_begin;
            unit.source_end = span.source_end;
        } else {
            units.push_back(span);
        }
        longest = size;
        if (!copy) return;
        auto cut = std::upper_bound(cuts.begin(), cuts.end(), span.source_begin);
        for (; !joins && cut != cuts.end() && *cut < span.source_end; ++cut) {
            AlignedSpan &first = units.back();
            AlignedSpan second = first;
            second.source_begin = *cut;
            second.target_begin += *cut - first.source_begin;
            first.source_end = second.source_begin;
            first.target_end = second.target_begin;
            units.push_back(second);
        }
    };
    if (translation.spans.empty())
        for (const AlignedSpan &span : proportional(source, target)) add(span);
    else
        for (const AlignedSpan &span : translation.spans) add(span);
    return units;
}

}  // namespace serve
