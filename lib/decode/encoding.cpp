// SPDX-License-Identifier: Apache-2.0
#include "decode/encoding.h"

#include <optional>

#include "core/error.h"
#include "core/sha256.h"
#include "core/thread_pool.h"
#include "text/augmentation.h"

namespace xf {
namespace {

// Sets a vocabulary size, or checks the one that was set. what: "tokenizer" or "source tokenizer".
void set_size(Options *options, const char *key, int64_t size, const char *what) {
    const int64_t given = options->i64(key);
    XF_CHECK(given == 0 || given == size, XF_ERROR_INVALID_ARGUMENT, "%s is %lld, but the %s has %lld tokens", key,
             static_cast<long long>(given), what, static_cast<long long>(size));
    options->set_i64(key, size);
}

TokenTemplates templates_of(const Tokenizer &tokenizer, Options *model, const Options &options) {
    set_tokenizer_options(tokenizer, model);
    const int64_t V = tokenizer.size(), source_V = tokenizer.source().size();
    const Languages languages(*model, V, source_V);
    const LanguageTokens tokens = languages.tokens(options);
    languages.check_set(tokens);
    return TokenTemplates(SpecialTokens::from(*model, V, source_V), languages, tokens);
}

}  // namespace

void set_tokenizer_options(const Tokenizer &tokenizer, Options *options) {
    set_size(options, "model.vocab_size", tokenizer.size(), "tokenizer");
    if (tokenizer.source().size() != tokenizer.size())
        set_size(options, "model.source_vocab_size", tokenizer.source().size(), "source tokenizer");
    XF_CHECK(tokenizer.end_id() >= 0 || options->i64("model.end_token") >= 0, XF_ERROR_INVALID_ARGUMENT,
             "the tokenizer has no end symbol; set model.end_token");
    const auto set = [&](const char *key, int64_t token) {
        if (options->i64(key) < 0) options->set_i64(key, token);
    };
    set("model.end_token", tokenizer.end_id());
    set("model.start_token", tokenizer.start_id() >= 0 ? tokenizer.start_id() : options->i64("model.end_token"));
}

TextEncoder::TextEncoder(std::shared_ptr<const Tokenizer> tokenizer, Options model, const Options &options)
    : tokenizer_(std::move(tokenizer)),
      templates_(templates_of(*tokenizer_, &model, options)),
      languages_{options.str("text.source_language"), options.str("text.target_language")} {}

Metadata TextEncoder::identity() const {
    Sha256 hash;
    const std::string json = tokenizer_->serialize();
    hash.update(json.data(), json.size());
    const auto tokens = [](const TokenTemplate &t) { return format("%d %d %d", t.prefix, t.end, t.suffix); };
    return {{"tokenizer_sha256", hash.hex()},
            {"source_language", languages_[0]},
            {"source_tokens", tokens(templates_.source)},
            {"target_language", languages_[1]},
            {"target_tokens", tokens(templates_.target)}};
}

bool TextEncoder::encode(Side side, std::string_view text, std::vector<int32_t> *ids, EncodeScratch *scratch,
                         Sampler *sampler) const {
    const bool source = side == Side::kSource;
    const Tokenizer &own = source ? tokenizer_->source() : tokenizer_->target();
    return (source ? templates_.source : templates_.target).append(ids, [&] {
        own.encode(text, ids, scratch, sampler);
    });
}

Encoders batch_encoders(const std::shared_ptr<const Tokenizer> &tokenizer, const Options *model, const Options &options,
                        ThreadPool *pool) {
    Encoders encoders{pool, {}};
    const auto augmentation = Augmentation::from(options);
    if (tokenizer == nullptr) {
        Sampling::from(options).check(nullptr);
        XF_CHECK(augmentation.share == 0, XF_ERROR_INVALID_ARGUMENT,
                 "option 'data.augment' is %s for a corpus of ids, expected 0", number(augmentation.share).c_str());
        return encoders;
    }
    Options own = model != nullptr ? *model : options;
    own.copy_set(options, "model.");
    const auto encoder = std::make_shared<const TextEncoder>(tokenizer, std::move(own), options);
    const auto sampling = Sampling::from(options);
    sampling.check(tokenizer.get());
    encoders.identity = [encoder] { return encoder->identity(); };
    for (int worker = 0; worker < pool->workers(); ++worker)
        encoders.of_worker.push_back(
            [encoder, sampling, augmentation, scratch = EncodeScratch(), changed = std::string()](
                const TextKey &key, std::string_view text, auto *ids) mutable {
                std::optional<Sampler> sampler;
                if (key.epoch != TextKey::kUnsampled) {
                    if (sampling.value > 0) sampler.emplace(sampling, key.epoch, key.number());
                    text = augmentation.apply(text, key.side == Side::kSource, key.epoch, key.pair, &changed);
                }
                encoder->encode(key.side, text, ids, &scratch, sampler ? &*sampler : nullptr);
            });
    return encoders;
}

}  // namespace xf
