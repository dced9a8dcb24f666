// Parity with the reference, and what the checks share; see check.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "backend/check.h"

#include <cstdio>
#include <set>

#include "core/error.h"
#include "ref/ref.h"

namespace xf_test {
namespace {

double value_at(const Buffer &buffer, const std::vector<uint32_t> &words, int64_t row, int64_t column) {
    if (buffer.type == Type::kDouble) {
        double value;
        std::memcpy(&value, &words[static_cast<size_t>(row * buffer.ld)], sizeof value);
        return value;
    }
    return as_float(words[static_cast<size_t>(row * buffer.ld + column)]);
}

void compare(const Problem &problem, size_t b, const Words &expected, const Words &found, Failures &failures) {
    const Buffer &buffer = problem.buffers[b];
    double worst = 0.0, largest = 0.0;
    for (int64_t row = 0; row < buffer.rows; ++row) {
        if (buffer.writes[static_cast<size_t>(row)] != Write::kYes) continue;
        for (int64_t column = 0; column < buffer.width; ++column) {
            const double want = value_at(buffer, expected[b], row, column);
            const double have = value_at(buffer, found[b], row, column);
            if (std::isfinite(want)) largest = std::max(largest, std::fabs(want));
            if (want == have || (std::isnan(want) && std::isnan(have))) continue;
            const double error = std::fabs(want - have);
            worst = std::isnan(error) ? HUGE_VAL : std::max(worst, error);
        }
    }
    const double relative = worst / (largest + buffer.floor);
    if (!(relative <= (problem.c.has(kBf16) ? kToleranceBf16 : kTolerance)))
        failures.add(problem, buffer.name + ": error " + xf::number(relative) + " against ref, largest value " +
                                  xf::number(largest));
}

// Independent of ref: the log-probabilities of a row, in double.
std::vector<double> log_softmax(const Problem &problem, int64_t row) {
    const Buffer &weights = problem.at("weights");
    std::vector<double> logits(static_cast<size_t>(weights.rows));
    double sum = 0.0;
    for (int64_t v = 0; v < weights.rows; ++v) {
        double &logit = logits[static_cast<size_t>(v)];
        logit = product_of(problem, row, v);
        if (problem.c.has(kBias)) logit += problem.at("bias").get(0, v);
        sum += std::exp(logit);
    }
    for (double &logit : logits) logit -= std::log(sum);
    return logits;
}

// The selected ids must be allowed, distinct, match their values, and omit no better id; ties in ascending order.
void check_choice(const Problem &problem, const Words &found, Failures &failures) {
    const Buffer &values = problem.at("values"), &ids = problem.at("ids");
    const auto &value_words = found[static_cast<size_t>(problem.index("values"))];
    const auto &id_words = found[static_cast<size_t>(problem.index("ids"))];
    const double tolerance = kTolerance * 20.0;
    for (int64_t row = 0; row < problem.rows; ++row) {
        std::vector<double> left = log_softmax(problem, row);
        for (const int32_t id : problem.c.banned) left[static_cast<size_t>(id)] = -HUGE_VAL;
        for (size_t v = 0; problem.c.has(kAllowed) && v < left.size(); ++v) {
            const auto word = problem.at("allowed").integer(row, static_cast<int64_t>(v / 32));
            if ((static_cast<uint32_t>(word) >> (v % 32) & 1u) == 0) left[v] = -HUGE_VAL;
        }
        const auto all = [&](size_t v) {
            const auto &words = found[static_cast<size_t>(problem.index("all_values"))];
            return as_float(words[static_cast<size_t>(row) * left.size() + v]);
        };
        for (size_t v = 0; problem.c.has(kAll) && v < left.size(); ++v)
            if (left[v] != all(v) && !(std::fabs(left[v] - all(v)) <= tolerance))
                return failures.add(problem,
                                    "row " + std::to_string(row) + " has a wrong value of " + std::to_string(v));
        for (int64_t i = 0; i < ids.width; ++i) {
            const size_t at = static_cast<size_t>(row * ids.ld + i);
            const int32_t id = static_cast<int32_t>(id_words[at]);
            const double value = as_float(value_words[static_cast<size_t>(row * values.ld + i)]);
            const bool near = problem.c.has(kNearTies), ranked = near || problem.c.has(kTies);
            const double apart = near ? 1e-6 : 1e-9;  // closer values count as equal
            size_t best = 0;
            for (size_t v = 1; v < left.size(); ++v)
                if (left[v] > left[best] + apart) best = v;                           // the lower id of ties
            if (id == -1 && value == -HUGE_VAL && left[best] == -HUGE_VAL) continue;  // nothing is left
            const bool known = id >= 0 && static_cast<size_t>(id) < left.size();
            if (!known || left[static_cast<size_t>(id)] == -HUGE_VAL ||
                !(std::fabs(left[static_cast<size_t>(id)] - value) <= tolerance) ||
                (problem.c.has(kAll) && all(static_cast<size_t>(id)) != value) || !(left[best] - value <= tolerance) ||
                (ranked && best != static_cast<size_t>(id))) {
                failures.add(problem, "row " + std::to_string(row) + " choice " + std::to_string(i) + " is id " +
                                          std::to_string(id) + ", expected " + std::to_string(best));
                return;
            }
            left[static_cast<size_t>(id)] = -HUGE_VAL;
        }
    }
}

// Exact bits of low-precision matrices as promised in plugin_abi.h: 16-bit types match the widened matrix on the same
// backend; int8 in linear matches ref.
void check_low_precision(Opened &opened, const Tested &tested, const Words &found, Failures &failures) {
    const Problem &problem = tested.problem;
    if (problem.c.weights == XF_WEIGHTS_NUM) return;
    std::string where;
    if (problem.c.weights == XF_WEIGHTS_INT8) {
        if (problem.c.op == "linear") where = difference(problem, tested.expected, found);
    } else {
        Case wide = problem.c;
        wide.weights = XF_WEIGHTS_NUM;
        Problem same = *make_problems(wide, reference).find(problem.name);
        same.buffers = problem.buffers;  // numbers that the 16-bit type can represent
        where = difference(problem, run(opened, same).words, found);
    }
    if (!where.empty()) failures.add(problem, where + ": other bits");
}

}  // namespace

void Failures::add(const Problem &problem, const std::string &what) {
    if (++count_ > 20) return;
    std::fprintf(stderr, "%s: %s [%s]: %s\n", backend_.c_str(), problem.name.c_str(), describe(problem.c).c_str(),
                 what.c_str());
}

float as_float(uint32_t word) {
    float value;
    std::memcpy(&value, &word, sizeof value);
    return value;
}

float value_of(const Problem &problem, const Words &words, const std::string &name, int64_t row, int64_t column) {
    const auto b = static_cast<size_t>(problem.index(name));
    return as_float(words[b][static_cast<size_t>(row * problem.buffers[b].ld + column)]);
}

Words reference(const Problem &problem) {
    Opened ref({xf_ref_backend(), "base"}, 1);
    const Result result = run(ref, problem);
    if (!result.trouble.empty())
        xf::fail(XF_ERROR_INTERNAL, "ref: %s: %s", problem.name.c_str(), result.trouble.c_str());
    return result.words;
}

const std::vector<Tested> &all_tested(bool bf16) {
    const auto make = [](uint32_t flags) {
        std::vector<Tested> made;
        for (Case c : all_cases()) {
            if (flags != 0 && c.weights != XF_WEIGHTS_NUM) continue;
            c.flags |= flags;
            for (Problem &problem : make_problems(c, reference).problems) {
                Words expected = reference(problem);
                made.push_back({std::move(problem), std::move(expected)});
            }
        }
        return made;
    };
    if (bf16) {
        static const std::vector<Tested> rounded = make(kBf16);
        return rounded;
    }
    static const std::vector<Tested> fp32 = make(0);
    return fp32;
}

std::string difference(const Problem &problem, const Words &a, const Words &b) {
    for (size_t i = 0; i < problem.buffers.size(); ++i)
        if (a[i] != b[i]) return problem.buffers[i].name;
    return "";
}

int check_listed(const Backend &backend) {
    static std::set<std::string> called;
    xf_backend_v1 noting = *backend.table;
#define XF_NOTE(name, type)                                                \
    noting.name = [](xf_stream *stream, const type *args, xf_error *err) { \
        called.insert(#name);                                              \
        return xf_ref_backend()->name(stream, args, err);                  \
    };
    XF_FOR_EACH_REQUIRED_OP(XF_NOTE)
#undef XF_NOTE
    Opened opened({&noting, backend.isa}, 1);
    std::set<std::string> names;
    for (const Tested &tested : all_tested(false))
        if (names.insert(tested.problem.name).second) run(opened, tested.problem);
    int missing = 0;
#define XF_MISSING(name, type)                                              \
    if (called.count(#name) == 0) {                                         \
        std::fprintf(stderr, "%s: no case of cases.cpp calls it\n", #name); \
        ++missing;                                                          \
    }
    XF_FOR_EACH_REQUIRED_OP(XF_MISSING)
#undef XF_MISSING
    return missing;
}

int check_parity(const Backend &backend) {
    Failures failures(backend);
    Opened opened(backend, 2);
    for (const Tested &tested : all_tested(backend.bf16())) {
        if (!backend.serves(tested.problem.c)) continue;
        const Result result = run(opened, tested.problem);
        if (!result.trouble.empty()) {
            failures.add(tested.problem, result.trouble);
            continue;
        }
        for (size_t b = 0; b < tested.problem.buffers.size(); ++b)
            if (tested.problem.buffers[b].out && tested.problem.buffers[b].type != Type::kInt)
                compare(tested.problem, b, tested.expected, result.words, failures);
        check_low_precision(opened, tested, result.words, failures);
        if (tested.problem.name == "top_k") check_choice(tested.problem, result.words, failures);
    }
    return failures.count();
}

int check_copies(const Backend &backend) {
    Failures failures(backend);
    Opened opened(backend, 2);
    for (const int64_t N : {0, 1, 7, 4097}) {
        Problem p = make_problems({.op = "adam", .N = N}, reference).problems[0];
        p.name = "adam with a bf16 copy";
        p.buffers.push_back(output("copy", 1, N, N));
        Problem q{.name = "to_bf16", .c = {.op = "to_bf16", .N = N}, .rows = N};
        q.buffers = {fp32(input("params", 1, N, N)), output("copy", 1, N, N)};
        if (N > 6) {
            Buffer &src = q.at("params");
            const uint32_t edges[] = {0x3F808000u, 0x3F818000u, 0x7F800000u, 0xFF7FFFFFu, 0x00000001u, 0x80000000u};
            std::copy(std::begin(edges), std::end(edges), src.words.begin());
        }
        q.call = calling(&xf_backend_v1::to_bf16, [N](const Args &a, xf_to_bf16 &args) {
            args.n = N;
            args.src = a.f("params"), args.dst = a.find("copy");
        });
        for (const Problem *problem : {&p, &q})
            for (const int shift : {0, 1}) {
                const Result result = run(opened, *problem, shift);
                if (!result.trouble.empty()) failures.add(*problem, result.trouble);
                const auto &params = result.words[static_cast<size_t>(problem->index("params"))];
                const auto &copy = result.words[static_cast<size_t>(problem->index("copy"))];
                for (size_t i = 0; i < params.size(); ++i)
                    if (copy[i] != to_bf16(params[i])) {
                        failures.add(*problem, "number " + std::to_string(i) + " is not the rounded one");
                        break;
                    }
            }
    }
    return failures.count();
}

}  // namespace xf_test
