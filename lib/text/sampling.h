// Segmentation at random, for training: each epoch cuts a text another way, so that a model sees rare words in many
// pieces and its own mistakes in cutting matter less.
//
//     BPE-dropout (Provilkov et al. 2020)       a merge that could be made is left out with probability p
//     unigram sampling (Kudo 2018, l = inf)     a way to cut x is drawn with P(x)^alpha / sum of P(x')^alpha
//
// The numbers are Philox's, a function of (seed, epoch, which text, which draw): so ids are the same for any number of
// threads, on any machine, and after a resume. Nothing of libm decides them.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/options.h"
#include "core/philox.h"

namespace xf {

class Tokenizer;

struct Sampling {
    double bpe_dropout = 0;    // 0 to below 1; 0: off
    double unigram_alpha = 0;  // 0: off; 1: as likely as the model says; towards 0: all ways alike
    uint64_t seed = 1;

    static Sampling from(const Options &options);
    // XF_ERROR_INVALID_ARGUMENT when an option is on and no side of the tokenizer (nullptr: of ids) heeds it.
    void check(const Tokenizer *tokenizer) const;
};

// Draws for one text of one epoch. Never shared by threads.
class Sampler {
public:
    Sampler(const Sampling &how, int64_t epoch, uint64_t text);

    bool drops_merges() const { return threshold_ > 0; }
    double alpha() const { return alpha_; }

    // True with probability bpe_dropout.
    bool drop() { return word() < threshold_; }
    // From 0 to below 1.
    double uniform() {
        const uint64_t high = word() >> 6, low = word() >> 5;
        return static_cast<double>(high << 27 | low) / 9007199254740992.0;
    }

private:
    uint32_t word() {
        if (used_ == 4) {
            block_ = philox(key_, next_++, static_cast<uint32_t>(text_), static_cast<uint32_t>(text_ >> 32), 0);
            used_ = 0;
        }
        return block_.word[used_++];
    }

    uint64_t key_, text_;
    uint64_t threshold_;  // of 2^32
    double alpha_;
    uint32_t next_ = 0, used_ = 4;
    Philox block_{};
};

}  // namespace xf
