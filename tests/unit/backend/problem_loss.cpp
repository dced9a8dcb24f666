// Problems of the loss (with and without gradients) and of top-k.
//
// SPDX-License-Identifier: Apache-2.0

#include "backend/problem.h"

namespace xf_test {
namespace {

Problem loss_problem(const Case &c, const std::string &name, bool gradients) {
    std::vector<int32_t> targets;
    for (int64_t m = 0; m < c.M; ++m)
        targets.push_back(c.has(kIdle) && m % 3 == 1 ? -1 : static_cast<int32_t>((m * 7 + c.V - 1) % c.V));
    Problem p{.name = name, .c = c, .rows = c.M, .row_invariant = !gradients};
    p.buffers = {per_row(input("src", c.M, c.D, c.D)), input("weights", c.V, c.D, c.D),
                 per_row(integers("targets", targets)), per_row(fp32(output("loss", c.M, 1, 1))),
                 per_row(fp32(output("nll", c.M, 1, 1)))};
    round_matrix(c, &p.at("weights"));
    if (c.has(kBias)) p.buffers.push_back(fp32(input("bias", 1, c.V, c.V)));
    if (gradients) {
        p.buffers.push_back(output("diff_src", c.M, c.D, c.D));
        p.buffers.push_back(fp32(sum("diff_weights", c.V, c.D, c.D)));
        if (c.has(kBias)) p.buffers.push_back(fp32(sum("diff_bias", 1, c.V, c.V)));
    }
    p.flops = (gradients ? 6.0 : 2.0) * static_cast<double>(c.M) * static_cast<double>(c.V) * static_cast<double>(c.D);
    p.call = calling_with_matrix(c, c.V, c.D, &xf_backend_v1::loss, [c](const Args &a, xf_loss &args) {
        args.M = a.rows, args.V = c.V, args.D = c.D, args.smoothing = c.smoothing,
        args.uniform = c.has(kUniform) ? 1u : 0u;
        args.src = a.f("src"), args.targets = a.i("targets"), args.loss = a.f("loss"), args.nll = a.f("nll"),
        args.diff_src = a.f("diff_src"), args.diff_weights = a.f("diff_weights"), args.bias = a.f("bias"),
        args.diff_bias = a.f("diff_bias");
    });
    return p;
}

ProblemSet make_loss(const Case &c, const Reference &, bool) {
    if (c.weights != XF_WEIGHTS_NUM) return {.problems = {loss_problem(c, "loss", false)}};
    ProblemSet set;
    set.problems = {loss_problem(c, "loss", false), loss_problem(c, "loss with gradients", true)};
    set.forward = "loss";
    set.projections = {{"loss", ""}};  // the gradient of the sum over rows
    set.gradients = {{"src", "loss with gradients", "diff_src"}, {"weights", "loss with gradients", "diff_weights"}};
    if (c.has(kBias)) set.gradients.push_back({"bias", "loss with gradients", "diff_bias"});
    return set;
}
const Builder loss("loss", make_loss);

// Bits for the ids a row may choose: all, none, the last, or a third of them by the pattern of the row.
std::vector<int32_t> allowed_bits(const Case &c) {
    const int64_t words = (c.V + 31) / 32;
    std::vector<int32_t> bits(static_cast<size_t>(c.M * words), 0);
    for (int64_t row = 0; row < c.M; ++row)
        for (int64_t v = 0; v < c.V; ++v)
            if (row == 0 || (row == 2 && v == c.V - 1) || (row > 2 && (v * v + row) % 7 < 2))
                bits[static_cast<size_t>(row * words + v / 32)] |= static_cast<int32_t>(1u << (v % 32));
    return bits;
}

ProblemSet make_top_k(const Case &c, const Reference &, bool) {
    Problem p{.name = "top_k", .c = c, .rows = c.M, .row_invariant = true};
    p.buffers = {per_row(input("src", c.M, c.D, c.D)), input("weights", c.V, c.D, c.D), integers("banned", c.banned),
                 per_row(fp32(output("values", c.M, c.k, c.k))), per_row(output("ids", c.M, c.k, c.k))};
    p.at("ids").type = Type::kInt;
    round_matrix(c, &p.at("weights"));
    if (c.has(kBias)) p.buffers.push_back(fp32(input("bias", 1, c.V, c.V)));
    if (c.has(kAll)) p.buffers.push_back(per_row(fp32(output("all_values", c.M, c.V, c.V))));
    if (c.has(kAllowed)) p.buffers.push_back(per_row(integers("allowed", allowed_bits(c), (c.V + 31) / 32)));
    for (const char *name : {"banned", "values", "ids"}) p.at(name).host = true;
    if (c.has(kAll)) p.at("all_values").host = true;
    if (c.has(kTies) || c.has(kNearTies))  // whole numbers: every order of adding gives the same logits
        for (const char *name : {"src", "weights"})
            for (int64_t row = 0; row < p.at(name).rows; ++row)
                for (int64_t d = 0; d < c.D; ++d) p.at(name).set(row, d, std::round(2.0f * p.at(name).get(row, d)));
    for (int64_t v = 0; c.has(kTies) && c.has(kBias) && v < c.V; ++v)
        p.at("bias").set(0, v, std::round(2.0f * p.at("bias").get(0, v)));
    if (c.has(kNearTies))  // different logits, of which log-sum-exp leaves one value
        for (int64_t row = 0; row < p.at("src").rows; ++row)
            for (int64_t d = 0; d < c.D; ++d) p.at("src").set(row, d, 0x1p-30f * p.at("src").get(row, d));
    p.flops = 2.0 * static_cast<double>(c.M) * static_cast<double>(c.V) * static_cast<double>(c.D);
    p.bytes = 4.0 * static_cast<double>(c.V * c.D);
    p.call = calling_with_matrix(c, c.V, c.D, &xf_backend_v1::top_k, [c](const Args &a, xf_top_k &args) {
        args.rows = a.rows, args.V = c.V, args.D = c.D, args.k = c.k,
        args.banned_count = static_cast<int64_t>(c.banned.size());
        args.src = a.f("src"), args.banned = a.i("banned"),
        args.allowed = static_cast<const uint32_t *>(a.find("allowed")), args.values = a.f("values"),
        args.ids = a.i("ids"), args.bias = a.f("bias"), args.all_values = a.f("all_values");
    });
    return {.problems = {p}};
}
const Builder top_k("top_k", make_top_k);

}  // namespace
}  // namespace xf_test
