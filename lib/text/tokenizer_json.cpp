// Reading the tokenizer's JSON; see tokenizer_json.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer_json.h"

#include "core/error.h"
#include "core/utf8.h"
#include "text/tokenizer_json_keys.h"
#include "text/tokenizer_json_object.h"

namespace xf {

using namespace tokenizer_json;

namespace {

class TableReader : public ObjectReader<kKeyNames> {
public:
    TableReader(TokenizerOptions *options, TokenizerTable *table) : options_(options), table_(table) {}

    bool RawNumber(const Ch *data, rapidjson::SizeType size, bool) {
        if (depth_ == 2 && key_ == kScoresKey) return add_score(data, size);
        int64_t integer = 0;
        if (read_number(data, size, &integer)) return set_integer(integer);
        if (at_value() != kCoverageKey) refuse("a number with a fraction or beyond 64 bits");
        if (!read_number(data, size, &options_->character_coverage)) refuse("a number that no double can hold");
        return true;
    }

    bool String(const Ch *data, rapidjson::SizeType size, bool) {
        const std::string_view text(data, size);
        if (depth_ == 2 && key_ == kPiecesKey) return add_piece(text);
        switch (at_value()) {
            case kFormatKey:
                return check_format(text);
            case kKindKey:
                return set_kind(text);
            case kNormalizationKey:
                return set_normalization(text);
            case kInvalidKey:
                if (text != "error" && text != "replace") refuse("an unknown word");
                options_->invalid_utf8 = text == "error" ? InvalidUtf8::kError : InvalidUtf8::kReplace;
                return true;
            case kCharactersKey:
                return set_characters(text);
            default:
                refuse("a string");
        }
    }

    bool EndObject(rapidjson::SizeType) {
        return end_object([&](int key) { return has_key(options_->kind, key); });
    }

    bool StartArray() {
        if (depth_ < 1 || depth_ > (key_ == kMergesKey ? 2 : 1) || !is_list(key_)) refuse("an array");
        ++depth_;
        in_pair_ = 0;
        return true;
    }

    bool EndArray(rapidjson::SizeType) {
        if (depth_ == 3) {
            if (in_pair_ != 2) refuse("a bad merge");
            XF_CHECK(table_->merges.size() < BpeTable::kMaxMerges, XF_ERROR_LIMIT, "more than %zu merges",
                     BpeTable::kMaxMerges);
            table_->merges.push_back({pair_[0], pair_[1]});
        }
        --depth_;
        return true;
    }

private:
    static bool is_list(int key) { return key == kMergesKey || key == kPiecesKey || key == kScoresKey; }

    bool set_integer(int64_t value) {
        if (depth_ == 3) {
            if (in_pair_ == 2 || value < 0 || value > Vocabulary::kMaxSize) refuse("a bad merge");
            pair_[in_pair_++] = static_cast<int32_t>(value);
            return true;
        }
        switch (at_value()) {
            case kVersionKey:
                return check_version(value);
            case kVocabSizeKey:
                options_->vocab_size = value;
                return true;
            case kMinPairCountKey:
                options_->min_pair_count = value;
                return true;
            case kCoverageKey:
                options_->character_coverage = static_cast<double>(value);
                return true;
            default:
                refuse("an integer");
        }
    }

    bool add_piece(std::string_view text) {
        XF_CHECK(static_cast<int64_t>(table_->pieces.size()) < Vocabulary::kMaxSize, XF_ERROR_LIMIT,
                 "more than %lld pieces", static_cast<long long>(Vocabulary::kMaxSize));
        table_->pieces.push_back(text);
        return true;
    }

    bool add_score(const Ch *data, rapidjson::SizeType size) {
        float score = 0;
        if (!read_number(data, size, &score)) refuse("a number that no float can hold");
        XF_CHECK(static_cast<int64_t>(table_->scores.size()) < Vocabulary::kMaxSize, XF_ERROR_LIMIT,
                 "more than %lld scores", static_cast<long long>(Vocabulary::kMaxSize));
        table_->scores.push_back(score);
        return true;
    }

    bool set_kind(std::string_view text) {
        for (const TokenizerKind kind : {TokenizerKind::kBpe, TokenizerKind::kWordPiece, TokenizerKind::kUnigram}) {
            if (text != name_of(kind)) continue;
            options_->kind = kind;
            return true;
        }
        refuse("an unknown kind");
    }

    bool set_normalization(std::string_view text) {
        for (const Normalization form : {Normalization::kNone, Normalization::kNfc, Normalization::kNfkc}) {
            if (text != name_of(form)) continue;
            options_->normalization = form;
            return true;
        }
        refuse("an unknown word");
    }

    bool set_characters(std::string_view text) {
        for (size_t i = 0; i < text.size();) {
            const CodePoint c = decode_utf8(text, i);
            if (!c.valid) refuse("invalid UTF-8");
            XF_CHECK(static_cast<int64_t>(table_->characters.size()) < Vocabulary::kMaxSize, XF_ERROR_LIMIT,
                     "more than %lld characters", static_cast<long long>(Vocabulary::kMaxSize));
            table_->characters.push_back(c.value);
            i += c.size;
        }
        return true;
    }

    TokenizerOptions *options_;
    TokenizerTable *table_;
    // depth_ is 2 in a list of merges, pieces or scores, 3 in a merge.
    int32_t pair_[2] = {};
    int in_pair_ = 0;
};

}  // namespace

void read_tokenizer_json(std::string_view json, TokenizerOptions *options, TokenizerTable *table) {
    TableReader handler(options, table);
    read_events(json, &handler);
    check_tokenizer_options(*options, XF_ERROR_CORRUPT);
}

}  // namespace xf
