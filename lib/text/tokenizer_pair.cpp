// See tokenizer_pair.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer_pair.h"

#include <rapidjson/encodings.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include "core/error.h"
#include "core/json_allocator.h"
#include "text/tokenizer_json_keys.h"
#include "text/tokenizer_json_kind.h"
#include "text/tokenizer_json_object.h"

namespace xf {

using tokenizer_json::kCommonKeyCount;
using tokenizer_json::kFormat;
using tokenizer_json::kFormatKey;
using tokenizer_json::kKindKey;
using tokenizer_json::kVersion;
using tokenizer_json::kVersionKey;

namespace {

constexpr const char *kPairKeyNames[] = {"format", "version", "kind", "source", "target"};
enum Key { kSourceKey = kCommonKeyCount, kTargetKey };

class PairReader : public tokenizer_json::ObjectReader<kPairKeyNames> {
public:
    std::string source, target;

    bool RawNumber(const Ch *data, rapidjson::SizeType size, bool) {
        int64_t value = 0;
        if (at_value() != kVersionKey || !read_number(data, size, &value)) refuse("a number");
        return check_version(value);
    }

    bool String(const Ch *data, rapidjson::SizeType size, bool) {
        const std::string_view text(data, size);
        switch (at_value()) {
            case kFormatKey:
                return check_format(text);
            case kKindKey:
                if (text != TokenizerPair::kKind) refuse("an unknown kind");
                return true;
            case kSourceKey:
                source = text;
                return true;
            case kTargetKey:
                target = text;
                return true;
            default:
                refuse("a string");
        }
    }
};

std::shared_ptr<const Tokenizer> side(const char *name, const std::string &json) {
    try {
        // Before it is read: pairs within pairs would be as deep as the text says.
        XF_CHECK(tokenizer_json::kind_of(json) != TokenizerPair::kKind, XF_ERROR_CORRUPT,
                 "the tokenizer is a pair itself");
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

std::shared_ptr<const Tokenizer> TokenizerPair::parse(std::string_view json) {
    PairReader handler;
    tokenizer_json::read_events(json, &handler);
    return std::make_shared<TokenizerPair>(side("source", handler.source), side("target", handler.target));
}

std::string TokenizerPair::serialize() const {
    using Utf8 = rapidjson::UTF8<>;
    using Buffer = rapidjson::GenericStringBuffer<Utf8, ThrowingAllocator>;
    Buffer buffer;
    rapidjson::Writer<Buffer, Utf8, Utf8, ThrowingAllocator> writer(buffer);
    writer.StartObject();
    writer.Key(kPairKeyNames[kFormatKey]);
    writer.String(kFormat);
    writer.Key(kPairKeyNames[kVersionKey]);
    writer.Int64(kVersion);
    writer.Key(kPairKeyNames[kKindKey]);
    writer.String(kKind);
    for (const auto &[key, tokenizer] : {std::pair(kSourceKey, source_), std::pair(kTargetKey, target_)}) {
        const std::string text = tokenizer->serialize();
        writer.Key(kPairKeyNames[key]);
        writer.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
    }
    writer.EndObject();
    return {buffer.GetString(), buffer.GetSize()};
}

}  // namespace xf
