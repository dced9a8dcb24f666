// The outputs of encoder and decoder, the logits, and the losses of an evaluation, against the PyTorch model of
// reference.py.
//
// The library never stores logits; here they are the decoder's output times the tied embedding (paper s. 3.4), summed
// in fp64.
//
// SPDX-License-Identifier: Apache-2.0
#include "decode/decoder.h"
#include "session.hpp"

namespace {

using namespace xf_golden;

// The output projection of a model, read from the golden file.
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

// With the kernels of training, and with those whose results do not depend on the batch.
XF_TEST(encoder_and_logits_agree_with_the_reference) {
    for (const char *file : kFiles) {
        const Golden golden = open(file);
        const Settings settings = golden.options();
        const Pairs pairs = golden.pairs("batch0");
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
            xf::Decoder decoder(net.model, options_of(settings));
            xf::EvalStats stats;
            for (const auto &[batch, expected] : {std::pair{"batch0", "batch0.loss"}, {"batch1", "both.loss"}}) {
                decoder.evaluate(Batch(golden.pairs(batch)).view(), &stats);
                CHECK(relative_error(std::vector<double>{stats.loss(), stats.nll()}, golden.floats(expected)) <=
                      tolerance);
            }
            if (name.bf16()) return;
            // A changed number of the source embedding must be noticed in both outputs.
            block[static_cast<size_t>(table.encoder.embedding) + static_cast<size_t>(pairs.src[0][0]) * D] += 0.05f;
            net.set_params(block);
            const Net::Outputs moved = net.outputs(pairs, false);
            CHECK(relative_error(moved.encoder, golden.floats("encoder")) > kTolerance);
            CHECK(relative_error(projection.logits(moved.decoder, D), golden.floats("logits")) > kTolerance);
        });
    }
}

}  // namespace
