// The contents of a SentencePiece model, as stored in a file; see sentencepiece/tokenizer.h.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "text/vocabulary.h"

namespace xf {

// The values are those in a .model file.
enum class PieceType : uint8_t {
    kNormal = 1,
    kUnknown = 2,      // represents text that no piece covers; exactly one piece has this type
    kControl = 3,      // "<s>", "</s>", "<pad>": never encoded from text, decoded to nothing
    kUserDefined = 4,  // always segmented as one piece
    kUnused = 5,       // has an id but is never encoded
    kByte = 6          // "<0x00>" to "<0xFF>"
};

struct WhitespaceRules {
    bool add_dummy_prefix = true;          // add a space before the text (after it with whitespace_as_suffix)
    bool remove_extra_whitespaces = true;  // remove spaces at both ends and repeated ones between words
    bool escape_whitespaces = true;        // replace spaces by U+2581
    bool whitespace_as_suffix = false;     // the dummy space follows the text
};

struct SentencePieceTable : WhitespaceRules {
    enum class Kind : uint8_t { kUnigram, kBpe };

    Kind kind = Kind::kUnigram;
    bool byte_fallback = false;                      // encode text that no piece covers as bytes
    int32_t start_id = -1;                           // id of a control piece, or -1
    int32_t end_id = -1;                             // id of a control piece, or -1
    std::string unknown_surface = " \xE2\x81\x87 ";  // decoded text of the unknown piece
    std::string character_map;                       // CharacterMap::bytes(), may be empty
    std::string decoded_map;                         // the same, applied to decoded text
    Vocabulary pieces{Vocabulary::Bare()};
    std::vector<float> scores;     // by id
    std::vector<PieceType> types;  // by id

    PieceType type(int32_t id) const { return types[id]; }
    float score(int32_t id) const { return scores[id]; }
    // Returns whether text can be encoded as this piece.
    bool is_text(int32_t id) const { return type(id) == PieceType::kNormal || type(id) == PieceType::kUserDefined; }
};

}  // namespace xf
