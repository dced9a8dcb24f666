// The outputs of encoder and decoder, and the logits they give, against the PyTorch model of reference.py.
//
// The library never stores logits; here they are the decoder's output times the tied embedding (paper s. 3.4), summed
// in double.
//
// SPDX-License-Identifier: Apache-2.0
#include "../nn/fixture.hpp"
#include "session.hpp"

namespace {

using namespace xf_test;
using xf_golden::Golden;
using xf_golden::kTolerance;
using xf_golden::relative_error;

std::vector<Ids> unpack(const std::vector<int32_t> &ids, const std::vector<int32_t> &offsets) {
    std::vector<Ids> sentences;
    for (size_t i = 1; i < offsets.size(); ++i)
        sentences.emplace_back(ids.begin() + offsets[i - 1], ids.begin() + offsets[i]);
    return sentences;
}

// The output projection of a model, as the golden file has it.
struct Projection {
    std::vector<float> weights, bias;

    std::vector<double> logits(const std::vector<float> &outputs, size_t D) const {
        const size_t T = outputs.size() / D, V = weights.size() / D;
        std::vector<double> product(T * V);
        for (size_t t = 0; t < T; ++t)
            for (size_t v = 0; v < V; ++v) {
                double &sum = product[t * V + v];
                sum = bias.empty() ? 0.0 : double{bias[v]};
                for (size_t d = 0; d < D; ++d) sum += double{outputs[t * D + d]} * double{weights[v * D + d]};
            }
        return product;
    }
};

// Both ways of the attention and the linear layers: the one of training and the one that no batch can change.
XF_TEST(encoder_and_logits_agree_with_the_reference) {
    for (const char *file : xf_golden::kFiles) {
        const Golden golden = xf_golden::open(file);
        Settings settings;
        for (const auto &[key, value] : golden.options()) settings[key] = value;
        const Pairs pairs{unpack(golden.ints("batch0.src_ids"), golden.ints("batch0.src_offsets")),
                          unpack(golden.ints("batch0.tgt_ids"), golden.ints("batch0.tgt_offsets"))};
        on_each_device(2, [&](const auto &context, const DeviceName &name) {
            const double tolerance = name.bf16() ? 6e-2 : kTolerance;
            Net net(context, settings);
            std::vector<float> block = net.params();
            const xf::ParameterTable &table = net.model->table();
            Projection projection;
            for (const xf::Parameter &p : table.list) {
                const std::vector<float> values = golden.floats("param." + p.name);
                std::copy(values.begin(), values.end(), block.begin() + static_cast<std::ptrdiff_t>(p.offset));
                if (p.offset == table.output) projection.weights = values;
                if (p.offset == table.output_bias) projection.bias = values;
            }
            net.set_params(block);
            const auto D = static_cast<size_t>(net.model->config().D);
            for (const bool invariant : {false, true}) {
                const Net::Outputs out = net.outputs(pairs, invariant);
                const std::vector<double> found = projection.logits(out.decoder, D);
                CHECK(relative_error(out.encoder, golden.floats("encoder")) <= tolerance);
                CHECK(relative_error(found, golden.floats("logits")) <= tolerance);
            }
            if (name.bf16()) return;
            // A number of the source moved: both must show it.
            block[static_cast<size_t>(table.source_embedding) + static_cast<size_t>(pairs.src[0][0]) * D] += 0.05f;
            net.set_params(block);
            const Net::Outputs moved = net.outputs(pairs, false);
            CHECK(relative_error(moved.encoder, golden.floats("encoder")) > kTolerance);
            CHECK(relative_error(projection.logits(moved.decoder, D), golden.floats("logits")) > kTolerance);
        });
    }
}

}  // namespace
