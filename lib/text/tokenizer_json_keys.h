// The words of the tokenizers' JSON, for their readers and writers: those of all formats, and those of the tokenizers
// learnt here.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/error.h"
#include "text/normalize.h"
#include "text/word_tokenizer.h"

namespace xf::tokenizer_json {

inline constexpr char kFormat[] = "xformer-tokenizer";
inline constexpr int64_t kVersion = 1;

// The first keys of every format; each goes on with its own.
enum CommonKey { kFormatKey, kVersionKey, kKindKey, kCommonKeyCount };

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

inline const char *name_of(TokenizerKind kind) {
    switch (kind) {
        case TokenizerKind::kBpe:
            return "bpe";
        case TokenizerKind::kWordPiece:
            return "wordpiece";
        case TokenizerKind::kUnigram:
            return "unigram";
    }
    fail(XF_ERROR_INTERNAL, "kind %d has no name", static_cast<int>(kind));
}

// What a key of the object is. The order is the order of writing, and of kKeyNames.
enum Key {
    kNormalizationKey = kCommonKeyCount,
    kInvalidKey,
    kVocabSizeKey,
    kMinPairCountKey,
    kCoverageKey,
    kCharactersKey,
    kMergesKey,  // of kBpe alone
    kPiecesKey,  // of kWordPiece and kUnigram
    kScoresKey,  // of kUnigram alone
    kKeyCount
};
// True for the keys that a kind has; the others it must not have.
inline bool has_key(TokenizerKind kind, int key) {
    if (key == kMergesKey) return kind == TokenizerKind::kBpe;
    if (key == kPiecesKey) return kind != TokenizerKind::kBpe;
    return key != kScoresKey || kind == TokenizerKind::kUnigram;
}
inline constexpr const char *kKeyNames[kKeyCount] = {
    "format",       "version",    "kind",           "normalization",
    "invalid_utf8", "vocab_size", "min_pair_count", "character_coverage",
    "characters",   "merges",     "pieces",         "scores"};

}  // namespace xf::tokenizer_json
