// GELU, swish and their derivatives against the C library's erfc and exp in double, one number after the other.
//
// Parity compares with the largest number of a tensor, so that a tail may be wrong in every digit. Here the error is
// relative: |a - b| <= limit * |b| for the functions, and limit * (|b| + 1/8) for the derivatives, which cross zero.
// Numbers go from -13 to 13, beyond which GELU is 0 or x in fp32; swish is tried to -80. Products of the negative
// tails go down to e^-84: no denormal numbers.
//
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numbers>

#include "backend/check.h"
#include "core/error.h"

namespace xf_test {
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
    const Buffer &buffer = problem.at(name), &src = problem.at("src");
    double largest = 0.0;
    for (int64_t m = 0; m < kRows; ++m)
        for (int64_t f = 0; f < kColumns; ++f) {
            const double want = function(src.get(m, f));
            const double have =
                as_float(words[static_cast<size_t>(problem.index(name))][static_cast<size_t>(m * buffer.ld + f)]);
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
