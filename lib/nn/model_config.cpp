// SPDX-License-Identifier: Apache-2.0
#include "nn/model_config.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "core/error.h"

namespace xf {
namespace {

void check_token(const char *key, int64_t token, int64_t V, const char *vocabulary = "model.vocab_size") {
    XF_CHECK(token < V, XF_ERROR_INVALID_ARGUMENT,
             "%s is %" PRId64 ", expected at most %" PRId64 " because %s is %" PRId64, key, token, V - 1, vocabulary,
             V);
}

// Parses a list such as "3,17". Returns the numbers in ascending order.
std::vector<int32_t> banned_tokens(const std::string &text) {
    std::vector<int32_t> tokens;
    for (const char *at = text.data(), *const end = at + text.size(); at != end;) {
        int32_t token = -1;
        const auto [next, error] = std::from_chars(at, end, token);
        XF_CHECK(error == std::errc() && token >= 0 && (next == end || (*next == ',' && next + 1 != end)),
                 XF_ERROR_INVALID_ARGUMENT,
                 "model.banned_tokens is '%.64s', expected nonnegative numbers separated by commas", text.c_str());
        tokens.push_back(token);
        at = next == end ? end : next + 1;
    }
    std::sort(tokens.begin(), tokens.end());
    tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
    return tokens;
}

}  // namespace

SpecialTokens SpecialTokens::from(const Options &options, int64_t V, int64_t source_V) {
    const auto token = [&](const char *key, int64_t otherwise) -> int32_t {
        const int64_t value = options.i64(key);
        check_token(key, value, V);
        return value >= 0 ? value : otherwise;
    };
    SpecialTokens t{token("model.start_token", 0), token("model.end_token", 1), token("model.first_token", -1),
                    banned_tokens(options.str("model.banned_tokens"))};
    check_token("model.end_token", t.end, source_V, "model.source_vocab_size");  // it also ends sources
    if (!t.banned.empty()) check_token("the largest token of model.banned_tokens", t.banned.back(), V);
    const auto banned = [&](int32_t id) { return std::binary_search(t.banned.begin(), t.banned.end(), id); };
    XF_CHECK(!banned(t.end), XF_ERROR_INVALID_ARGUMENT,
             "model.banned_tokens contains the end token %d, without which no hypothesis can end", t.end);
    XF_CHECK(t.first < 0 || (!banned(t.first) && t.first != t.start && t.first != t.end), XF_ERROR_INVALID_ARGUMENT,
             "model.first_token is %d, expected a token other than the start, end, and banned tokens", t.first);
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
    c.d_k = options.i64("model.d_k");
    c.d_v = options.i64("model.d_v");
    c.V = options.i64("model.vocab_size");
    const int64_t source_V = options.i64("model.source_vocab_size");
    c.source_V = source_V > 0 ? source_V : c.V;
    c.tie = options.choice<Tie>("model.tie", {{"all", Tie::kAll}, {"decoder", Tie::kDecoder}, {"none", Tie::kNone}});
    const auto activation =
        options.choice<std::pair<uint32_t, bool>>("model.activation", {{"relu", {XF_ACTIVATION_RELU, false}},
                                                                       {"gelu", {XF_ACTIVATION_GELU, false}},
                                                                       {"swish", {XF_ACTIVATION_SWISH, false}},
                                                                       {"reglu", {XF_ACTIVATION_RELU, true}},
                                                                       {"geglu", {XF_ACTIVATION_GELU, true}},
                                                                       {"swiglu", {XF_ACTIVATION_SWISH, true}}});
    c.activation = activation.first;
    c.gated = activation.second;
    c.attention_bias = options.boolean("model.attention_bias");
    c.output_bias = options.boolean("model.output_bias");
    const auto norm = options.choice<std::pair<bool, bool>>(
        "model.norm",
        {{"post", {false, false}}, {"pre", {true, false}}, {"post_rms", {false, true}}, {"pre_rms", {true, true}}});
    c.pre_norm = norm.first;
    c.rms_norm = norm.second;
    c.embedding_norm = options.boolean("model.embedding_norm");
    const float width = c.D;
    c.embedding_scale = options.boolean("model.embedding_scale") ? std::sqrt(width) : 1;
    c.positions = options.choice<Positions>(
        "model.positions",
        {{"sinusoid", Positions::kSinusoid}, {"learned", Positions::kLearned}, {"fixed", Positions::kFixed}});
    c.norm_epsilon = options.f64("model.norm_epsilon");
    c.max_length = options.i64("model.max_length");
    c.window = options.i64("model.window");
    c.seed = options.i64("model.seed");
    XF_CHECK(c.V >= 4, XF_ERROR_INVALID_ARGUMENT,
             "model.vocab_size is %" PRId64 ", expected at least 4: set it or give a tokenizer", c.V);
    XF_CHECK(c.source_V == c.V || c.tie != Tie::kAll, XF_ERROR_INVALID_ARGUMENT,
             "model.source_vocab_size is %" PRId64 " and model.vocab_size %" PRId64
             ", expected equal sizes with model.tie=all",
             c.source_V, c.V);
    XF_CHECK(c.D % 2 == 0, XF_ERROR_INVALID_ARGUMENT, "model.d_model is %" PRId64 ", expected an even number", c.D);
    XF_CHECK(c.H * (2 * c.d_k + c.d_v) <= (1 << 20), XF_ERROR_LIMIT,
             "model.heads x (2 model.d_k + model.d_v) is %" PRId64 ", expected at most 1048576",
             c.H * (2 * c.d_k + c.d_v));
    XF_CHECK(c.max_length * c.D <= (int64_t{1} << 26), XF_ERROR_LIMIT,
             "model.max_length x model.d_model is %" PRId64 ", expected at most 67108864", c.max_length * c.D);
    c.tokens = SpecialTokens::from(options, c.V, c.source_V);
    c.languages = Languages(options, c.V, c.source_V);
    return c;
}

}  // namespace xf
