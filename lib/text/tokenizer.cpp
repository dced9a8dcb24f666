// Reading a tokenizer of any kind, and tokenizer pairs; see tokenizer.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer.h"

#include "core/error.h"
#include "text/json/reader.h"
#include "text/json/sentencepiece.h"
#include "text/json/writer.h"
#include "text/sentencepiece/tokenizer.h"
#include "text/words/tokenizer.h"

namespace xf {

using namespace tokenizer_json;

namespace {

constexpr const char *kPairKeyNames[] = {"format", "version", "kind", "source", "target"};
enum PairKey { kSourceKey = kCommonKeyCount, kTargetKey };

class PairReader : public ObjectReader<kPairKeyNames> {
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

std::shared_ptr<const Tokenizer> parse_side(const char *side, const std::string &json) {
    try {
        // Checked before parsing, so that nested pairs cannot cause deep recursion.
        XF_CHECK(kind_of(json) != TokenizerPair::kKind, XF_ERROR_CORRUPT,
                 "the tokenizer is a pair, expected a single tokenizer");
        return Tokenizer::parse(json);
    } catch (const Error &error) {
        throw Error(error.status(), format("%s: %s", side, error.what()));
    }
}

}  // namespace

std::shared_ptr<const Tokenizer> Tokenizer::parse(std::string_view json) {
    const std::string kind = kind_of(json);
    if (kind == TokenizerPair::kKind) return TokenizerPair::parse(json);
    if (kind == sentencepiece_json::kUnigram || kind == sentencepiece_json::kBpe)
        return std::make_shared<SentencePieceTokenizer>(read_sentencepiece_json(json));
    return WordTokenizer::parse(json);  // rejects unknown kinds
}

TokenizerPair::TokenizerPair(std::shared_ptr<const Tokenizer> source, std::shared_ptr<const Tokenizer> target)
    : source_(std::move(source)), target_(std::move(target)) {
    XF_CHECK(source_->end_id() == target_->end_id(), XF_ERROR_CORRUPT,
             "the source tokenizer has end id %d and the target tokenizer %d, expected the same id", source_->end_id(),
             target_->end_id());
}

std::shared_ptr<const Tokenizer> TokenizerPair::parse(std::string_view json) {
    PairReader handler;
    read_events(json, &handler);
    return std::make_shared<TokenizerPair>(parse_side("source", handler.source), parse_side("target", handler.target));
}

std::string TokenizerPair::serialize() const {
    ObjectWriter writer(kKind);
    writer.string("source", source_->serialize());
    writer.string("target", target_->serialize());
    return writer.finish();
}

}  // namespace xf
