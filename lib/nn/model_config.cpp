// See model_config.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "nn/model_config.h"

#include "core/error.h"

namespace xf {

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
    c.pre_norm = options.str("model.norm") == "pre";
    c.learned_positions = options.str("model.positions") == "learned";
    c.norm_epsilon = static_cast<float>(options.f64("model.norm_epsilon"));
    c.max_length = options.i64("model.max_length");
    c.window = options.i64("model.window");
    c.seed = static_cast<uint64_t>(options.i64("model.seed"));
    XF_CHECK(c.V >= 4, XF_ERROR_INVALID_ARGUMENT, "model.vocab_size is %lld, expected at least 4 or a tokenizer",
             static_cast<long long>(c.V));
    XF_CHECK(c.D % 2 == 0, XF_ERROR_INVALID_ARGUMENT, "model.d_model is %lld, expected an even number",
             static_cast<long long>(c.D));
    XF_CHECK(c.H * (2 * c.K + c.W) <= (1 << 20), XF_ERROR_LIMIT,
             "model.heads x (2 model.d_k + model.d_v) is %lld, expected at most 1048576",
             static_cast<long long>(c.H * (2 * c.K + c.W)));
    XF_CHECK(c.max_length * c.D <= (int64_t{1} << 26), XF_ERROR_LIMIT,
             "model.max_length x model.d_model is %lld, expected at most 67108864",
             static_cast<long long>(c.max_length * c.D));
    return c;
}

}  // namespace xf
