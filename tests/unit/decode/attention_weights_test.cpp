// Attention weights multiplied by the values must equal the context that the layer computed, on every device and with
// both kinds of mask.
//
// SPDX-License-Identifier: Apache-2.0
#include "decoding.hpp"

#include "core/failing_new.hpp"
#include "core/half.h"
#include "nn/transformer.h"

namespace {

using namespace xf_test;

std::vector<float> numbers(xf::Stream &stream, bool bf16, const void *from, int64_t count) {
    std::vector<float> values(static_cast<size_t>(count));
    if (!bf16) {
        stream.download(values.data(), from, values.size() * sizeof(float));
        return values;
    }
    std::vector<uint16_t> halves(values.size());
    stream.download(halves.data(), from, halves.size() * sizeof(uint16_t));
    std::transform(halves.begin(), halves.end(), values.begin(), xf::from_bf16);
    return values;
}

// Returns the largest difference between weights * v and the context. v has the row stride ld and begins with head 0.
double difference(const std::vector<float> &weights, const xf::ModelConfig &c, int64_t queries, int64_t keys,
                  const float *v, int64_t ld, const std::vector<float> &context) {
    double worst = 0;
    for (int64_t h = 0; h < c.H; ++h)
        for (int64_t i = 0; i < queries; ++i)
            for (int64_t w = 0; w < c.d_v; ++w) {
                double sum = 0;
                for (int64_t j = 0; j < keys; ++j)
                    sum += static_cast<double>(weights[static_cast<size_t>((h * queries + i) * keys + j)]) *
                           v[j * ld + h * c.d_v + w];
                const double found = context[static_cast<size_t>(i * c.H * c.d_v + h * c.d_v + w)];
                worst = std::max(worst, std::fabs(sum - found));
            }
    return worst;
}

XF_TEST(attention_weights_reproduce_the_context) {
    const Ids src = {5, 9, 3, 7, 11, 4, 8, 1}, tgt = {8, 4, 11, 7, 1};
    const auto S = static_cast<int64_t>(src.size()), T = static_cast<int64_t>(tgt.size());
    on_each_device(2, [&](const auto &context, const DeviceName &name) {
        const double tolerance = name.bf16() ? 2e-2 : 1e-5;
        for (const char *window : {"0", "1", "3", "4"}) {
            const Settings settings = with(kReverser, {{"model.window", window}});
            const auto model = make_model(context, settings);
            xf::Decoder decoder(model, options_of(settings));
            const Batch batch(Pairs{{src}, {tgt}});

            xf::Stream stream(context->device(), model->dtype());
            xf::PackedBatch packed;
            packed.load(stream, model->config(), batch.view(), xf::PackedBatch::Sides::kBoth, false);
            xf::Transformer network(*model, stream);
            network.prepare(packed, xf::PassKind::kTraining, true);
            const xf::Call call;
            xf::Pass pass{*model, stream, call};
            network.encode(pass, packed);
            network.decode(pass, packed);
            const xf::ModelConfig &c = model->config();
            const xf::StackActivations &source = network.activations(xf::Stack::kEncoder),
                                       &target = network.activations(xf::Stack::kDecoder);
            for (int64_t layer = 0; layer < 2; ++layer) {
                const auto check_self = [&](xf::AttentionKind kind, const xf::AttentionActivations &acts, int64_t n) {
                    const auto qkv = numbers(stream, name.bf16(), acts.qkv, n * c.qkv_columns());
                    const auto weights = attention_of(&decoder, batch, kind, layer);
                    CHECK_EQ(static_cast<int64_t>(weights.size()), c.H * n * n);
                    CHECK(difference(weights, c, n, n, qkv.data() + 2 * c.q_columns(), c.qkv_columns(),
                                     numbers(stream, name.bf16(), acts.context, n * c.v_columns())) < tolerance);
                };
                check_self(xf::AttentionKind::kEncoder, source.layers[layer].self, S);
                check_self(xf::AttentionKind::kDecoder, target.layers[layer].self, T);
                const xf::AttentionActivations &cross = target.layers[layer].cross;
                const auto kv = numbers(stream, name.bf16(), cross.kv, S * c.kv_columns());
                const auto weights = attention_of(&decoder, batch, xf::AttentionKind::kCross, layer);
                CHECK_EQ(static_cast<int64_t>(weights.size()), c.H * T * S);
                CHECK(difference(weights, c, T, S, kv.data() + c.q_columns(), c.kv_columns(),
                                 numbers(stream, name.bf16(), cross.context, T * c.v_columns())) < tolerance);
            }
        }
    });
}

// The size of the weights is quadratic in the length, so the library must not make a second copy.
XF_TEST(no_second_copy_of_the_weights) {
    Ids ids(90, 5);
    ids.back() = kEndToken;
    on_each_device(1, [&](const auto &context, const DeviceName &) {
        xf::Decoder decoder(make_model(context, kReverser), options_of(kReverser));
        const Batch batch(Pairs{{ids}, {ids}});
        std::vector<float> weights(static_cast<size_t>(2 * 90 * 90), -1.0f);
        decoder.attention(batch.view(), static_cast<int32_t>(xf::AttentionKind::kDecoder), 1, weights.data());
        new_plan.too_large = weights.size() * sizeof(float);
        decoder.attention(batch.view(), static_cast<int32_t>(xf::AttentionKind::kDecoder), 1, weights.data());
        CHECK(!new_plan.failed);
        new_plan = {};
    });
}

}  // namespace
