// What a SentencePiece model does to a text before it is cut into pieces.
//
//     the character map         "ﬁ" becomes "fi"; the longest rule first, user-defined symbols stay as they are
//     invalid UTF-8             U+FFFD for each byte
//     white space               spaces at both ends and all but one between words go (remove_extra_whitespaces)
//     the dummy space           one space is put before the text, or behind it (add_dummy_prefix, whitespace_as_suffix)
//     escaping                  a space becomes U+2581 (escape_whitespaces)
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "text/character_map.h"
#include "text/piece_trie.h"
#include "text/sentencepiece_table.h"

namespace xf {

// U+2581, which stands for a space in pieces.
inline constexpr std::string_view kSpaceSymbol = "\xE2\x96\x81";

class SentencePieceNormalizer {
public:
    struct Rules {
        bool add_dummy_prefix, remove_extra_whitespaces, escape_whitespaces, whitespace_as_suffix;
    };

    // *kept, the symbols that no rule touches, must live as long as this; nullptr: none. XF_ERROR_CORRUPT,
    // XF_ERROR_LIMIT for the map.
    SentencePieceNormalizer(const Rules &rules, const std::string &map, const PieceTrie *kept)
        : rules_(rules), map_(map), kept_(kept) {}

    // Replaces *out by the normalised text, which is valid UTF-8. XF_ERROR_LIMIT for a text, or result, above
    // kMaxTextBytes.
    void normalize(std::string_view text, std::string *out) const;

private:
    // One step: what the beginning of the text becomes, and how many bytes that beginning has.
    size_t step(std::string_view text, std::string_view *result) const;

    Rules rules_;
    CharacterMap map_;
    const PieceTrie *kept_;
};

}  // namespace xf
