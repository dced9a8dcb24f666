// Writing a tokenizer of SentencePiece; see sentencepiece_json.h. The same tokenizer gives the same bytes.
//
// SPDX-License-Identifier: Apache-2.0
#include <rapidjson/encodings.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <charconv>

#include "core/json_allocator.h"
#include "text/base64.h"
#include "text/character_map.h"
#include "text/sentencepiece_json.h"
#include "text/tokenizer_json.h"
#include "text/tokenizer_json_keys.h"

namespace xf {

using namespace sentencepiece_json;
using tokenizer_json::kFormatKey;
using tokenizer_json::kKindKey;
using tokenizer_json::kVersionKey;

// What is written can be read: the largest vocabulary in which every byte becomes \u0000, with brackets, scores of up
// to 16 characters and types; two maps; and the rest.
static_assert(6 * Vocabulary::kMaxTotalBytes + 24 * Vocabulary::kMaxSize + 2 * (CharacterMap::kMaxBytes / 3 * 4 + 4) +
                  6 * kMaxSurfaceBytes + 1024 <
              kMaxTokenizerJsonBytes);

std::string write_sentencepiece_json(const SentencePieceTable &table) {
    using Utf8 = rapidjson::UTF8<>;
    using Buffer = rapidjson::GenericStringBuffer<Utf8, ThrowingAllocator>;
    Buffer out;
    rapidjson::Writer<Buffer, Utf8, Utf8, ThrowingAllocator> writer(out);
    const auto string = [&](std::string_view value) {
        writer.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
    };
    const auto text = [&](int key, std::string_view value) {
        writer.Key(kPieceKeyNames[key]);
        string(value);
    };
    const auto integer = [&](int key, int64_t value) {
        writer.Key(kPieceKeyNames[key]);
        writer.Int64(value);
    };
    const auto flag = [&](int key, bool value) {
        writer.Key(kPieceKeyNames[key]);
        writer.Bool(value);
    };
    writer.StartObject();
    text(kFormatKey, tokenizer_json::kFormat);
    integer(kVersionKey, tokenizer_json::kVersion);
    text(kKindKey, table.kind == SentencePieceTable::Kind::kBpe ? kBpe : kUnigram);
    flag(kDummyPrefixKey, table.add_dummy_prefix);
    flag(kExtraSpacesKey, table.remove_extra_whitespaces);
    flag(kEscapeKey, table.escape_whitespaces);
    flag(kSuffixKey, table.whitespace_as_suffix);
    flag(kByteFallbackKey, table.byte_fallback);
    integer(kStartKey, table.start_id);
    integer(kEndKey, table.end_id);
    text(kSurfaceKey, table.unknown_surface);
    text(kMapKey, to_base64(table.character_map));
    text(kDecodedMapKey, to_base64(table.decoded_map));
    writer.Key(kPieceKeyNames[kPieceListKey]);
    writer.StartArray();
    for (int32_t id = 0; id < table.pieces.size(); ++id) {
        char digits[32];
        const auto end = std::to_chars(digits, digits + sizeof digits, table.score(id)).ptr;
        writer.StartArray();
        string(table.pieces.bytes(id));
        writer.RawValue(digits, static_cast<size_t>(end - digits), rapidjson::kNumberType);
        writer.Int(static_cast<int>(table.type(id)));
        writer.EndArray();
    }
    writer.EndArray();
    writer.EndObject();
    return std::string(out.GetString(), out.GetSize());
}

}  // namespace xf
