// The words of the tokenizer's JSON, for its reader and its writer.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/error.h"
#include "text/normalize.h"

namespace xf::tokenizer_json {

inline constexpr char kFormat[] = "xformer-tokenizer";
inline constexpr int64_t kVersion = 1;

inline const char *name_of(Normalization form) {
    switch (form) {
        case Normalization::kNone:
            return "none";
        case Normalization::kNfc:
            return "nfc";
        case Normalization::kNfkc:
            return "nfkc";
    }
    fail(XF_ERROR_INTERNAL, "normalization %d has no name", static_cast<int>(form));
}

// What a key of the object is. The order is the order of writing, and of kKeyNames.
enum Key {
    kFormatKey,
    kVersionKey,
    kKindKey,
    kNormalizationKey,
    kInvalidKey,
    kVocabSizeKey,
    kMinPairCountKey,
    kCoverageKey,
    kCharactersKey,
    kMergesKey,  // of kBpe alone
    kPiecesKey,  // of kWordPiece alone
    kKeyCount
};
inline constexpr const char *kKeyNames[kKeyCount] = {
    "format",       "version",    "kind",           "normalization",
    "invalid_utf8", "vocab_size", "min_pair_count", "character_coverage",
    "characters",   "merges",     "pieces"};

}  // namespace xf::tokenizer_json
