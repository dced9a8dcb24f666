// SPDX-License-Identifier: Apache-2.0
#include "decode/sampling.h"

#include <algorithm>
#include <cmath>

#include "core/philox.h"

namespace xf {

double uniform_number(uint64_t seed, const SamplePosition &position) {
    const Philox numbers = philox(seed, static_cast<uint32_t>(position.sentence),
                                  static_cast<uint32_t>(position.sentence >> 32), position.sample, position.step);
    const uint64_t bits = uint64_t{numbers.word[0]} << 32 | numbers.word[1];
    return static_cast<double>(bits >> 11) * 0x1p-53;
}

double exp_of_nonpositive(double x) {
    if (!(x > -708)) return 0;  // below the normal numbers
    constexpr double kLog2E = 0x1.71547652b82fep0, kHigh = 0x1.62e42fee00000p-1, kLow = 0x1.a39ef35793c76p-33;
    const double n = std::nearbyint(x * kLog2E);
    const double r = x - n * kHigh - n * kLow;  // |r| <= log(2) / 2; n * kHigh is exact
    double sum = 1;
    for (int i = 14; i > 0; --i) sum = 1 + sum * r / i;  // the Taylor series
    return std::ldexp(sum, static_cast<int>(n));
}

// Keeps the best ids, from the best one on, through the first for which enough(id) is true.
template <class Enough>
void TokenSampler::keep_best(std::span<const float> values, Enough enough) {
    const auto worse = [&](int32_t a, int32_t b) { return values[a] != values[b] ? values[a] < values[b] : a > b; };
    std::make_heap(ids_.begin(), ids_.end(), worse);
    auto kept = ids_.end();
    while (kept != ids_.begin()) {
        std::pop_heap(ids_.begin(), kept--, worse);
        if (enough(*kept)) break;
    }
    ids_.erase(ids_.begin(), kept);
    std::sort(ids_.begin(), ids_.end());
}

double TokenSampler::total() const {
    double sum = 0;
    for (const int32_t id : ids_) sum += weights_[id];
    return sum;
}

int32_t TokenSampler::choose(std::span<const float> values, const SamplingOptions &options, double u) {
    const float largest = *std::max_element(values.begin(), values.end());
    ids_.clear();
    weights_.resize(values.size());
    for (int32_t id = 0; id < std::ssize(values); ++id) {
        if (!(values[id] > -INFINITY)) continue;
        ids_.push_back(id);
        weights_[id] = exp_of_nonpositive((double{values[id]} - double{largest}) / options.temperature);
    }
    if (options.top_k > 0 && options.top_k < std::ssize(ids_))
        keep_best(values, [count = options.top_k](int32_t) mutable { return --count == 0; });
    if (options.top_p < 1)
        keep_best(values, [&, sum = 0.0, enough = options.top_p * total()](int32_t id) mutable {
            sum += weights_[id];
            return sum >= enough;
        });
    std::erase_if(ids_, [&](int32_t id) { return weights_[id] < options.min_p; });
    const double target = u * total();
    double sum = 0;
    for (const int32_t id : ids_) {
        sum += weights_[id];
        if (sum > target) return id;
    }
    return -1;  // no id was allowed
}

void best_ids(std::span<const float> values, std::span<int32_t> ids) {
    size_t count = 0;
    for (int32_t id = 0; id < std::ssize(values); ++id) {
        if (count == ids.size() ? !(values[id] > values[ids[count - 1]]) : !(values[id] > -INFINITY)) continue;
        // Insertion into the sorted ids: few values pass the test above.
        size_t at = count < ids.size() ? count++ : count - 1;
        for (; at > 0 && values[id] > values[ids[at - 1]]; --at) ids[at] = ids[at - 1];
        ids[at] = id;
    }
    std::fill(ids.begin() + static_cast<std::ptrdiff_t>(count), ids.end(), -1);
}

void penalize(std::span<float> values, std::vector<int32_t> *ids, double penalty) {
    std::sort(ids->begin(), ids->end());
    ids->erase(std::unique(ids->begin(), ids->end()), ids->end());
    for (const int32_t id : *ids) values[id] = static_cast<float>(values[id] * penalty);
}

void forbid_repeated_ngrams(std::span<const int32_t> hypothesis, size_t n, std::span<uint32_t> allowed) {
    if (hypothesis.size() < n) return;
    const std::span<const int32_t> last = hypothesis.last(n - 1);
    for (size_t at = 0; at + n <= hypothesis.size(); ++at) {
        const int32_t next = hypothesis[at + n - 1];
        if (std::equal(last.begin(), last.end(), hypothesis.begin() + static_cast<std::ptrdiff_t>(at)))
            allowed[next / 32] &= ~(1u << next % 32);
    }
}

}  // namespace xf
