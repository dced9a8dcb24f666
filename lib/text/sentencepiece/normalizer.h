// The normalization of a SentencePiece model, which precedes segmentation.
//
//     character map             "ﬁ" becomes "fi"; the longest rule applies; user-defined symbols are not changed
//     invalid UTF-8             each byte becomes U+FFFD
//     white space               spaces at both ends are removed; several between words become one
//                               (remove_extra_whitespaces)
//     dummy space               a space is added before the text (add_dummy_prefix) or after it (whitespace_as_suffix)
//     escaping                  a space becomes U+2581 (escape_whitespaces)
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "text/piece_trie.h"
#include "text/sentencepiece/character_map.h"
#include "text/sentencepiece/table.h"

namespace xf {

// U+2581, which represents a space in pieces.
inline constexpr std::string_view kSpaceSymbol = "\xE2\x96\x81";

class SentencePieceNormalizer {
public:
    // *user_defined contains the symbols that are never changed. It may be nullptr and must outlive this object.
    // XF_ERROR_CORRUPT and XF_ERROR_LIMIT for the map.
    SentencePieceNormalizer(const WhitespaceRules &rules, const std::string &map, const PieceTrie *user_defined)
        : rules_(rules), map_(map), user_defined_(user_defined) {}

    // Sets *out to the normalized text, which is valid UTF-8. XF_ERROR_LIMIT if the text or the result is larger than
    // kMaxTextBytes.
    void normalize(std::string_view text, std::string *out) const;

private:
    // Normalizes a prefix of the text: sets *result and returns the number of bytes of the prefix.
    size_t step(std::string_view text, std::string_view *result) const;

    WhitespaceRules rules_;
    CharacterMap map_;
    const PieceTrie *user_defined_;
};

}  // namespace xf
