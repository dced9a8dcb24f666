// Random segmentation for training (subword regularization): each epoch segments a text differently.
//
//     BPE-dropout (Provilkov et al. 2020)       each possible merge is skipped with probability p
//     unigram sampling (Kudo 2018, l = inf)     the probability of segmentation x is P(x)^alpha / sum of P(x')^alpha
//
// Random numbers come from Philox, keyed by (seed, epoch, text, draw). Therefore the ids are the same for any number of
// threads, on any machine, and after resuming. They do not depend on libm.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/options.h"
#include "core/philox.h"

namespace xf {

class Tokenizer;

struct Sampling {
    double value = 0;  // p for BPE; alpha for unigram, where 1 uses the model's probabilities; 0 is off
    uint64_t seed = 1;

    static Sampling from(const Options &options);
    // Checks a nonzero value. XF_ERROR_INVALID_ARGUMENT for a corpus of ids (nullptr) and if neither side of the
    // tokenizer supports sampling, XF_ERROR_OUT_OF_RANGE for a probability p of 1 or more.
    void check(const Tokenizer *tokenizer) const;
};

// The random numbers for one text in one epoch. Not thread-safe.
class Sampler {
public:
    Sampler(const Sampling &sampling, uint64_t epoch, uint64_t text);

    bool drops_merges() const { return threshold_ > 0; }
    double alpha() const { return alpha_; }

    // Returns true with probability p.
    bool drop() { return next_u32() < threshold_; }
    // Uniform in [0, 1).
    double uniform() {
        const uint64_t high = next_u32() >> 6, low = next_u32() >> 5;
        return (high << 27 | low) / 9007199254740992.0;
    }

private:
    uint32_t next_u32() {
        if (used_ == 4) {
            block_ = philox(key_, next_++, text_, text_ >> 32, 0);
            used_ = 0;
        }
        return block_.word[used_++];
    }

    uint64_t key_, text_;
    uint64_t threshold_;  // p * 2^32
    double alpha_;
    uint32_t next_ = 0, used_ = 4;
    Philox block_{};
};

}  // namespace xf
