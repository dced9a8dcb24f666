// Finite differences against the backward passes.
//
//     L(x) = sum(projection * forward(x))      dL/dx_i ~ (8 (L(x + h) - L(x - h)) - (L(x + 2h) - L(x - 2h))) / 12 h
//
// The four-point rule has an error of h^4, so that h may be large (1/64) and the noise of fp32 results, 1e-7 / h,
// stays small. Some elements of each input are tried, and one direction over all elements at once. Bound: 5e-3 of
// the largest gradient plus 5e-4.
//
// SPDX-License-Identifier: Apache-2.0

#include "backend/check.h"
#include "core/error.h"

namespace xf_test {
namespace {

constexpr double kStep = 1.0 / 64.0;
constexpr int kElements = 12;

class Loss {
public:
    Loss(Opened &opened, const ProblemSet &set, const Problem &forward)
        : opened_(opened), set_(set), problem_(forward) {}

    // L with moves[i] * amount added to the elements of an input.
    double at(const std::string &name, const std::vector<double> &moves, double amount) {
        Problem moved = problem_;
        Buffer &buffer = moved.at(name);
        for (size_t i = 0; i < moves.size(); ++i) {
            if (moves[i] == 0.0) continue;
            const float value = static_cast<float>(as_float(buffer.words[i]) + moves[i] * amount);
            std::memcpy(&buffer.words[i], &value, sizeof value);
        }
        const Words words = run(opened_, moved).words;
        double sum = 0.0;
        for (const auto &[out, in] : set_.projections) {
            const Buffer &dst = problem_.at(out);
            for (int64_t row = 0; row < dst.rows; ++row) {
                if (dst.writes[static_cast<size_t>(row)] != Write::kYes) continue;
                for (int64_t column = 0; column < dst.width; ++column)
                    sum += weight(in, row, column) * value_of(problem_, words, out, row, column);
            }
        }
        return sum;
    }

    double derivative(const std::string &name, const std::vector<double> &moves) {
        const double near = at(name, moves, kStep) - at(name, moves, -kStep);
        const double far = at(name, moves, 2.0 * kStep) - at(name, moves, -2.0 * kStep);
        return (8.0 * near - far) / (12.0 * kStep);
    }

private:
    double weight(const std::string &in, int64_t row, int64_t column) const {
        if (in.empty()) return 1.0;
        for (const Problem &problem : set_.problems)
            if (problem.index(in) >= 0) return problem.at(in).get(row, column);
        return 0.0;
    }

    Opened &opened_;
    const ProblemSet &set_;
    const Problem &problem_;
};

// The gradient the backward pass gives for each element of an input; 0 where the input is padding.
std::vector<double> backward(Opened &opened, const Problem &problem, const Gradient &gradient, const Buffer &input) {
    const Result result = run(opened, problem);
    if (!result.trouble.empty()) xf::fail(XF_ERROR_INTERNAL, "%s: %s", problem.name.c_str(), result.trouble.c_str());
    const Buffer &diff = problem.at(gradient.diff);
    const auto &words = result.words[static_cast<size_t>(problem.index(gradient.diff))];
    std::vector<double> values(input.words.size(), 0.0);
    for (int64_t row = 0; row < input.rows; ++row)
        for (int64_t column = 0; column < input.width; ++column) {
            if (std::isnan(input.get(row, column))) continue;
            const size_t at = static_cast<size_t>(row * diff.ld + column);
            const float before = as_float(diff.words[at]);
            values[static_cast<size_t>(row * input.ld + column)] =
                static_cast<double>(as_float(words[at])) - (std::isnan(before) ? 0.0f : before);
        }
    return values;
}

void check_one(Opened &opened, const ProblemSet &set, const Gradient &gradient, Failures &failures) {
    const Problem &forward = *set.find(set.forward), &back = *set.find(gradient.backward);
    const Buffer &input = forward.at(gradient.input);
    const std::vector<double> values = backward(opened, back, gradient, input);
    const bool relu = back.index("relu_dst") >= 0;  // a ReLU made this input: no gradient where it is not positive
    Loss objective(opened, set, forward);
    std::vector<size_t> elements;
    double largest = 0.0;
    for (size_t i = 0; i < values.size(); ++i) {
        const float x = as_float(input.words[i]);
        if (std::isnan(x)) continue;
        largest = std::max(largest, std::fabs(values[i]));
        if (relu && gradient.input == "src" && x <= 0.0f) {
            if (values[i] != 0.0) failures.add(back, gradient.diff + ": not 0 where the ReLU was closed");
            continue;
        }
        elements.push_back(i);
    }
    const double bound = 5e-3 * largest + 5e-4;
    std::vector<double> moves(values.size(), 0.0);
    const auto compare = [&](double expected, double limit, const std::string &what) {
        const double found = objective.derivative(gradient.input, moves);
        if (!(std::fabs(found - expected) <= limit))
            failures.add(back, gradient.diff + " " + what + ": " + xf::number(expected) + ", by differences " +
                                   xf::number(found));
    };
    for (size_t n = 0; n < elements.size(); n += std::max<size_t>(1, elements.size() / kElements)) {
        moves[elements[n]] = 1.0;
        compare(values[elements[n]], bound, "element " + std::to_string(elements[n]));
        moves[elements[n]] = 0.0;
    }
    double expected = 0.0;
    const double size = 1.0 / std::sqrt(static_cast<double>(std::max<size_t>(1, elements.size())));
    for (const size_t i : elements) {
        moves[i] = noise(77, static_cast<int64_t>(i), 0) > 0.0f ? size : -size;
        expected += moves[i] * values[i];
    }
    compare(expected, bound, "along a direction");
}

}  // namespace

int check_gradients(const Backend &backend) {
    Failures failures(backend);
    Opened opened(backend, 1);
    for (const Case &c : all_cases()) {
        if (!c.has(kGradient)) continue;
        const ProblemSet set = make_problems(c, reference);
        for (const Gradient &gradient : set.gradients) check_one(opened, set, gradient, failures);
    }
    return failures.count();
}

}  // namespace xf_test
