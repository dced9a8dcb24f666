// Division of long sentences; see long_sentences.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/sentences/long_sentences.h"

#include <utf8proc.h>

#include "text/sentences/characters.h"

namespace xf {
namespace {

// Where the first part of a sentence ends, or the end if it is short enough. Candidates of each kind: the last offset
// at which the part has at most max_characters; 0: none.
size_t end_of_part(std::string_view text, TextSpan sentence, size_t max_characters) {
    size_t count = 0, clause = 0, space = 0, cluster = 0, i = sentence.begin;
    utf8proc_int32_t state = 0;
    for (TextCharacter c{}, last{}; i < sentence.end; i = c.next, last = c, ++count) {
        c = character_at(text, i);
        if (count == 0) continue;
        const bool white = c.kind == CharacterKind::kSpace;
        const bool comma = last.kind == CharacterKind::kContinue && (white || last.code >= 0x3000);
        if (comma && 2 * count > max_characters) clause = i;
        // U+200B separates words of Thai and other languages.
        if ((white && last.kind != CharacterKind::kSpace) || last.code == 0x200B) space = i;
        const auto before = static_cast<utf8proc_int32_t>(last.code), after = static_cast<utf8proc_int32_t>(c.code);
        if (utf8proc_grapheme_break_stateful(before, after, &state)) cluster = i;
        if (count >= max_characters && !white) break;
    }
    if (i >= sentence.end) return sentence.end;
    return clause > 0 ? clause : space > 0 ? space : cluster > 0 ? cluster : i;
}

}  // namespace

void append_divided(std::string_view text, TextSpan sentence, size_t max_characters, std::vector<TextSpan> *spans) {
    while (max_characters > 0 && sentence.end - sentence.begin > max_characters) {
        const size_t end = end_of_part(text, sentence, max_characters);
        if (end == sentence.end) break;
        spans->push_back({sentence.begin, end});
        sentence.begin = end;
        while (character_at(text, sentence.begin).kind == CharacterKind::kSpace)
            sentence.begin = character_at(text, sentence.begin).next;
    }
    spans->push_back(sentence);
}

}  // namespace xf
