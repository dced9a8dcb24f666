// See model_config.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "nn/model_config.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/error.h"

namespace xf {
namespace {

void check_token(const char *key, int64_t token, int64_t V, const char *vocabulary = "model.vocab_size") {
    XF_CHECK(token < V, XF_ERROR_INVALID_ARGUMENT, "%s is %lld, expected at most %lld, as %s is %lld", key,
             static_cast<long long>(token), static_cast<long long>(V - 1), vocabulary, static_cast<long long>(V));
}

// "3,17" as numbers, rising.
std::vector<int32_t> banned_tokens(const std::string &text) {
    std::vector<int32_t> tokens;
    for (const char *at = text.data(), *const end = at + text.size(); at != end;) {
        int32_t token = -1;
        const auto [next, error] = std::from_chars(at, end, token);
        XF_CHECK(error == std::errc() && token >= 0 && (next == end || (*next == ',' && next + 1 != end)),
                 XF_ERROR_INVALID_ARGUMENT,
                 "model.banned_tokens is '%.64s', expected numbers of 0 or more separated by commas", text.c_str());
        tokens.push_back(token);
        at = next == end ? end : next + 1;
    }
    std::sort(tokens.begin(), tokens.end());
    tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
    return tokens;
}

}  // namespace

SpecialTokens SpecialTokens::from(const Options &options, int64_t V, int64_t source_V) {
    const auto token = [&](const char *key, int64_t otherwise) {
        const int64_t value = options.i64(key);
        check_token(key, value, V);
        return static_cast<int32_t>(value >= 0 ? value : otherwise);
    };
    SpecialTokens t{token("model.start_token", 0), token("model.end_token", 1), token("model.first_token", -1),
                    banned_tokens(options.str("model.banned_tokens"))};
    check_token("model.end_token", t.end, source_V, "model.source_vocab_size");  // sources end with it, too
    if (!t.banned.empty()) check_token("a number of model.banned_tokens", t.banned.back(), V);
    const auto banned = [&](int32_t id) { return std::binary_search(t.banned.begin(), t.banned.end(), id); };
    XF_CHECK(!banned(t.end), XF_ERROR_INVALID_ARGUMENT, "model.banned_tokens has the end token %d: no answer could end",
             t.end);
    XF_CHECK(t.first < 0 || (!banned(t.first) && t.first != t.start && t.first != t.end), XF_ERROR_INVALID_ARGUMENT,
             "model.first_token is %d, expected neither the start nor the end token nor one of model.banned_tokens",
             t.first);
    std::erase(t.banned, t.start);
    return t;
}

ModelConfig ModelConfig::from(const Options &options) {
    ModelConfig c{};
    c.encoder_layers = options.i64("model.encoder_layers");
    c.decoder_layers = options.i64("model.decoder_layers");
    c.D = options.i64("model.d_model");
    c.F = options.i64("model.d_ff");
    c.H = options.i64("model.heads");
    c.K = options.i64("model.d_k");
    c.W = options.i64("model.d_v");
    c.V = options.i64("model.vocab_size");
    const int64_t source_V = options.i64("model.source_vocab_size");
    c.source_V = source_V > 0 ? source_V : c.V;
    const std::string &tie = options.str("model.tie");
    c.tie = tie == "all" ? Tie::kAll : tie == "decoder" ? Tie::kDecoder : Tie::kNone;
    const std::string &activation = options.str("model.activation");
    c.activation = activation == "relu"   ? XF_ACTIVATION_RELU
                   : activation == "gelu" ? XF_ACTIVATION_GELU
                                          : XF_ACTIVATION_SWISH;
    c.gated = options.boolean("model.gated");
    c.attention_bias = options.boolean("model.attention_bias");
    c.output_bias = options.boolean("model.output_bias");
    c.pre_norm = options.str("model.norm") == "pre";
    c.rms_norm = options.str("model.norm_kind") == "rms";
    c.embedding_norm = options.boolean("model.embedding_norm");
    c.embedding_scale = options.boolean("model.embedding_scale") ? std::sqrt(static_cast<float>(c.D)) : 1.0f;
    const std::string &positions = options.str("model.positions");
    c.positions = positions == "sinusoid"  ? Positions::kSinusoid
                  : positions == "learned" ? Positions::kLearned
                                           : Positions::kFixed;
    c.norm_epsilon = static_cast<float>(options.f64("model.norm_epsilon"));
    c.max_length = options.i64("model.max_length");
    c.window = options.i64("model.window");
    c.seed = static_cast<uint64_t>(options.i64("model.seed"));
    XF_CHECK(c.V >= 4, XF_ERROR_INVALID_ARGUMENT, "model.vocab_size is %lld, expected at least 4 or a tokenizer",
             static_cast<long long>(c.V));
    XF_CHECK(c.source_V == c.V || c.tie != Tie::kAll, XF_ERROR_INVALID_ARGUMENT,
             "model.source_vocab_size is %lld and model.vocab_size %lld, expected the same with model.tie all",
             static_cast<long long>(c.source_V), static_cast<long long>(c.V));
    XF_CHECK(c.D % 2 == 0, XF_ERROR_INVALID_ARGUMENT, "model.d_model is %lld, expected an even number",
             static_cast<long long>(c.D));
    XF_CHECK(c.H * (2 * c.K + c.W) <= (1 << 20), XF_ERROR_LIMIT,
             "model.heads x (2 model.d_k + model.d_v) is %lld, expected at most 1048576",
             static_cast<long long>(c.H * (2 * c.K + c.W)));
    XF_CHECK(c.max_length * c.D <= (int64_t{1} << 26), XF_ERROR_LIMIT,
             "model.max_length x model.d_model is %lld, expected at most 67108864",
             static_cast<long long>(c.max_length * c.D));
    c.tokens = SpecialTokens::from(options, c.V, c.source_V);
    c.languages = Languages(options, c.V, c.source_V);
    return c;
}

}  // namespace xf
