// Reading a tokenizer of SentencePiece; see sentencepiece_json.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/sentencepiece_json.h"

#include "core/error.h"
#include "text/base64.h"
#include "text/character_map.h"
#include "text/tokenizer_json_object.h"

namespace xf {

using namespace sentencepiece_json;
using tokenizer_json::kFormatKey;
using tokenizer_json::kKindKey;
using tokenizer_json::kVersionKey;

namespace {

class SentencePieceReader : public tokenizer_json::ObjectReader<kPieceKeyNames> {
public:
    explicit SentencePieceReader(SentencePieceTable *table) : table_(table) {}

    bool Bool(bool value) {
        switch (at_value()) {
            case kDummyPrefixKey:
                table_->add_dummy_prefix = value;
                return true;
            case kExtraSpacesKey:
                table_->remove_extra_whitespaces = value;
                return true;
            case kEscapeKey:
                table_->escape_whitespaces = value;
                return true;
            case kSuffixKey:
                table_->whitespace_as_suffix = value;
                return true;
            case kByteFallbackKey:
                table_->byte_fallback = value;
                return true;
            default:
                refuse("true or false");
        }
    }

    bool RawNumber(const Ch *data, rapidjson::SizeType size, bool) {
        if (depth_ == 3 && column_ == 1) {
            if (!read_number(data, size, &score_)) refuse("a number that no float can hold");
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
            if (column_ != 0) refuse("a bad piece");
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
                XF_CHECK(size <= kMaxSurfaceBytes, XF_ERROR_LIMIT, "the text of unknown has %zu bytes, at most %zu",
                         text.size(), kMaxSurfaceBytes);
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
        if (depth_ == 3 && column_ != 3) refuse("a bad piece");
        --depth_;
        return true;
    }

private:
    bool set_integer(int32_t value) {
        if (depth_ == 3) {
            if (column_ != 2 || value < 1 || value > static_cast<int>(PieceType::kByte)) refuse("a bad piece");
            table_->scores.push_back(score_);
            table_->types.push_back(static_cast<PieceType>(value));
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
        XF_CHECK(text.size() <= CharacterMap::kMaxBytes / 3 * 4 + 4, XF_ERROR_LIMIT,
                 "'%s' has %zu characters, expected a map of at most %zu bytes", kPieceKeyNames[key_], text.size(),
                 CharacterMap::kMaxBytes);
        if (!from_base64(text, map)) refuse("what is not Base64");
        return true;
    }

    SentencePieceTable *table_;
    // depth_ is 2 in the list of pieces, 3 in a piece.
    int column_ = 0;  // of the piece: 0 its text, 1 its score, 2 its type
    float score_ = 0;
};

}  // namespace

SentencePieceTable read_sentencepiece_json(std::string_view json) {
    SentencePieceTable table;
    SentencePieceReader handler(&table);
    tokenizer_json::read_events(json, &handler);
    return table;
}

}  // namespace xf
