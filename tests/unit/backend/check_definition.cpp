// Forward passes against direct implementations of the definitions in plugin_abi.h.
//
// ref is the oracle of the other backends, and finite differences only tie its backward passes to its forward ones:
// a window off by one, in both, would pass. Here each result is computed element by element in double, with no code
// of cpu/ref; and also the gradients of biases, which finite differences do not cover. Dropout has its own check,
// so cases with dropout are excluded. Runs only on ref; parity covers the other backends.
//
// check_functions() compares GELU, swish, and their derivatives with the C library's erfc and exp in double, because
// parity compares with the largest number of a tensor, so that a tail may be wrong in every digit. Its error is
// relative: |a - b| <= limit * |b| for the functions, and limit * (|b| + 1/8) for the derivatives, which cross zero.
// Numbers go from -13 to 13, beyond which GELU is 0 or x in fp32, and for swish to -80. Products of the negative tails
// go down to e^-84, so they are not denormal.
//
// SPDX-License-Identifier: Apache-2.0
#include <numbers>

#include "backend/check.h"
#include "core/error.h"

namespace xf_test {
namespace {

// A finished call: inputs as they were, outputs as they came.
struct Call {
    const Problem &p;
    const Words &words;
    Failures &failures;

    double in(const char *name, int64_t row, int64_t column) const { return p.at(name).get(row, column); }
    int32_t integer(const char *name, int64_t row, int64_t column = 0) const { return p.at(name).integer(row, column); }
    bool has(const char *name) const { return p.index(name) >= 0; }
    void expect(const char *name, int64_t row, int64_t column, double want) const {
        const double have = value_of(p, words, name, row, column);
        if (std::fabs(have - want) <= 1e-4 * (1.0 + std::fabs(want))) return;
        failures.add(p, std::string(name) + " row " + std::to_string(row) + " column " + std::to_string(column) +
                            " is " + xf::number(have) + ", by definition " + xf::number(want));
    }
};

double dot(const Call &call, const char *a, int64_t row_a, int64_t at_a, const char *b, int64_t row_b, int64_t at_b,
           int64_t n) {
    const Buffer &x = call.p.at(a), &y = call.p.at(b);
    double sum = 0.0;
    for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(x.get(row_a, at_a + i)) * y.get(row_b, at_b + i);
    return sum;
}

void define_linear(const Call &call) {
    const Case &c = call.p.c;
    for (int64_t m = 0; m < c.M; ++m)
        for (int64_t n = 0; n < c.N; ++n) {
            double want = product_of(call.p, m, n) + (c.has(kBias) ? call.in("bias", 0, n) : 0.0);
            if (c.has(kRelu) && !c.has(kGradient)) want = std::max(want, 0.0);
            call.expect("dst", m, n, want);
        }
}

// A number of the table, as its type has it.
double weight(const Call &call, int32_t row, int64_t column) {
    const Buffer &weights = call.p.at("weights");
    if (call.p.c.weights != XF_WEIGHTS_INT8) return weights.get(row, column);
    float most = 0.0f;
    for (int64_t d = 0; d < weights.width; ++d) most = std::max(most, std::fabs(weights.get(row, d)));
    return static_cast<double>(std::rint(weights.get(row, column) * (127.0f / most)) * (most / 127.0f));
}

void define_embed(const Call &call) {
    for (int64_t t = 0; t < call.p.c.M; ++t)
        for (int64_t d = 0; d < call.p.c.D; ++d)
            call.expect(
                "dst", t, d,
                1.5 * weight(call, call.integer("ids", t), d) + call.in("positions", call.integer("pos", t), d));
}

void define_attention(const Call &call) {
    const Case &c = call.p.c;
    for (int64_t b = 0; b < call.p.rows; ++b)
        for (int64_t h = 0; h < c.H; ++h)
            for (int64_t i = 0; i < call.integer("q_len", b); ++i) {
                const int64_t row = call.integer("q_begin", b) + i, first = call.integer("k_begin", b);
                std::vector<double> sums(static_cast<size_t>(c.dv), 0.0);
                double total = 0.0;
                for (int64_t j = 0; j < call.integer("k_len", b); ++j) {
                    if ((c.has(kCausal) && j > i) || (c.window > 0 && std::abs(i - j) > c.window / 2)) continue;
                    const double score = dot(call, "q", row, h * c.dk, "k", first + j, h * c.dk, c.dk);
                    const double weight = std::exp(score / std::sqrt(static_cast<double>(c.dk)));
                    total += weight;
                    for (int64_t d = 0; d < c.dv; ++d)
                        sums[static_cast<size_t>(d)] += weight * call.in("v", first + j, h * c.dv + d);
                }
                for (int64_t d = 0; d < c.dv; ++d)
                    call.expect("dst", row, h * c.dv + d, total > 0.0 ? sums[static_cast<size_t>(d)] / total : 0.0);
                if (call.has("lse") && total > 0.0) call.expect("lse", row, h, std::log(total));
            }
}

void define_attention_step(const Call &call) {
    const Case &c = call.p.c;
    std::map<int64_t, int64_t> stored;  // the row that stores a cell
    const auto cell = [&](int64_t r, int64_t u) { return call.integer("cells", call.integer("slot_of_row", r), u); };
    for (int64_t r = 0; r < c.M; ++r) stored[cell(r, call.integer("steps", r))] = r;
    for (int64_t r = 0; r < c.M; ++r) {
        const int64_t t = call.integer("steps", r), own = cell(r, t);
        for (int64_t i = 0; i < c.H * c.dk; ++i) call.expect("k_cache", own, i, call.in("k", r, i));
        for (int64_t i = 0; i < c.H * c.dv; ++i) call.expect("v_cache", own, i, call.in("v", r, i));
        for (int64_t h = 0; h < c.H; ++h) {
            std::vector<double> sums(static_cast<size_t>(c.dv), 0.0);
            double total = 0.0;
            for (int64_t u = 0; u <= t; ++u) {
                if (c.window > 0 && t - u > c.window / 2) continue;
                const auto row = stored.find(cell(r, u));
                const bool now = row != stored.end();
                const int64_t at = now ? row->second : cell(r, u);
                const double weight =
                    std::exp(0.7 * dot(call, "q", r, h * c.dk, now ? "k" : "k_cache", at, h * c.dk, c.dk));
                total += weight;
                for (int64_t d = 0; d < c.dv; ++d)
                    sums[static_cast<size_t>(d)] += weight * call.in(now ? "v" : "v_cache", at, h * c.dv + d);
            }
            for (int64_t d = 0; d < c.dv; ++d)
                call.expect("dst", r, h * c.dv + d, sums[static_cast<size_t>(d)] / total);
        }
    }
}

void define_add_norm(const Call &call) {
    const Case &c = call.p.c;
    for (int64_t m = 0; m < c.M; ++m) {
        std::vector<double> x;
        double mean = 0.0, variance = 0.0;
        for (int64_t d = 0; d < c.D; ++d)
            x.push_back(call.in("residual", m, d) + (c.has(kNoSrc) ? 0.0 : call.in("src", m, d)));
        for (const double value : x) mean += c.has(kRms) ? 0.0 : value / static_cast<double>(c.D);
        for (const double value : x) variance += (value - mean) * (value - mean) / static_cast<double>(c.D);
        const double rstd = 1.0 / std::sqrt(variance + 1e-6);
        for (int64_t d = 0; d < c.D; ++d) {
            const double value = x[static_cast<size_t>(d)];
            const double bias = c.has(kNoBias) ? 0.0 : call.in("bias", 0, d);
            call.expect("dst", m, d, call.in("weights", 0, d) * (value - mean) * rstd + bias);
            if (call.has("sum")) call.expect("sum", m, d, value);
        }
        if (call.has("stats")) call.expect("stats", m, 0, mean), call.expect("stats", m, 1, rstd);
    }
}

// Gradients of biases are column sums of the stored gradient, added to the previous content.
void define_sums(const Call &call, const char *sums, const char *gradient) {
    if (!call.has(sums)) return;
    const Buffer &rows = call.p.at(gradient);
    for (int64_t n = 0; n < rows.width; ++n) {
        double want = call.in(sums, 0, n);
        for (int64_t m = 0; m < rows.rows; ++m) want += value_of(call.p, call.words, gradient, m, n);
        call.expect(sums, 0, n, want);
    }
}
void define_linear_bwd_data(const Call &call) { define_sums(call, "diff_relu_bias", "diff_src"); }
void define_linear_bwd_weights(const Call &call) { define_sums(call, "diff_bias", "diff_dst"); }
void define_add_norm_bwd(const Call &call) { define_sums(call, "diff_src_bias", "diff_src"); }
void define_activation_bwd(const Call &call) { define_sums(call, "diff_bias", "diff_src"); }

void define_activation(const Call &call) {
    const Case &c = call.p.c;
    for (int64_t m = 0; m < c.M; ++m)
        for (int64_t f = 0; f < c.N; ++f) {
            // Of the case's own noise, as an output may lie on it.
            const double x = call.in("src", m, f);
            const double want = c.has(kGelu)    ? x * (0.5 + 0.5 * std::erf(x / std::sqrt(2.0)))
                                : c.has(kSwish) ? x / (1.0 + std::exp(-x))
                                                : std::max(x, 0.0);
            const char *dst = c.has(kAliasFirst) ? "src" : "dst";
            call.expect(dst, m, f, c.has(kGated) ? want * call.in("src", m, c.N + f) : want);
        }
}

void define_loss(const Call &call) {
    const Case &c = call.p.c;
    const double s = c.smoothing, V = static_cast<double>(c.V);
    for (int64_t m = 0; m < c.M; ++m) {
        if (call.integer("targets", m) < 0) {
            call.expect("loss", m, 0, 0.0);
            call.expect("nll", m, 0, 0.0);
            continue;
        }
        double sum = 0.0, want = 0.0;
        std::vector<double> logits;
        for (int64_t v = 0; v < c.V; ++v)
            logits.push_back(product_of(call.p, m, v) + (c.has(kBias) ? call.in("bias", 0, v) : 0.0));
        for (const double logit : logits) sum += std::exp(logit);
        for (int64_t v = 0; v < c.V; ++v) {
            const bool target = v == call.integer("targets", m);
            const double q = c.has(kUniform) ? (target ? 1.0 - s : 0.0) + s / V : target ? 1.0 - s : s / (V - 1.0);
            const double log_p = logits[static_cast<size_t>(v)] - std::log(sum);
            if (q > 0.0) want -= q * log_p;
            if (target) call.expect("nll", m, 0, -log_p);
        }
        call.expect("loss", m, 0, want);
    }
}

void define_adam(const Call &call) {
    for (int64_t i = 0; i < call.p.c.N; ++i) {
        const double g = 0.25 * call.in("grads", 0, i);
        const double m = 0.9 * call.in("m", 0, i) + 0.1 * g, v = 0.98 * call.in("v", 0, i) + 0.02 * g * g;
        call.expect("m", 0, i, m);
        call.expect("v", 0, i, v);
        call.expect("grads", 0, i, 0.0);
        const double before = call.in("params", 0, i), decay = call.p.c.has(kDecay) ? 0.03 : 0.0;
        const double after = before - decay * before - 0.01 * m / (std::sqrt(v) + 1e-9);
        call.expect("params", 0, i, after);
        if (call.p.c.has(kAverage)) call.expect("ema", 0, i, 0.95 * call.in("ema", 0, i) + 0.05 * after);
    }
}

void define_sum_squares(const Call &call) {
    double want = 0.0, have;
    for (int64_t i = 0; i < call.p.c.N; ++i) want += call.in("src", 0, i) * call.in("src", 0, i);
    std::memcpy(&have, call.words[static_cast<size_t>(call.p.index("dst"))].data(), sizeof have);
    if (!(std::fabs(have - want) <= 1e-12 * want))
        call.failures.add(call.p, "sum " + xf::number(have) + ", by definition " + xf::number(want));
}

}  // namespace

int check_definition(const Backend &backend) {
    Failures failures(backend);
    Opened opened(backend, 1);
    const struct {
        const char *name;  // how the problem's name begins
        void (*define)(const Call &);
    } definitions[] = {{"linear_fwd", define_linear},
                       {"embed_fwd", define_embed},
                       {"attention_fwd", define_attention},
                       {"attention_step", define_attention_step},
                       {"add_norm_fwd", define_add_norm},
                       {"add_norm_bwd", define_add_norm_bwd},
                       {"activation_fwd", define_activation},
                       {"activation_bwd", define_activation_bwd},
                       {"linear_bwd_data", define_linear_bwd_data},
                       {"linear_bwd_weights", define_linear_bwd_weights},
                       {"loss", define_loss},
                       {"adam", define_adam},
                       {"sum_squares", define_sum_squares}};
    Sparing sparing(backend, 1, 4);
    for (const Tested &tested : all_tested(false)) {
        if (tested.problem.c.rate > 0.0f || sparing.spares()) continue;
        for (const auto &definition : definitions)
            if (tested.problem.name.rfind(definition.name, 0) == 0)
                definition.define({tested.problem, run(opened, tested.problem).words, failures});
    }
    return failures.count();
}

namespace {

constexpr int64_t kRows = 61, kColumns = 333;

struct Function {
    const char *name;
    uint32_t kind;
    double from, to;
    double (*value)(double), (*slope)(double);
};

double distribution(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }
double density(double x) { return std::exp(-0.5 * x * x) / std::sqrt(2.0 * std::numbers::pi); }
double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

constexpr Function kFunctions[] = {
    {"gelu", kGelu, -12.9, 13.0, [](double x) { return x * distribution(x); },
     [](double x) { return distribution(x) + x * density(x); }},
    {"swish", kSwish, -80.0, 90.0, [](double x) { return x * sigmoid(x); },
     [](double x) { return sigmoid(x) * (1.0 + x * sigmoid(-x)); }},
};

// The largest error of what a call left in a buffer: function of src.
double worst(const Problem &problem, const Words &words, const char *name, double floor, double (*function)(double)) {
    const Buffer &src = problem.at("src");
    double largest = 0.0;
    for (int64_t m = 0; m < kRows; ++m)
        for (int64_t f = 0; f < kColumns; ++f) {
            const double want = function(src.get(m, f));
            const double have = value_of(problem, words, name, m, f);
            const double error = std::fabs(have - want) / (std::fabs(want) + floor);
            largest = error <= largest ? largest : std::isnan(error) ? HUGE_VAL : error;
        }
    return largest;
}

}  // namespace

int check_functions(const Backend &backend) {
    Failures failures(backend);
    Opened opened(backend, 2);
    // Without a fused multiply-add x^2 is rounded before e^(-x^2 / 2) is taken, to 2^-18 at 13.
    const std::string owner = backend.table->name;
    const double limit = owner == "cuda" ? 2e-6 : owner == "openblas" && backend.isa == "base" ? 1e-5 : 6e-7;
    for (const Function &function : kFunctions) {
        const Case c{.op = "activation", .M = kRows, .N = kColumns, .flags = function.kind};
        const ProblemSet set = make_problems(c, reference);
        Problem forward = set.problems[0], backward = set.problems[1];
        for (int64_t m = 0; m < kRows; ++m)
            for (int64_t f = 0; f < kColumns; ++f) {
                const double at = static_cast<double>(m * kColumns + f) / static_cast<double>(kRows * kColumns - 1);
                const auto x = static_cast<float>(function.from + at * (function.to - function.from));
                forward.at("src").set(m, f, x);
                backward.at("src").set(m, f, x);
                backward.at("diff_dst").set(m, f, 1.0f);
            }
        const auto check = [&](const Problem &problem, const char *name, double floor, double (*value)(double)) {
            const double error = worst(problem, run(opened, problem).words, name, floor, value);
            if (!(error <= limit))
                failures.add(problem, std::string(function.name) + ": error " + xf::number(error) + ", at most " +
                                          xf::number(limit));
        };
        check(forward, "dst", 0.0, function.value);
        check(backward, "diff_src", 1.0 / 8.0, function.slope);
    }
    return failures.count();
}

}  // namespace xf_test
