// Writing the tokenizer's JSON; see tokenizer_json.h. The same tokenizer gives the same bytes.
//
// SPDX-License-Identifier: Apache-2.0
#include <rapidjson/encodings.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <charconv>

#include "core/json_allocator.h"
#include "core/utf8.h"
#include "text/tokenizer_json.h"
#include "text/tokenizer_json_keys.h"
#include "text/vocabulary.h"

namespace xf {

using namespace tokenizer_json;

// What is written can be read: the largest vocabulary of pieces in which every byte becomes \u0000, their quotes and
// commas, the characters once more (which are no pieces), scores of at most 16 characters; or as many merges of two
// numbers.
static_assert(6 * Vocabulary::kMaxTotalBytes + 21 * Vocabulary::kMaxSize < kMaxTokenizerJsonBytes);
static_assert(Vocabulary::kMaxTotalBytes + 20 * BpeTable::kMaxMerges < kMaxTokenizerJsonBytes);

std::string write_tokenizer_json(const TokenizerOptions &options, const TokenizerTable &table) {
    std::string characters;
    for (const uint32_t c : table.characters) append_utf8(c, &characters);
    using Utf8 = rapidjson::UTF8<>;
    using Buffer = rapidjson::GenericStringBuffer<Utf8, ThrowingAllocator>;
    Buffer out;
    rapidjson::Writer<Buffer, Utf8, Utf8, ThrowingAllocator> writer(out);
    const auto text = [&](int key, std::string_view value) {
        writer.Key(kKeyNames[key]);
        writer.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
    };
    const auto integer = [&](int key, int64_t value) {
        writer.Key(kKeyNames[key]);
        writer.Int64(value);
    };
    writer.StartObject();
    text(kFormatKey, kFormat);
    integer(kVersionKey, kVersion);
    text(kKindKey, name_of(options.kind));
    text(kNormalizationKey, name_of(options.normalization));
    text(kInvalidKey, options.invalid_utf8 == InvalidUtf8::kError ? "error" : "replace");
    integer(kVocabSizeKey, options.vocab_size);
    integer(kMinPairCountKey, options.min_pair_count);
    writer.Key(kKeyNames[kCoverageKey]);
    writer.Double(options.character_coverage);
    text(kCharactersKey, characters);
    writer.Key(kKeyNames[options.kind == TokenizerKind::kBpe ? kMergesKey : kPiecesKey]);
    writer.StartArray();
    for (size_t i = 0; i < table.pieces.size(); ++i)
        writer.String(table.pieces[i].data(), static_cast<rapidjson::SizeType>(table.pieces[i].size()));
    for (const BpeMerge &merge : table.merges) {
        writer.StartArray();
        writer.Int(merge.left);
        writer.Int(merge.right);
        writer.EndArray();
    }
    writer.EndArray();
    if (options.kind == TokenizerKind::kUnigram) {
        writer.Key(kKeyNames[kScoresKey]);
        writer.StartArray();
        for (const float score : table.scores) {
            char digits[32];
            const auto end = std::to_chars(digits, digits + sizeof digits, score).ptr;
            writer.RawValue(digits, static_cast<size_t>(end - digits), rapidjson::kNumberType);
        }
        writer.EndArray();
    }
    writer.EndObject();
    return std::string(out.GetString(), out.GetSize());
}

}  // namespace xf
