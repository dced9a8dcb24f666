// Reading a tokenizer of SentencePiece; see sentencepiece_json.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/sentencepiece_json.h"

#include <charconv>

#include "core/error.h"
#include "text/base64.h"
#include "text/character_map.h"
#include "text/tokenizer_json_events.h"
#include "text/tokenizer_json_keys.h"

namespace xf {

using namespace sentencepiece_json;
using tokenizer_json::kFormat;
using tokenizer_json::kVersion;

namespace {

// More than any number that is written has.
constexpr size_t kMaxNumberChars = 32;

bool is_kind(std::string_view text) { return text == kUnigram || text == kBpe; }

// Stops at the kind, or at the first thing that no tokenizer has before it.
class KindFinder : public tokenizer_json::Events {
public:
    bool found() const { return found_; }

    bool Null() { return depth_ > 0; }
    bool Bool(bool) { return depth_ > 0; }
    bool RawNumber(const Ch *, rapidjson::SizeType, bool) { return depth_ > 0; }
    bool String(const Ch *data, rapidjson::SizeType size, bool) {
        if (depth_ != 1 || !at_kind_) return depth_ > 0;
        found_ = is_kind({data, size});
        return false;
    }
    bool StartObject() { return depth_++ == 0; }
    bool Key(const Ch *data, rapidjson::SizeType size, bool) {
        at_kind_ = std::string_view(data, size) == tokenizer_json::kKeyNames[tokenizer_json::kKindKey];
        return true;
    }
    bool EndObject(rapidjson::SizeType) { return false; }
    bool StartArray() { return depth_++ <= 2; }
    bool EndArray(rapidjson::SizeType) {
        --depth_;
        return true;
    }

private:
    int depth_ = 0;
    bool at_kind_ = false;
    bool found_ = false;
};

class Handler : public tokenizer_json::Events {
public:
    explicit Handler(SentencePieceTable *table) : table_(table) {}

    bool Null() { refuse("null"); }

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

    // The parser has checked that it has the form of a JSON number.
    bool RawNumber(const Ch *data, rapidjson::SizeType size, bool) {
        if (size > kMaxNumberChars) refuse("a number of too many digits");
        if (depth_ == 3 && column_ == 1) {
            const auto read = std::from_chars(data, data + size, score_);
            if (read.ptr != data + size || read.ec != std::errc()) refuse("a number that no float can hold");
            ++column_;
            return true;
        }
        int32_t value = 0;
        const auto read = std::from_chars(data, data + size, value);
        if (read.ptr != data + size || read.ec != std::errc()) refuse("a number with a fraction or beyond 32 bits");
        set_integer(value);
        return true;
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
                if (text != kFormat) refuse("another format");
                return true;
            case kKindKey:
                if (!is_kind(text)) refuse("an unknown kind");
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

    bool StartObject() {
        if (depth_ != 0) refuse("an object");
        depth_ = 1;
        return true;
    }

    bool Key(const Ch *data, rapidjson::SizeType size, bool) {
        const std::string_view text(data, size);
        for (key_ = 0; key_ < kKeyCount; ++key_)
            if (text == kKeyNames[key_]) break;
        XF_CHECK(key_ < kKeyCount, XF_ERROR_CORRUPT, "the tokenizer has a key that version %lld does not know",
                 static_cast<long long>(kVersion));
        XF_CHECK(!seen_[key_], XF_ERROR_CORRUPT, "the tokenizer has the key '%s' twice", kKeyNames[key_]);
        seen_[key_] = true;
        return true;
    }

    bool EndObject(rapidjson::SizeType) {
        for (int key = 0; key < kKeyCount; ++key)
            XF_CHECK(seen_[key], XF_ERROR_CORRUPT, "the tokenizer lacks the key '%s'", kKeyNames[key]);
        depth_ = 0;
        return true;
    }

    bool StartArray() {
        if (depth_ < 1 || depth_ > 2 || key_ != kPiecesKey) refuse("an array");
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
    // The key whose plain value is being read, -1 where none is expected.
    int at_value() const { return depth_ == 1 && key_ != kPiecesKey ? key_ : -1; }

    [[noreturn]] void refuse(const char *found) const {
        if (depth_ == 0) fail(XF_ERROR_CORRUPT, "the tokenizer is %s, expected an object", found);
        fail(XF_ERROR_CORRUPT, "the tokenizer has %s in '%s'", found, kKeyNames[key_]);
    }

    void set_integer(int32_t value) {
        if (depth_ == 3) {
            if (column_ != 2 || value < 1 || value > static_cast<int>(PieceType::kByte)) refuse("a bad piece");
            table_->scores.push_back(score_);
            table_->types.push_back(static_cast<PieceType>(value));
            ++column_;
            return;
        }
        switch (at_value()) {
            case kVersionKey:
                XF_CHECK(value == kVersion, XF_ERROR_VERSION, "tokenizer version %d, expected %lld", value,
                         static_cast<long long>(kVersion));
                return;
            case kStartKey:
                table_->start_id = value;
                return;
            case kEndKey:
                table_->end_id = value;
                return;
            default:
                refuse("an integer");
        }
    }

    bool set_map(std::string_view text, std::string *map) {
        XF_CHECK(text.size() <= CharacterMap::kMaxBytes / 3 * 4 + 4, XF_ERROR_LIMIT,
                 "'%s' has %zu characters, expected a map of at most %zu bytes", kKeyNames[key_], text.size(),
                 CharacterMap::kMaxBytes);
        if (!from_base64(text, map)) refuse("what is not Base64");
        return true;
    }

    SentencePieceTable *table_;
    int depth_ = 0;   // 1 in the object, 2 in the list of pieces, 3 in a piece
    int column_ = 0;  // of the piece: 0 its text, 1 its score, 2 its type
    int key_ = 0;
    float score_ = 0;
    bool seen_[kKeyCount] = {};
};

}  // namespace

bool is_sentencepiece_json(std::string_view json) {
    KindFinder finder;
    try {
        tokenizer_json::read_events(json, &finder);
    } catch (const Error &) {
        return false;  // the reader of other kinds says what is wrong
    }
    return finder.found();
}

SentencePieceTable read_sentencepiece_json(std::string_view json) {
    SentencePieceTable table;
    Handler handler(&table);
    tokenizer_json::read_events(json, &handler);
    return table;
}

}  // namespace xf
