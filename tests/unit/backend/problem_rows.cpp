// Problems of the operations that work row by row: embedding, residual and norm, Adam, the sum of squares.
//
// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "backend/problem.h"

namespace xf_test {
namespace {

constexpr int32_t kPositions = 11;

std::vector<int32_t> random_ids(const std::string &name, int64_t rows, int64_t bound) {
    std::vector<int32_t> ids;
    for (int64_t t = 0; t < rows; ++t)
        ids.push_back(static_cast<int32_t>((noise(seed_of(name), t, 0) + 1.0f) / 2.0f * static_cast<float>(bound)));
    for (int32_t &id : ids) id = std::min(id, static_cast<int32_t>(bound - 1));
    return ids;
}

Problem embed_forward(const Case &c, const std::vector<int32_t> &ids, const std::vector<int32_t> &pos) {
    Problem p{.name = "embed_fwd", .c = c, .rows = c.M, .row_invariant = c.rate == 0.0f};
    p.buffers = {per_row(integers("ids", ids)),         per_row(integers("pos", pos)),
                 input("weights", c.V, c.D, c.D),       fp32(input("positions", kPositions, c.D, c.D)),
                 per_row(output("dst", c.M, c.D, c.D)), when()};
    round_matrix(c, &p.at("weights"));
    p.bytes = 12.0 * static_cast<double>(c.M * c.D);
    p.call = calling_with_matrix(c, c.V, c.D, &xf_backend_v1::embed_fwd, [c](const Args &a, xf_embed_fwd &args) {
        args.rows = a.rows, args.D = c.D, args.scale = 1.5f, args.dropout = dropout_of(c, a, 1), args.V = c.V;
        args.ids = a.i("ids"), args.pos = a.i("pos"), args.positions = a.f("positions"), args.dst = a.f("dst");
    });
    return p;
}

// Backward into a table of rows_of_table rows; diff_dst has the name's own noise, the same in both passes.
Problem embed_backward(const Case &c, const std::string &name, const std::vector<int32_t> &ids, int64_t rows_of_table,
                       float scale) {
    std::vector<int32_t> group_ids, starts = {0}, order;
    for (int32_t id = static_cast<int32_t>(rows_of_table) - 1; id >= 0; --id) {  // groups in falling order of ids
        const size_t before = order.size();
        for (size_t t = 0; t < ids.size(); ++t)
            if (ids[t] == id) order.push_back(static_cast<int32_t>(t));
        if (order.size() == before) continue;
        group_ids.push_back(id);
        starts.push_back(static_cast<int32_t>(order.size()));
    }
    Problem p{.name = name, .c = c, .rows = c.M};
    p.buffers = {integers("group_ids", group_ids),
                 integers("starts", starts),
                 integers("order", order),
                 input("diff_dst", c.M, c.D, c.D),
                 fp32(sum("diff_weights", rows_of_table, c.D, c.D)),
                 when()};
    Buffer &table_rows = p.at("diff_weights");
    table_rows.writes.assign(static_cast<size_t>(rows_of_table), Write::kNo);
    for (const int32_t id : group_ids) table_rows.writes[static_cast<size_t>(id)] = Write::kYes;
    const int64_t groups = static_cast<int64_t>(group_ids.size());
    p.bytes = 4.0 * static_cast<double>((c.M + 2 * groups) * c.D);
    p.call = calling(&xf_backend_v1::embed_bwd, [c, groups, scale](const Args &a, xf_embed_bwd &args) {
        args.groups = groups, args.D = c.D, args.scale = scale, args.dropout = dropout_of(c, a, 1);
        args.group_ids = a.i("group_ids"), args.starts = a.i("starts"), args.order = a.i("order"),
        args.diff_dst = a.f("diff_dst"), args.diff_weights = a.f("diff_weights");
    });
    return p;
}

Problem norm_forward(const Case &c) {
    Problem p{.name = "add_norm_fwd", .c = c, .rows = c.M, .row_invariant = c.rate == 0.0f};
    p.buffers = {per_row(c.has(kAliasFirst) ? sum("residual", c.M, c.D, c.D) : input("residual", c.M, c.D, c.D)),
                 fp32(input("weights", 1, c.D, c.D)), per_row(output("dst", c.M, c.D, c.D)), when()};
    if (!c.has(kNoBias)) p.buffers.push_back(fp32(input("bias", 1, c.D, c.D)));
    if (!c.has(kNoSrc))
        p.buffers.push_back(per_row(c.has(kAliasSecond) ? sum("src", c.M, c.D, c.D) : input("src", c.M, c.D, c.D)));
    std::string sum_name = c.has(kAliasFirst) ? "residual" : c.has(kAliasSecond) ? "src" : "sum";
    if (!c.has(kNoSum)) {
        if (sum_name == "sum") p.buffers.push_back(per_row(output("sum", c.M, c.D, c.D)));
        p.buffers.push_back(per_row(fp32(output("stats", c.M, 2, 2))));
    }
    p.bytes = 16.0 * static_cast<double>(c.M * c.D);
    p.call = calling(&xf_backend_v1::add_norm_fwd, [c, sum_name](const Args &a, xf_add_norm_fwd &args) {
        args.M = a.rows, args.D = c.D, args.eps = 1e-6f, args.dropout = dropout_of(c, a, 2),
        args.rms = c.has(kRms) ? 1u : 0u;
        args.residual = a.f("residual"), args.src = a.f("src"), args.weights = a.f("weights"), args.bias = a.f("bias"),
        args.sum = a.f(sum_name.c_str()), args.dst = a.f("dst"), args.stats = a.f("stats");
    });
    return p;
}

Problem norm_backward(const Case &c, const Reference &reference) {
    Case plain = c;  // the sums and statistics, whatever the case leaves out or overlays
    plain.flags &= ~static_cast<uint32_t>(kNoSum | kAliasFirst | kAliasSecond);
    const Problem forward = norm_forward(plain);
    const Words results = reference(forward);
    Problem p{.name = "add_norm_bwd", .c = c, .rows = c.M};
    p.buffers = {c.has(kAliasFirst) ? sum("diff_dst", c.M, c.D, c.D) : input("diff_dst", c.M, c.D, c.D),
                 copied(forward, results, "sum", "sum"),
                 copied(forward, results, "stats", "stats"),
                 fp32(input("weights", 1, c.D, c.D)),
                 fp32(sum("diff_weights", 1, c.D, c.D)),
                 when()};
    if (!c.has(kNoBias)) p.buffers.push_back(fp32(sum("diff_bias", 1, c.D, c.D)));
    if (!c.has(kNoSum))
        p.buffers.push_back(c.has(kAliasSecond) ? sum("diff_sum", c.M, c.D, c.D) : input("diff_sum", c.M, c.D, c.D));
    if (!c.has(kNoSrc)) p.buffers.push_back(output("diff_src", c.M, c.D, c.D));
    if (c.has(kBias)) p.buffers.push_back(fp32(sum("diff_src_bias", 1, c.D, c.D)));
    std::string name = c.has(kAliasFirst) ? "diff_dst" : c.has(kAliasSecond) ? "diff_sum" : "diff_residual";
    if (name == "diff_residual") p.buffers.push_back(output("diff_residual", c.M, c.D, c.D));
    p.bytes = 20.0 * static_cast<double>(c.M * c.D);
    p.call = calling(&xf_backend_v1::add_norm_bwd, [c, name](const Args &a, xf_add_norm_bwd &args) {
        args.M = c.M, args.D = c.D, args.dropout = dropout_of(c, a, 2), args.rms = c.has(kRms) ? 1u : 0u;
        args.diff_dst = a.f("diff_dst"), args.diff_sum = a.f("diff_sum"), args.sum = a.f("sum"),
        args.stats = a.f("stats"), args.weights = a.f("weights"), args.diff_residual = a.f(name.c_str()),
        args.diff_src = a.f("diff_src"), args.diff_weights = a.f("diff_weights"), args.diff_bias = a.f("diff_bias"),
        args.diff_src_bias = a.f("diff_src_bias");
    });
    return p;
}

ProblemSet make_embed(const Case &c, const Reference &, bool) {
    std::vector<int32_t> ids = random_ids("ids", c.M, c.V);
    const std::vector<int32_t> pos = random_ids("pos", c.M, kPositions);
    if (c.has(kDistinct)) std::iota(ids.begin(), ids.end(), 0);
    if (c.weights != XF_WEIGHTS_NUM) return {.problems = {embed_forward(c, ids, pos)}};
    ProblemSet set;
    set.problems = {embed_forward(c, ids, pos), embed_backward(c, "embed_bwd", ids, c.V, 1.5f),
                    embed_backward(c, "embed_bwd of positions", pos, kPositions, 1.0f)};
    set.forward = "embed_fwd";
    set.projections = {{"dst", "diff_dst"}};
    set.gradients = {{"weights", "embed_bwd", "diff_weights"}, {"positions", "embed_bwd of positions", "diff_weights"}};
    return set;
}
const Builder embed("embed", make_embed);

ProblemSet make_add_norm(const Case &c, const Reference &reference, bool) {
    ProblemSet set;
    set.problems = {norm_forward(c), norm_backward(c, reference)};
    set.forward = "add_norm_fwd";
    set.projections = {{"dst", "diff_dst"}, {"sum", "diff_sum"}};
    set.gradients = {{"residual", "add_norm_bwd", "diff_residual"}, {"weights", "add_norm_bwd", "diff_weights"}};
    if (!c.has(kNoBias)) set.gradients.push_back({"bias", "add_norm_bwd", "diff_bias"});
    if (!c.has(kNoSrc)) set.gradients.push_back({"src", "add_norm_bwd", "diff_src"});
    return set;
}
const Builder add_norm("add_norm", make_add_norm);

ProblemSet make_adam(const Case &c, const Reference &, bool) {
    Problem p{.name = "adam", .c = c, .rows = c.N};
    for (const char *name : {"params", "grads", "m", "v"}) p.buffers.push_back(fp32(sum(name, 1, c.N, c.N)));
    for (int64_t i = 0; i < c.N; ++i) p.at("v").set(0, i, p.at("v").get(0, i) * p.at("v").get(0, i));
    if (c.has(kAverage)) p.buffers.push_back(fp32(sum("ema", 1, c.N, c.N)));
    p.bytes = (c.has(kAverage) ? 40.0 : 32.0) * static_cast<double>(c.N);
    p.call = calling(&xf_backend_v1::adam, [c](const Args &a, xf_adam &args) {
        args.n = c.N, args.ema = c.has(kAverage) ? a.f("ema") : nullptr, args.alpha = 0.01f, args.beta1 = 0.9f,
        args.beta2 = 0.98f, args.eps_hat = 1e-9f, args.grad_scale = 0.25f, args.decay = c.has(kDecay) ? 0.03f : 0.0f,
        args.ema_rate = c.has(kAverage) ? 0.05f : 0.0f;
        args.params = a.f("params"), args.grads = a.f("grads"), args.m = a.f("m"), args.v = a.f("v"),
        args.params_bf16 = a.find("copy");
    });
    return {.problems = {p}};
}
const Builder adam("adam", make_adam);

ProblemSet make_sum_squares(const Case &c, const Reference &, bool) {
    Problem p{.name = "sum_squares", .c = c, .rows = c.N};
    p.buffers = {fp32(input("src", 1, c.N, c.N)), fp32(output("dst", 1, 2, 2))};
    p.at("dst").host = true;
    p.at("dst").type = Type::kDouble;
    p.bytes = 4.0 * static_cast<double>(c.N);
    p.call = calling(&xf_backend_v1::sum_squares, [c](const Args &a, xf_sum_squares &args) {
        args.n = c.N;
        args.src = a.f("src"), args.dst = static_cast<double *>(a.find("dst"));
    });
    return {.problems = {p}};
}
const Builder sum_squares("sum_squares", make_sum_squares);

}  // namespace
}  // namespace xf_test
