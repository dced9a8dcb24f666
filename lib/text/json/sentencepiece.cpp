// Reading and writing SentencePiece tokenizers; see json/sentencepiece.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/json/sentencepiece.h"

#include "core/error.h"
#include "text/json/reader.h"
#include "text/json/writer.h"
#include "text/sentencepiece/character_map.h"

namespace xf {

using namespace sentencepiece_json;
using namespace tokenizer_json;

namespace {

constexpr size_t kMaxSurfaceBytes = 256;
constexpr size_t kMaxMapChars = CharacterMap::kMaxBytes / 3 * 4 + 4;  // in Base64

// The file is never larger than what the reader accepts: the largest vocabulary with every byte written as \u0000,
// brackets, scores of up to 16 characters and types; two maps; and the other keys.
static_assert(6 * Vocabulary::kMaxTotalBytes + 24 * Vocabulary::kMaxSize + 2 * kMaxMapChars + 6 * kMaxSurfaceBytes +
                  1024 <
              kMaxTokenizerJsonBytes);

enum SentencePieceKey {
    kDummyPrefixKey = kCommonKeyCount,
    kStartKey = kDummyPrefixKey + 5,
    kEndKey,
    kSurfaceKey,
    kMapKey,
    kDecodedMapKey,
    kPieceListKey,
    kPieceKeyCount
};
constexpr const char *kPieceKeyNames[kPieceKeyCount] = {"format",
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

// From kDummyPrefixKey on.
constexpr bool SentencePieceTable::*kFlags[] = {
    &SentencePieceTable::add_dummy_prefix, &SentencePieceTable::remove_extra_whitespaces,
    &SentencePieceTable::escape_whitespaces, &SentencePieceTable::whitespace_as_suffix,
    &SentencePieceTable::byte_fallback};

class SentencePieceReader : public ObjectReader<kPieceKeyNames> {
public:
    explicit SentencePieceReader(SentencePieceTable *table) : table_(table) {}

    bool Bool(bool value) {
        const int flag = at_value() - kDummyPrefixKey;
        if (flag < 0 || flag >= std::ssize(kFlags)) refuse("true or false");
        table_->*kFlags[flag] = value;
        return true;
    }

    bool RawNumber(const Ch *data, rapidjson::SizeType size, bool) {
        if (depth_ == 3 && column_ == 1) {
            if (!read_number(data, size, &score_)) refuse("a number beyond the range of a float");
            ++column_;
            return true;
        }
        int32_t value = 0;
        if (!read_number(data, size, &value)) refuse("a number with a fraction or beyond 32 bits");
        return set_integer(value);
    }

    bool String(const Ch *data, rapidjson::SizeType size, bool) {
        const std::string_view text(data, size);
        if (depth_ == 3) {
            if (column_ != 0) refuse("an invalid piece");
            table_->pieces.add(text);
            ++column_;
            return true;
        }
        switch (at_value()) {
            case kFormatKey:
                return check_format(text);
            case kKindKey:
                if (text != kBpe && text != kUnigram) refuse("an unknown kind");
                table_->kind = text == kBpe ? SentencePieceTable::Kind::kBpe : SentencePieceTable::Kind::kUnigram;
                return true;
            case kSurfaceKey:
                XF_CHECK(size <= kMaxSurfaceBytes, XF_ERROR_LIMIT,
                         "'unknown_surface' has %zu bytes, expected at most %zu", text.size(), kMaxSurfaceBytes);
                table_->unknown_surface = text;
                return true;
            case kMapKey:
                return set_map(text, &table_->character_map);
            case kDecodedMapKey:
                return set_map(text, &table_->decoded_map);
            default:
                refuse("a string");
        }
    }

    bool StartArray() {
        if (depth_ < 1 || depth_ > 2 || key_ != kPieceListKey) refuse("an array");
        ++depth_;
        column_ = 0;
        return true;
    }

    bool EndArray(rapidjson::SizeType) {
        if (depth_ == 3 && column_ != 3) refuse("an invalid piece");
        --depth_;
        return true;
    }

private:
    bool set_integer(int32_t value) {
        if (depth_ == 3) {
            if (column_ != 2 || value < 1 || value > int(PieceType::kByte)) refuse("an invalid piece");
            table_->scores.push_back(score_);
            table_->types.push_back(PieceType(value));
            ++column_;
            return true;
        }
        switch (at_value()) {
            case kVersionKey:
                return check_version(value);
            case kStartKey:
                table_->start_id = value;
                return true;
            case kEndKey:
                table_->end_id = value;
                return true;
            default:
                refuse("an integer");
        }
    }

    bool set_map(std::string_view text, std::string *map) {
        XF_CHECK(text.size() <= kMaxMapChars, XF_ERROR_LIMIT,
                 "'%s' has %zu characters, expected a map of at most %zu bytes", kPieceKeyNames[key_], text.size(),
                 CharacterMap::kMaxBytes);
        if (!from_base64(text, map)) refuse("invalid Base64");
        return true;
    }

    SentencePieceTable *table_;
    // depth_ is 2 in the list of pieces and 3 in a piece.
    int column_ = 0;  // in a piece: 0 is the text, 1 the score, 2 the type
    float score_ = 0;
};

}  // namespace

SentencePieceTable read_sentencepiece_json(std::string_view json) {
    SentencePieceTable table;
    SentencePieceReader handler(&table);
    read_events(json, &handler);
    return table;
}

std::string write_sentencepiece_json(const SentencePieceTable &table) {
    ObjectWriter writer(table.kind == SentencePieceTable::Kind::kBpe ? kBpe : kUnigram);
    for (int flag = 0; flag < std::ssize(kFlags); ++flag)
        writer.boolean(kPieceKeyNames[kDummyPrefixKey + flag], table.*kFlags[flag]);
    writer.integer(kPieceKeyNames[kStartKey], table.start_id);
    writer.integer(kPieceKeyNames[kEndKey], table.end_id);
    writer.string(kPieceKeyNames[kSurfaceKey], table.unknown_surface);
    writer.string(kPieceKeyNames[kMapKey], to_base64(table.character_map));
    writer.string(kPieceKeyNames[kDecodedMapKey], to_base64(table.decoded_map));
    writer.start_array(kPieceKeyNames[kPieceListKey]);
    for (int32_t id = 0; id < table.pieces.size(); ++id) {
        writer.start_array();
        writer.element(table.pieces.bytes(id));
        writer.element(table.score(id));
        writer.element(int32_t(table.type(id)));
        writer.end_array();
    }
    writer.end_array();
    return writer.finish();
}

}  // namespace xf
