// The file format of SentencePiece tokenizers: one JSON object, stored in the metadata of a model file.
//
//     {"format":"xformer-tokenizer","version":1,"kind":"sentencepiece-unigram","add_dummy_prefix":true,
//      "remove_extra_whitespaces":true,"escape_whitespaces":true,"whitespace_as_suffix":false,"byte_fallback":false,
//      "start":1,"end":2,"unknown_surface":" ⁇ ","character_map":"4E8B...","decoded_map":"",
//      "pieces":[["<unk>",0,2],["<s>",0,3],["</s>",0,3],["▁the",-3.25,1],...]}
//
// A piece consists of its text, its score, and its type (sentencepiece/table.h); pieces are in the order of their ids.
// The maps are CharacterMap::bytes() in Base64. Scores are floats in their shortest decimal form. The kinds are
// "sentencepiece-unigram" and "sentencepiece-bpe". Every key is required and unknown keys are rejected, so any change
// of meaning requires a new version.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "text/sentencepiece/table.h"

namespace xf {

// Checks the format; SentencePieceTokenizer checks the table. XF_ERROR_CORRUPT, XF_ERROR_LIMIT, XF_ERROR_VERSION.
SentencePieceTable read_sentencepiece_json(std::string_view json);

std::string write_sentencepiece_json(const SentencePieceTable &table);

namespace sentencepiece_json {

inline constexpr char kUnigram[] = "sentencepiece-unigram";
inline constexpr char kBpe[] = "sentencepiece-bpe";

}  // namespace sentencepiece_json
}  // namespace xf
