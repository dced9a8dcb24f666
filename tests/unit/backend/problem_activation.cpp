// Problems of the activation of a feed-forward sub-layer, forward and backward. N of a case is F.
//
// SPDX-License-Identifier: Apache-2.0
#include "backend/problem.h"

namespace xf_test {
namespace {

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

Problem forward(const Case &c) {
    const bool in_place = c.has(kAliasFirst);
    Problem p{.name = "activation_fwd", .c = c, .rows = c.M, .row_invariant = c.rate == 0.0f};
    p.buffers = {per_row(source(c, in_place)), when()};
    if (!in_place) p.buffers.push_back(per_row(output("dst", c.M, c.N, c.N)));
    p.bytes = 4.0 * static_cast<double>(c.M * (width_of(c) + c.N));
    p.call = [c, in_place](const xf_backend_v1 &table, xf_stream *stream, const Args &a, xf_error *err) {
        const xf_activation_fwd args{.M = a.rows,
                                     .F = c.N,
                                     .src = a.f("src"),
                                     .kind = kind_of(c),
                                     .gated = c.has(kGated) ? 1u : 0u,
                                     .dst = a.f(in_place ? "src" : "dst"),
                                     .dropout = dropout_of(c, a, 3)};
        return table.activation_fwd(stream, &args, err);
    };
    return p;
}

Problem backward(const Case &c) {
    const int64_t width = width_of(c);
    Problem p{.name = "activation_bwd", .c = c, .rows = c.M};
    p.buffers = {source(c, false), input("diff_dst", c.M, c.N, c.N), output("diff_src", c.M, width, width), when()};
    if (c.has(kBias)) {
        p.buffers.push_back(fp32(sum("diff_bias", 1, width, width)));
        p.at("diff_bias").floor = 0.1;  // rounded numbers of both signs
    }
    p.bytes = 4.0 * static_cast<double>(c.M * (2 * width + c.N));
    p.call = [c](const xf_backend_v1 &table, xf_stream *stream, const Args &a, xf_error *err) {
        const xf_activation_bwd args{.M = c.M,
                                     .F = c.N,
                                     .src = a.f("src"),
                                     .kind = kind_of(c),
                                     .gated = c.has(kGated) ? 1u : 0u,
                                     .diff_dst = a.f("diff_dst"),
                                     .diff_src = a.f("diff_src"),
                                     .diff_bias = a.f("diff_bias"),
                                     .dropout = dropout_of(c, a, 3)};
        return table.activation_bwd(stream, &args, err);
    };
    return p;
}

ProblemSet make_activation(const Case &c, const Reference &, bool) {
    ProblemSet set;
    set.problems = {forward(c), backward(c)};
    set.forward = "activation_fwd";
    set.projections = {{"dst", "diff_dst"}};
    set.gradients = {{"src", "activation_bwd", "diff_src"}};
    return set;
}
const Builder activation("activation", make_activation);

}  // namespace
}  // namespace xf_test
