// What a SentencePiece model says, as it is kept in a file; see sentencepiece.h.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "text/vocabulary.h"

namespace xf {

// The numbers are those of a .model file.
enum class PieceType : uint8_t {
    kNormal = 1,
    kUnknown = 2,      // one: what stands for text that no piece covers
    kControl = 3,      // "<s>", "</s>", "<pad>": never made from text, and give none
    kUserDefined = 4,  // always one piece, whatever else is possible
    kUnused = 5,       // in the list and never made
    kByte = 6          // "<0x00>" to "<0xFF>"
};

struct SentencePieceTable {
    enum class Kind : uint8_t { kUnigram, kBpe };

    Kind kind = Kind::kUnigram;
    bool add_dummy_prefix = true;          // text is read as if a space preceded it (or followed, see below)
    bool remove_extra_whitespaces = true;  // at both ends, and all but one between words
    bool escape_whitespaces = true;        // a space becomes U+2581
    bool whitespace_as_suffix = false;     // the dummy space follows the text
    bool byte_fallback = false;            // what no piece covers is written in bytes
    int32_t start_id = -1;                 // of control pieces, or -1
    int32_t end_id = -1;
    std::string unknown_surface = " \xE2\x81\x87 ";  // the text of the unknown piece
    std::string character_map;                       // of CharacterMap; empty: none
    std::string decoded_map;                         // applied to decoded text; empty: none
    Vocabulary pieces{Vocabulary::Bare()};
    std::vector<float> scores;     // by id
    std::vector<PieceType> types;  // by id

    PieceType type(int32_t id) const { return types[static_cast<size_t>(id)]; }
    float score(int32_t id) const { return scores[static_cast<size_t>(id)]; }
    // Pieces that text can become.
    bool is_text(int32_t id) const { return type(id) == PieceType::kNormal || type(id) == PieceType::kUserDefined; }
};

}  // namespace xf
