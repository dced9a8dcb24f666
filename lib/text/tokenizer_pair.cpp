// See tokenizer_pair.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer_pair.h"

#include <rapidjson/encodings.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include "core/error.h"
#include "core/json_allocator.h"
#include "text/tokenizer_json_events.h"
#include "text/tokenizer_json_keys.h"

namespace xf {
namespace {

constexpr char kPair[] = "pair";
constexpr const char *kKeyNames[] = {"format", "version", "kind", "source", "target"};
enum Key { kFormatKey, kVersionKey, kKindKey, kSourceKey, kTargetKey, kKeyCount };

// An object of texts, the version a number; stops at anything else.
class Handler : public tokenizer_json::Events {
public:
    bool complete() const { return version_ && values_[kKindKey] == kPair && done_; }
    bool is_pair() const { return values_[kKindKey] == kPair; }
    const std::string &value(Key key) const { return values_[key]; }

    bool Null() { return false; }
    bool Bool(bool) { return false; }
    bool RawNumber(const Ch *data, rapidjson::SizeType size, bool) {
        version_ = key_ == kVersionKey && std::string_view(data, size) == "1";
        return version_;
    }
    bool String(const Ch *data, rapidjson::SizeType size, bool) {
        if (key_ < 0 || key_ == kVersionKey) return false;
        values_[key_].assign(data, size);
        const bool good = (key_ != kFormatKey || values_[key_] == tokenizer_json::kFormat) &&
                          (key_ != kKindKey || values_[key_] == kPair);
        return good;
    }
    bool StartObject() { return depth_++ == 0; }
    // In the order of writing, each once.
    bool Key(const Ch *data, rapidjson::SizeType size, bool) {
        return ++key_ < kKeyCount && std::string_view(data, size) == kKeyNames[key_];
    }
    bool EndObject(rapidjson::SizeType) {
        done_ = key_ == kKeyCount - 1;
        return done_;
    }
    bool StartArray() { return false; }
    bool EndArray(rapidjson::SizeType) { return false; }

private:
    int depth_ = 0, key_ = -1;
    bool version_ = false, done_ = false;
    std::string values_[kKeyCount];
};

std::shared_ptr<const Tokenizer> side(const char *name, const std::string &json) {
    XF_CHECK(!TokenizerPair::is_json(json), XF_ERROR_CORRUPT, "the %s of the pair of tokenizers is a pair itself",
             name);
    try {
        return Tokenizer::parse(json);
    } catch (const Error &error) {
        throw Error(error.status(), format("%s: %s", name, error.what()));
    }
}

}  // namespace

TokenizerPair::TokenizerPair(std::shared_ptr<const Tokenizer> source, std::shared_ptr<const Tokenizer> target)
    : source_(std::move(source)), target_(std::move(target)) {
    XF_CHECK(source_->end_id() == target_->end_id(), XF_ERROR_CORRUPT,
             "the source's tokenizer ends a text with %d, the target's with %d, expected the same", source_->end_id(),
             target_->end_id());
}

bool TokenizerPair::is_json(std::string_view json) {
    Handler handler;
    try {
        tokenizer_json::read_events(json, &handler);
    } catch (const Error &) {
        return false;  // the reader of single ones says what is wrong
    }
    return handler.is_pair();
}

std::shared_ptr<const Tokenizer> TokenizerPair::parse(std::string_view json) {
    Handler handler;
    const bool whole = tokenizer_json::read_events(json, &handler);
    XF_CHECK(whole && handler.complete(), XF_ERROR_CORRUPT,
             "the pair of tokenizers is none: expected format, version 1, kind, source and target, in this order");
    return std::make_shared<TokenizerPair>(side("source", handler.value(kSourceKey)),
                                           side("target", handler.value(kTargetKey)));
}

std::string TokenizerPair::serialize() const {
    using Utf8 = rapidjson::UTF8<>;
    using Buffer = rapidjson::GenericStringBuffer<Utf8, ThrowingAllocator>;
    Buffer buffer;
    rapidjson::Writer<Buffer, Utf8, Utf8, ThrowingAllocator> writer(buffer);
    writer.StartObject();
    writer.Key(kKeyNames[kFormatKey]);
    writer.String(tokenizer_json::kFormat);
    writer.Key(kKeyNames[kVersionKey]);
    writer.Int64(tokenizer_json::kVersion);
    writer.Key(kKeyNames[kKindKey]);
    writer.String(kPair);
    for (const auto &[key, tokenizer] : {std::pair(kSourceKey, source_), std::pair(kTargetKey, target_)}) {
        const std::string text = tokenizer->serialize();
        writer.Key(kKeyNames[key]);
        writer.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
    }
    writer.EndObject();
    return {buffer.GetString(), buffer.GetSize()};
}

}  // namespace xf
