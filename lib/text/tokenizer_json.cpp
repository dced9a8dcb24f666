// Reading and writing the tokenizer's JSON; see tokenizer_json.h.
//
// The reader takes events as the parser finds them and builds no tree: a hostile text cannot make it allocate more
// than a few times its own size, and neither nesting nor destruction recurses (the parser is rapidjson's iterative
// one, and the handler stops it at the first bracket too many).
//
// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer_json.h"

#include <rapidjson/encodedstream.h>
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include "core/error.h"
#include "text/utf8.h"

namespace xf {
namespace {

constexpr char kFormat[] = "xformer-tokenizer";
constexpr int64_t kVersion = 1;

const char *name_of(Normalization form) {
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
    kMergesKey,
    kKeyCount
};
constexpr const char *kKeyNames[kKeyCount] = {"format",       "version",    "kind",           "normalization",
                                              "invalid_utf8", "vocab_size", "min_pair_count", "character_coverage",
                                              "characters",   "merges"};

class Handler {
public:
    using Ch = char;

    Handler(TokenizerOptions *options, BpeTable *table) : options_(options), table_(table) {}

    bool Null() { refuse("null"); }
    bool Bool(bool) { refuse("true or false"); }
    bool Int(int value) { return Int64(value); }
    bool Uint(unsigned value) { return Int64(value); }
    bool Uint64(uint64_t) { refuse("a number above 2^63"); }
    bool RawNumber(const Ch *, rapidjson::SizeType, bool) { refuse("a number"); }

    bool Int64(int64_t value) {
        if (depth_ == 3) {
            if (in_pair_ == 2 || value < 0 || value > Vocabulary::kMaxSize) refuse("a bad merge");
            pair_[in_pair_++] = static_cast<int32_t>(value);
            return true;
        }
        switch (at_value()) {
            case kVersionKey:
                XF_CHECK(value == kVersion, XF_ERROR_VERSION, "tokenizer version %lld, expected %lld",
                         static_cast<long long>(value), static_cast<long long>(kVersion));
                return true;
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

    bool Double(double value) {
        if (at_value() != kCoverageKey) refuse("a number with a fraction");
        options_->character_coverage = value;
        return true;
    }

    bool String(const Ch *data, rapidjson::SizeType size, bool) {
        const std::string_view text(data, size);
        switch (at_value()) {
            case kFormatKey:
                if (text != kFormat) refuse("another format");
                return true;
            case kKindKey:
                if (text != "bpe") refuse("an unknown kind");
                return true;
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
        if (depth_ < 1 || depth_ > 2 || key_ != kMergesKey) refuse("an array");
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
    // The key whose plain value is being read, -1 where none is expected.
    int at_value() const { return depth_ == 1 && key_ != kMergesKey ? key_ : -1; }

    [[noreturn]] void refuse(const char *found) const {
        if (depth_ == 0) fail(XF_ERROR_CORRUPT, "the tokenizer is %s, expected an object", found);
        fail(XF_ERROR_CORRUPT, "the tokenizer has %s in '%s'", found, kKeyNames[key_]);
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
    BpeTable *table_;
    int depth_ = 0;  // 1 in the object, 2 in the list of merges, 3 in a merge
    int key_ = 0;
    bool seen_[kKeyCount] = {};
    int32_t pair_[2] = {};
    int in_pair_ = 0;
};

}  // namespace

std::string write_tokenizer_json(const TokenizerOptions &options, const BpeTable &table) {
    std::string characters;
    for (const uint32_t c : table.characters) append_utf8(c, &characters);
    rapidjson::StringBuffer out;
    rapidjson::Writer<rapidjson::StringBuffer> writer(out);
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
    text(kKindKey, "bpe");
    text(kNormalizationKey, name_of(options.normalization));
    text(kInvalidKey, options.invalid_utf8 == InvalidUtf8::kError ? "error" : "replace");
    integer(kVocabSizeKey, options.vocab_size);
    integer(kMinPairCountKey, options.min_pair_count);
    writer.Key(kKeyNames[kCoverageKey]);
    writer.Double(options.character_coverage);
    text(kCharactersKey, characters);
    writer.Key(kKeyNames[kMergesKey]);
    writer.StartArray();
    for (const BpeMerge &merge : table.merges) {
        writer.StartArray();
        writer.Int(merge.left);
        writer.Int(merge.right);
        writer.EndArray();
    }
    writer.EndArray();
    writer.EndObject();
    return std::string(out.GetString(), out.GetSize());
}

void read_tokenizer_json(std::string_view json, TokenizerOptions *options, BpeTable *table) {
    XF_CHECK(json.size() <= kMaxTokenizerJsonBytes, XF_ERROR_LIMIT, "the tokenizer has %zu bytes, expected at most %zu",
             json.size(), kMaxTokenizerJsonBytes);
    // The parser takes a NUL byte for the end of the text, and would not see what follows it.
    XF_CHECK(json.find('\0') == std::string_view::npos, XF_ERROR_CORRUPT, "the tokenizer holds a NUL byte");
    rapidjson::MemoryStream bytes(json.data(), json.size());
    rapidjson::Reader reader;
    Handler handler(options, table);
    constexpr unsigned kFlags =
        rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag | rapidjson::kParseFullPrecisionFlag;
    const rapidjson::ParseResult result = reader.Parse<kFlags>(bytes, handler);
    XF_CHECK(!result.IsError(), XF_ERROR_CORRUPT, "the tokenizer is not JSON at byte %zu: %s", result.Offset(),
             rapidjson::GetParseError_En(result.Code()));
    check_tokenizer_options(*options, XF_ERROR_CORRUPT);
}

}  // namespace xf
