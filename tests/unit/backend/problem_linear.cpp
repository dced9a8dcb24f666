// Problems of the linear maps: forward twice (fast and row-invariant), gradient of the input, of the weights.
//
// SPDX-License-Identifier: Apache-2.0
#include "backend/problem.h"

namespace xf_test {
namespace {

void make_extreme(Buffer *buffer) {
    for (int64_t row = 0; row < buffer->rows; ++row)
        for (int64_t i = 0; i < buffer->width; ++i) buffer->set(row, i, buffer->get(row, i) < 0.0f ? -1.0f : 1.0f);
}

Problem forward(const Case &c, const std::string &name, uint32_t extra) {
    Problem p{.name = name, .c = c, .rows = c.M};
    p.buffers = {per_row(input("src", c.M, c.K, c.K + c.pad)), input("weights", c.N, c.K, c.K),
                 per_row(output("dst", c.M, c.N, c.N + c.pad))};
    if (c.has(kExtremes)) make_extreme(&p.at("src")), make_extreme(&p.at("weights"));
    round_matrix(c, &p.at("weights"));
    if (c.has(kBias)) p.buffers.push_back(input("bias", 1, c.N, c.N));
    // Finite differences apply only to the linear layer; relu_dst represents the ReLU before it.
    const uint32_t flags = extra | (c.has(kRelu) && !c.has(kGradient) ? uint32_t{XF_LINEAR_RELU} : 0u);
    p.row_invariant = (extra & XF_LINEAR_ROW_INVARIANT) != 0;
    p.call = [c, flags](const xf_backend_v1 &table, xf_stream *stream, const Args &a, xf_error *err) {
        const Matrix weights(c, table, stream, a.f("weights"), c.N, c.K);
        if (weights.status() != XF_OK) return weights.status();
        const xf_linear_fwd args{.M = a.rows,
                                 .N = c.N,
                                 .K = c.K,
                                 .src = a.f("src"),
                                 .ld_src = c.K + c.pad,
                                 .weights = weights.data(),
                                 .bias = a.f("bias"),
                                 .dst = a.f("dst"),
                                 .ld_dst = c.N + c.pad,
                                 .flags = flags,
                                 .weights_type = c.weights,
                                 .scales = weights.scales()};
        return table.linear_fwd(stream, &args, err);
    };
    return p;
}

Problem backward_data(const Case &c) {
    Problem p{.name = "linear_bwd_data", .c = c, .rows = c.M};
    const int64_t ld = c.K + c.pad;
    p.buffers = {input("diff_dst", c.M, c.N, c.N + c.pad), input("weights", c.N, c.K, c.K),
                 c.has(kAccumulate) ? sum("diff_src", c.M, c.K, ld) : output("diff_src", c.M, c.K, ld)};
    if (c.has(kRelu)) {
        Buffer relu = input("relu_dst", c.M, c.K, c.K);
        const Buffer src = input("src", c.M, c.K, c.K);
        for (int64_t m = 0; m < c.M; ++m)
            for (int64_t k = 0; k < c.K; ++k) relu.set(m, k, src.get(m, k) > 0.0f ? src.get(m, k) : 0.0f);
        p.buffers.push_back(relu);
        if (c.has(kBias)) p.buffers.push_back(fp32(sum("diff_relu_bias", 1, c.K, c.K)));
    }
    p.call = [c, ld](const xf_backend_v1 &table, xf_stream *stream, const Args &a, xf_error *err) {
        const xf_linear_bwd_data args{.M = c.M,
                                      .N = c.N,
                                      .K = c.K,
                                      .diff_dst = a.f("diff_dst"),
                                      .ld_diff_dst = c.N + c.pad,
                                      .weights = a.f("weights"),
                                      .relu_dst = a.f("relu_dst"),
                                      .diff_src = a.f("diff_src"),
                                      .ld_diff_src = ld,
                                      .accumulate = c.has(kAccumulate) ? 1u : 0u,
                                      .diff_relu_bias = a.f("diff_relu_bias")};
        return table.linear_bwd_data(stream, &args, err);
    };
    return p;
}

Problem backward_weights(const Case &c) {
    Problem p{.name = "linear_bwd_weights", .c = c, .rows = c.M};
    p.buffers = {input("diff_dst", c.M, c.N, c.N + c.pad), input("src", c.M, c.K, c.K + c.pad),
                 fp32(sum("diff_weights", c.N, c.K, c.K))};
    if (c.has(kBias)) p.buffers.push_back(fp32(sum("diff_bias", 1, c.N, c.N)));
    p.call = [c](const xf_backend_v1 &table, xf_stream *stream, const Args &a, xf_error *err) {
        const xf_linear_bwd_weights args{.M = c.M,
                                         .N = c.N,
                                         .K = c.K,
                                         .diff_dst = a.f("diff_dst"),
                                         .ld_diff_dst = c.N + c.pad,
                                         .src = a.f("src"),
                                         .ld_src = c.K + c.pad,
                                         .diff_weights = a.f("diff_weights"),
                                         .diff_bias = a.f("diff_bias")};
        return table.linear_bwd_weights(stream, &args, err);
    };
    return p;
}

ProblemSet make_linear(const Case &c, const Reference &, bool) {
    ProblemSet set;
    if (c.weights != XF_WEIGHTS_NUM) {
        set.problems = {forward(c, "linear_fwd row-invariant", XF_LINEAR_ROW_INVARIANT)};
        return set;
    }
    set.problems = {forward(c, "linear_fwd", 0u), forward(c, "linear_fwd row-invariant", XF_LINEAR_ROW_INVARIANT),
                    backward_data(c), backward_weights(c)};
    for (Problem &problem : set.problems) {
        problem.flops = 2.0 * static_cast<double>(c.M) * static_cast<double>(c.N) * static_cast<double>(c.K);
        problem.bytes = 4.0 * static_cast<double>(c.M * c.K + c.M * c.N + c.N * c.K);
    }
    set.forward = "linear_fwd";
    set.projections = {{"dst", "diff_dst"}};
    set.gradients = {{"src", "linear_bwd_data", "diff_src"}, {"weights", "linear_bwd_weights", "diff_weights"}};
    if (c.has(kBias)) set.gradients.push_back({"bias", "linear_bwd_weights", "diff_bias"});
    return set;
}
const Builder linear("linear", make_linear);

}  // namespace
}  // namespace xf_test
