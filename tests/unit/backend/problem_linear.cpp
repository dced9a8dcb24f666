// Problems of the linear maps (forward twice, fast and row-invariant, gradient of the input, of the weights) and of the
// activation of a feed-forward sub-layer, where N of a case is F.
//
// SPDX-License-Identifier: Apache-2.0
#include "backend/problem.h"

namespace xf_test {
namespace {

void make_extreme(Buffer *buffer) {
    for (int64_t row = 0; row < buffer->rows; ++row)
        for (int64_t i = 0; i < buffer->width; ++i)
            buffer->set(row, i, row > 0 && buffer->get(row, i) < 0.0f ? -1.0f : 1.0f);
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
    p.call =
        calling_with_matrix(c, c.N, c.K, &xf_backend_v1::linear_fwd, [c, flags](const Args &a, xf_linear_fwd &args) {
            args.M = a.rows, args.N = c.N, args.K = c.K, args.ld_src = c.K + c.pad, args.ld_dst = c.N + c.pad,
            args.flags = flags;
            args.src = a.f("src"), args.bias = a.f("bias"), args.dst = a.f("dst");
        });
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
    p.call = calling(&xf_backend_v1::linear_bwd_data, [c, ld](const Args &a, xf_linear_bwd_data &args) {
        args.M = c.M, args.N = c.N, args.K = c.K, args.ld_diff_dst = c.N + c.pad, args.ld_diff_src = ld,
        args.accumulate = c.has(kAccumulate) ? 1u : 0u;
        args.diff_dst = a.f("diff_dst"), args.weights = a.f("weights"), args.relu_dst = a.f("relu_dst"),
        args.diff_src = a.f("diff_src"), args.diff_relu_bias = a.f("diff_relu_bias");
    });
    return p;
}

Problem backward_weights(const Case &c) {
    Problem p{.name = "linear_bwd_weights", .c = c, .rows = c.M};
    p.buffers = {input("diff_dst", c.M, c.N, c.N + c.pad), input("src", c.M, c.K, c.K + c.pad),
                 fp32(sum("diff_weights", c.N, c.K, c.K))};
    if (c.has(kBias)) p.buffers.push_back(fp32(sum("diff_bias", 1, c.N, c.N)));
    p.call = calling(&xf_backend_v1::linear_bwd_weights, [c](const Args &a, xf_linear_bwd_weights &args) {
        args.M = c.M, args.N = c.N, args.K = c.K, args.ld_diff_dst = c.N + c.pad, args.ld_src = c.K + c.pad;
        args.diff_dst = a.f("diff_dst"), args.src = a.f("src"), args.diff_weights = a.f("diff_weights"),
        args.diff_bias = a.f("diff_bias");
    });
    return p;
}

ProblemSet make_linear(const Case &c, const Reference &, bool) {
    if (c.weights != XF_WEIGHTS_NUM)
        return {.problems = {forward(c, "linear_fwd row-invariant", XF_LINEAR_ROW_INVARIANT)}};
    ProblemSet set;
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

uint32_t kind_of(const Case &c) {
    return c.has(kGelu) ? XF_ACTIVATION_GELU : c.has(kSwish) ? XF_ACTIVATION_SWISH : XF_ACTIVATION_RELU;
}

int64_t width_of(const Case &c) { return c.has(kGated) ? 2 * c.N : c.N; }

// Numbers of -6 .. 6, over which GELU and swish go from 0 to x; for differences smaller ones, none near ReLU's bend.
Buffer source(const Case &c, bool out) {
    const int64_t width = width_of(c);
    Buffer src = out ? sum("src", c.M, width, width) : input("src", c.M, width, width);
    for (int64_t m = 0; m < c.M; ++m)
        for (int64_t f = 0; f < width; ++f) {
            const float x = src.get(m, f);
            if (!c.has(kGradient))
                src.set(m, f, 6.0f * x);
            else if (f < c.N)
                src.set(m, f, 2.0f * x + (x < 0.0f ? -0.1f : 0.1f));
        }
    return src;
}

Problem activation_forward(const Case &c) {
    const bool in_place = c.has(kAliasFirst);
    Problem p{.name = "activation_fwd", .c = c, .rows = c.M, .row_invariant = c.rate == 0.0f};
    p.buffers = {per_row(source(c, in_place)), when()};
    if (!in_place) p.buffers.push_back(per_row(output("dst", c.M, c.N, c.N)));
    p.bytes = 4.0 * static_cast<double>(c.M * (width_of(c) + c.N));
    p.call = calling(&xf_backend_v1::activation_fwd, [c, in_place](const Args &a, xf_activation_fwd &args) {
        args.M = a.rows, args.F = c.N, args.kind = kind_of(c), args.gated = c.has(kGated) ? 1u : 0u,
        args.dropout = dropout_of(c, a, 3);
        args.src = a.f("src"), args.dst = a.f(in_place ? "src" : "dst");
    });
    return p;
}

Problem activation_backward(const Case &c) {
    const int64_t width = width_of(c);
    Problem p{.name = "activation_bwd", .c = c, .rows = c.M};
    p.buffers = {source(c, false), input("diff_dst", c.M, c.N, c.N), output("diff_src", c.M, width, width), when()};
    if (c.has(kBias)) {
        p.buffers.push_back(fp32(sum("diff_bias", 1, width, width)));
        p.at("diff_bias").floor = 0.1;  // rounded numbers of both signs
    }
    p.bytes = 4.0 * static_cast<double>(c.M * (2 * width + c.N));
    p.call = calling(&xf_backend_v1::activation_bwd, [c](const Args &a, xf_activation_bwd &args) {
        args.M = c.M, args.F = c.N, args.kind = kind_of(c), args.gated = c.has(kGated) ? 1u : 0u,
        args.dropout = dropout_of(c, a, 3);
        args.src = a.f("src"), args.diff_dst = a.f("diff_dst"), args.diff_src = a.f("diff_src"),
        args.diff_bias = a.f("diff_bias");
    });
    return p;
}

ProblemSet make_activation(const Case &c, const Reference &, bool) {
    ProblemSet set;
    set.problems = {activation_forward(c), activation_backward(c)};
    set.forward = "activation_fwd";
    set.projections = {{"dst", "diff_dst"}};
    set.gradients = {{"src", "activation_bwd", "diff_src"}};
    return set;
}
const Builder activation("activation", make_activation);

}  // namespace
}  // namespace xf_test
