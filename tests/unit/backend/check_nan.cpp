// NaN and infinity: they must be seen where the contract says so, stay in their row, and never be chosen.
//
// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "backend/check.h"

namespace xf_test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

void check_sum(Opened &opened, Failures &failures) {
    for (const int64_t N : {1, 17, 5000})
        for (const int64_t at : {int64_t{0}, N / 2, N - 1})
            for (const float bad : {kNan, kInf, -kInf}) {
                Problem p = make_problems({.op = "sum_squares", .N = N}, reference).problems[0];
                p.at("src").set(0, at, bad);
                double sum;
                std::memcpy(&sum, run(opened, p).words[1].data(), sizeof sum);
                if (std::isfinite(sum)) failures.add(p, "a finite sum of something not finite");
            }
}

// A NaN in one row of src reaches that row of dst, all of it, and no other.
void check_own_row(Opened &opened, const Case &c, size_t which, const std::string &in, Failures &failures) {
    Problem p = make_problems(c, reference).problems[which];
    const Words clean = run(opened, p).words;
    for (const int64_t row : {int64_t{0}, c.M / 2, c.M - 1}) {
        Problem bad = p;
        bad.at(in).set(row, c.K > 0 ? c.K - 1 : 0, kNan);
        const Words words = run(opened, bad).words;
        const size_t b = static_cast<size_t>(p.index("dst"));
        const Buffer &dst = p.buffers[b];
        for (int64_t m = 0; m < dst.rows; ++m)
            for (int64_t n = 0; n < dst.width; ++n) {
                const size_t i = static_cast<size_t>(m * dst.ld + n);
                if (m == row ? std::isnan(as_float(words[b][i])) : words[b][i] == clean[b][i]) continue;
                return failures.add(
                    p, "a NaN in row " + std::to_string(row) + " of " + in + " gives a wrong row " + std::to_string(m));
            }
    }
}

void check_top_k(Opened &opened, uint32_t flags, Failures &failures) {
    const Case c{.op = "top_k", .M = 4, .D = 6, .V = 50, .k = 50, .flags = kBias | flags};
    Problem p = make_problems(c, reference).problems[0];
    const uint32_t gone[] = {7, 11, 30, 41};  // in each row
    for (const int64_t id : {7, 30}) p.at("weights").set(id, 2, kNan);
    p.at("bias").set(0, 11, -kInf);
    p.at("bias").set(0, 41, kNan);
    for (int64_t d = 0; d < c.D; ++d) p.at("src").set(3, d, kNan);  // every logit of row 3
    const Result result = run(opened, p);
    if (!result.trouble.empty()) return failures.add(p, result.trouble);
    const auto &values = result.words[static_cast<size_t>(p.index("values"))];
    const auto &ids = result.words[static_cast<size_t>(p.index("ids"))];
    for (int64_t row = 0; row < c.M; ++row) {
        double sum = 0.0;
        for (int64_t i = 0; i < c.k; ++i) {
            const size_t at = static_cast<size_t>(row * c.k + i);
            const float value = as_float(values[at]);
            sum += std::exp(value);
            const int64_t behind = i - (c.k - 4);
            const bool lost = row == 3 || behind >= 0;
            const uint32_t id = row == 3 ? static_cast<uint32_t>(i) : gone[std::max<int64_t>(0, behind)];
            if (lost && (value != -kInf || ids[at] != id)) return failures.add(p, "a NaN is not as minus infinity");
            if (!lost && !std::isfinite(value)) return failures.add(p, "a NaN reached other logits");
        }
        if (row != 3 && std::fabs(sum - 1.0) > 1e-5) return failures.add(p, "a NaN counts in the normalisation");
    }
}

// A NaN or an infinity is that of its element, and of no other: minus infinity gives 0, infinity itself.
void check_activation(Opened &opened, uint32_t flags, Failures &failures) {
    for (const uint32_t kind : {0u, uint32_t{kGelu}, uint32_t{kSwish}})
        for (const int64_t N : {5, 64}) {
            const Case c{.op = "activation", .M = 4, .N = N, .flags = kind | flags};
            const ProblemSet set = make_problems(c, reference);
            const float bad[] = {kNan, -kInf, kInf};
            Problem forward = set.problems[0], backward = set.problems[1];
            const Words clean = run(opened, forward).words;
            for (int64_t m = 0; m < 3; ++m)
                for (Problem *p : {&forward, &backward}) p->at("src").set(m, N - 1, bad[m]);
            const Words words = run(opened, forward).words, diffs = run(opened, backward).words;
            const auto &dst = words[static_cast<size_t>(forward.index("dst"))];
            const auto &was = clean[static_cast<size_t>(forward.index("dst"))];
            const auto &diff = diffs[static_cast<size_t>(backward.index("diff_src"))];
            for (size_t i = 0; i < dst.size(); ++i) {
                const size_t row = i / static_cast<size_t>(N);
                const bool own = (i + 1) % static_cast<size_t>(N) == 0 && row < 3;
                const float y = as_float(dst[i]), d = as_float(diff[i]),
                            one = backward.at("diff_dst").get(static_cast<int64_t>(row), static_cast<int64_t>(i) % N);
                const bool right = !own       ? dst[i] == was[i] && std::isfinite(d)
                                   : row == 0 ? std::isnan(y) && (kind == 0 ? d == one : std::isnan(d))
                                   : row == 1 ? y == 0.0f && d == 0.0f
                                              : y == kInf && d == one;
                if (!right)
                    return failures.add(forward, "a NaN or an infinity gives a wrong row " + std::to_string(row));
            }
        }
}

}  // namespace

int check_nan(const Backend &backend) {
    Failures failures(backend);
    Opened opened(backend, 2);
    check_sum(opened, failures);
    for (const int64_t M : {1, 6, 40}) {
        for (const uint32_t relu : {0u, uint32_t{kRelu}}) {
            // The ReLU of cuBLASLt is exempt: docs/ops/linear.md.
            if (relu && std::string(backend.table->name) == "cuda") continue;
            const Case linear{.op = "linear", .M = M, .N = 35, .K = 20, .flags = kBias | relu | backend.flags()};
            for (const size_t which : {size_t{0}, size_t{1}}) check_own_row(opened, linear, which, "src", failures);
        }
        for (const uint32_t weights : {XF_WEIGHTS_BF16, XF_WEIGHTS_FP16, XF_WEIGHTS_INT8}) {
            const Case rounded{.op = "linear", .M = M, .N = 35, .K = 20, .flags = kBias | kRelu, .weights = weights};
            if (!backend.bf16() && backend.serves(rounded)) check_own_row(opened, rounded, 0, "src", failures);
        }
        check_own_row(opened, {.op = "add_norm", .M = M, .D = 19, .flags = backend.flags()}, 0, "residual", failures);
    }
    check_top_k(opened, backend.flags(), failures);
    check_activation(opened, backend.flags(), failures);
    return failures.count();
}

}  // namespace xf_test
