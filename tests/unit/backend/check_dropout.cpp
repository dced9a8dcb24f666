// Dropout masks, read off the results and compared with Philox directly.
//
// Inputs are chosen so that an output is mask * constant: embedding of ones; the sum of a zero residual and ones; the
// ReLU of ones; attention with equal scores (q = 0) and unit vectors as values, which lays its weights open. The
// backward passes must apply the same mask: their outputs, for ones as gradients, are zero at the same places.
//
// SPDX-License-Identifier: Apache-2.0

#include "backend/check.h"
#include "core/philox.h"

namespace xf_test {
namespace {

void set_all(Problem &problem, const std::string &name, float value) {
    Buffer &buffer = problem.at(name);
    for (int64_t row = 0; row < buffer.rows; ++row)
        for (int64_t column = 0; column < buffer.width; ++column) buffer.set(row, column, value);
}

// Element i of the mask by the words of plugin_abi.h.
double mask(const Case &c, uint32_t site, int64_t i) {
    const xf_dropout d = dropout_of(c, {}, site);
    const uint32_t threshold = static_cast<uint32_t>(std::lround(static_cast<double>(d.rate) * 65536.0));
    const uint64_t index = static_cast<uint64_t>(i);
    const xf::Philox r =
        xf::philox(d.seed, static_cast<uint32_t>(index / 8),
                   static_cast<uint32_t>((index / 8) >> 32) ^ (uint32_t{kDropoutBatch} << 16), d.site, kDropoutStep);
    const uint32_t word = r.word[(index % 8) / 2], bits = index % 2 ? word >> 16 : word & 0xFFFFu;
    return bits >= threshold ? 65536.0 / (65536.0 - threshold) : 0.0;
}

// limit: 1e-5, or what two roundings to bf16 make.
bool near(const Problem &p, double a, double b) {
    const double limit = p.c.has(kBf16) ? 1e-2 : 1e-5;
    return std::fabs(a - b) <= limit * std::fabs(b) && (a == 0.0) == (b == 0.0);
}

void check_embed(Opened &opened, uint32_t flags, float rate, Failures &failures) {
    // Each row of the table shows one token.
    const Case c{.op = "embed", .M = 29, .D = 37, .V = 29, .rate = rate, .flags = flags | kDistinct};
    const ProblemSet set = make_problems(c, reference);
    Problem p = set.problems[0], q = set.problems[1];
    set_all(p, "weights", 2.0f / 3.0f);  // times the scale of 1.5: ones
    set_all(p, "positions", 0.0f);
    set_all(q, "diff_dst", 2.0f / 3.0f);
    set_all(q, "diff_weights", 0.0f);
    const Result forward = run(opened, p), backward = run(opened, q);
    for (int64_t t = 0; t < c.M; ++t)
        for (int64_t d = 0; d < c.D; ++d) {
            const double want = mask(c, 1, t * c.D + d);
            if (!near(p, value_of(p, forward.words, "dst", t, d), want))
                return failures.add(p, "the mask is not Philox's");
            if (!near(q, value_of(q, backward.words, "diff_weights", t, d), want))
                return failures.add(q, "another mask than forward");
        }
}

void check_add_norm(Opened &opened, uint32_t flags, float rate, Failures &failures) {
    const Case c{.op = "add_norm", .M = 21, .D = 43, .rate = rate, .flags = flags};
    const ProblemSet set = make_problems(c, reference);
    Problem p = set.problems[0];
    set_all(p, "residual", 0.0f);
    set_all(p, "src", 1.0f);
    const Result forward = run(opened, p);
    const Problem &q = set.problems[1];
    const Result backward = run(opened, q);
    for (int64_t m = 0; m < c.M; ++m)
        for (int64_t d = 0; d < c.D; ++d) {
            const double want = mask(c, 2, m * c.D + d);
            if (!near(p, value_of(p, forward.words, "sum", m, d), want))
                return failures.add(p, "the mask is not Philox's");
            const double residual = value_of(q, backward.words, "diff_residual", m, d);
            if (!near(q, value_of(q, backward.words, "diff_src", m, d), want * residual))
                return failures.add(q, "another mask than forward");
        }
}

void check_activation(Opened &opened, uint32_t flags, float rate, Failures &failures) {
    for (const uint32_t gated : {0u, uint32_t{kGated}}) {
        const Case c{.op = "activation", .M = 21, .N = 43, .rate = rate, .flags = flags | gated};
        const ProblemSet set = make_problems(c, reference);
        Problem p = set.problems[0], q = set.problems[1];
        for (Problem *problem : {&p, &q}) set_all(*problem, "src", 1.0f);
        set_all(q, "diff_dst", 1.0f);
        const Result forward = run(opened, p), backward = run(opened, q);
        for (int64_t m = 0; m < c.M; ++m)
            for (int64_t f = 0; f < c.N; ++f) {
                const double want = mask(c, 3, m * c.N + f);
                if (!near(p, value_of(p, forward.words, "dst", m, f), want))
                    return failures.add(p, "the mask is not Philox's");
                if (!near(q, value_of(q, backward.words, "diff_src", m, f), want) ||
                    (gated && !near(q, value_of(q, backward.words, "diff_src", m, c.N + f), want)))
                    return failures.add(q, "another mask than forward");
            }
    }
}

void check_attention(Opened &opened, uint32_t flags, float rate, Failures &failures) {
    // dv is as long as the longest sentence: value j is unit vector j, and so is the gradient of query i.
    const Case c{.op = "attention", .H = 3, .dk = 4, .dv = 19, .T = {19, 6, 11}, .rate = rate, .flags = flags};
    const ProblemSet set = make_problems(c, reference);
    Problem p = set.problems[0], q = set.problems[1];
    for (Problem *problem : {&p, &q}) set_all(*problem, "q", 0.0f);
    for (Buffer *buffer : {&p.at("v"), &q.at("v"), &q.at("diff_dst")})
        for (int64_t b = 0, row = 0; b < 3; ++b)
            for (int64_t i = 0; i < c.T[static_cast<size_t>(b)]; ++i, ++row)
                for (int64_t column = 0; column < c.H * c.dv; ++column)
                    buffer->set(row, column, column % c.dv == i ? 1.0f : 0.0f);
    for (const char *name : {"dst", "lse"}) {  // what the forward pass of these inputs gives
        const Words words = reference(p);
        q.at(name).words = words[static_cast<size_t>(p.index(name))];
    }
    const Result forward = run(opened, p), backward = run(opened, q);
    const int64_t drop_stride = 32;  // as in problem_attention.cpp: 19 in whole eights, and 8
    for (int64_t b = 0, begin = 0; b < 3; begin += c.T[static_cast<size_t>(b++)]) {
        const int64_t length = c.T[static_cast<size_t>(b)];
        for (int64_t h = 0; h < c.H; ++h)
            for (int64_t i = 0; i < length; ++i)
                for (int64_t j = 0; j < length; ++j) {
                    const int64_t index = ((begin + i) * c.H + h) * drop_stride + j;
                    const double want = mask(c, 4, index) / static_cast<double>(length);
                    if (!near(p, value_of(p, forward.words, "dst", begin + i, h * c.dv + j), want))
                        return failures.add(p, "the mask is not Philox's");
                    if (!near(q, value_of(q, backward.words, "diff_v", begin + j, h * c.dv + i), want))
                        return failures.add(q, "another mask than forward");
                }
    }
}

}  // namespace

int check_dropout(const Backend &backend) {
    Failures failures(backend);
    Opened opened(backend, 2);
    for (const float rate : {0.1f, 0.5f, 1e-6f}) {  // the last rounds to no dropout at all
        check_embed(opened, backend.flags(), rate, failures);
        check_add_norm(opened, backend.flags(), rate, failures);
        check_activation(opened, backend.flags(), rate, failures);
        check_attention(opened, backend.flags(), rate, failures);
    }
    return failures.count();
}

}  // namespace xf_test
