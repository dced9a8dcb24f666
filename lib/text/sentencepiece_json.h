// The file format of a tokenizer of SentencePiece: one JSON object, kept in the metadata of a model file.
//
//     {"format":"xformer-tokenizer","version":1,"kind":"sentencepiece-unigram","add_dummy_prefix":true,
//      "remove_extra_whitespaces":true,"escape_whitespaces":true,"whitespace_as_suffix":false,"byte_fallback":false,
//      "start":1,"end":2,"unknown_surface":" ⁇ ","character_map":"4E8B...","decoded_map":"",
//      "pieces":[["<unk>",0,2],["<s>",0,3],["</s>",0,3],["▁the",-3.25,1],...]}
//
// A piece is its text, its score and its type (sentencepiece_table.h), in the order of the ids. The maps are Base64 of
// CharacterMap::bytes(). Scores have the digits that a float needs. Readers know two kinds, "sentencepiece-unigram" and
// "sentencepiece-bpe", want every key, and refuse what they do not know, so any change of meaning needs a new version.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "text/sentencepiece_table.h"
#include "text/tokenizer_json_keys.h"

namespace xf {

// Checks the form; SentencePieceTokenizer checks the table. XF_ERROR_CORRUPT, XF_ERROR_LIMIT, XF_ERROR_VERSION.
SentencePieceTable read_sentencepiece_json(std::string_view json);

std::string write_sentencepiece_json(const SentencePieceTable &table);

namespace sentencepiece_json {

inline constexpr char kUnigram[] = "sentencepiece-unigram";
inline constexpr char kBpe[] = "sentencepiece-bpe";
inline constexpr size_t kMaxSurfaceBytes = 256;

// What a key of the object is. The order is the order of writing, and of kPieceKeyNames.
enum Key {
    kDummyPrefixKey = tokenizer_json::kCommonKeyCount,
    kExtraSpacesKey,
    kEscapeKey,
    kSuffixKey,
    kByteFallbackKey,
    kStartKey,
    kEndKey,
    kSurfaceKey,
    kMapKey,
    kDecodedMapKey,
    kPieceListKey,
    kKeyCount
};
inline constexpr const char *kPieceKeyNames[kKeyCount] = {"format",
                                                          "version",
                                                          "kind",
                                                          "add_dummy_prefix",
                                                          "remove_extra_whitespaces",
                                                          "escape_whitespaces",
                                                          "whitespace_as_suffix",
                                                          "byte_fallback",
                                                          "start",
                                                          "end",
                                                          "unknown_surface",
                                                          "character_map",
                                                          "decoded_map",
                                                          "pieces"};

}  // namespace sentencepiece_json

}  // namespace xf
