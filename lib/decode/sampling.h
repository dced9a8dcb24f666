// Random choice of the next token (temperature, top-k, top-p, min-p), the repetition penalty, and the n-gram limit.
//
// A random number is a function of the seed, the source sentence, the number of the sample, and the step. All sums are
// computed in fp64, in the order of ids. The choice therefore does not depend on the batch, the number of threads, or
// the CPU.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace xf {

// "decode.temperature" and the options that require it.
struct SamplingOptions {
    double temperature = 0;  // 0: no sampling
    int64_t top_k = 0;       // 0: all
    double top_p = 1, min_p = 0;
    uint64_t seed = 0;

    bool operator==(const SamplingOptions &) const = default;
};

// The position of a random number.
struct SamplePosition {
    uint64_t sentence;  // a hash of its source
    uint32_t sample;    // of the sentence
    uint32_t step;
};

// A uniform number in [0, 1): Philox with the seed as its key and the position as its counter.
double uniform_number(uint64_t seed, const SamplePosition &position);

// exp(x) for x <= 0, within 2 units in the last place. Unlike std::exp, it has the same bits with every C library.
double exp_of_nonpositive(double x);

class TokenSampler {
public:
    // Chooses an id by its log-probability with a uniform number u. Returns -1 if all values are minus infinity.
    //
    // The weight of id v is exp((values[v] - m) / temperature), where m is the largest value. First, only the top_k ids
    // with the largest values remain (ties: the lower id). Of these, the smallest number of best ids remains whose
    // weights sum to at least top_p times the total weight. Of these, the ids with a weight of at least min_p remain.
    // The result is the first id at which the cumulative weight, in the order of ids, exceeds u times the total.
    int32_t choose(std::span<const float> values, const SamplingOptions &options, double u);

private:
    template <class Enough>
    void keep_best(std::span<const float> values, Enough enough);
    double total() const;

    std::vector<int32_t> ids_;     // the remaining ids, ascending
    std::vector<double> weights_;  // of all ids
};

// Writes the ids with the largest values in descending order (ties: the lower id); -1 instead of an id whose value is
// minus infinity.
void best_ids(std::span<const float> values, std::span<int32_t> ids);

// Multiplies the log-probability of each id in `ids` by the penalty, once even if the id occurs several times (Keskar
// et al. 2019, s. 4.1, applied to log-probabilities). Sorts `ids` and removes duplicates.
void penalize(std::span<float> values, std::vector<int32_t> *ids, double penalty);

// Clears the bits of the ids that would complete an n-gram that the hypothesis already contains.
void forbid_repeated_ngrams(std::span<const int32_t> hypothesis, size_t n, std::span<uint32_t> allowed);

}  // namespace xf
