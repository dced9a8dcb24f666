// Beam search over one sentence, apart from the network (paper s. 6.1; Wu et al. 2016, eq. 14).
//
// Each step takes, for every live hypothesis, its best continuations; of all of them the 2B best are looked at. Those
// that end compete for the finished set, the B best others live on. The search ends when no live hypothesis can beat
// the worst finished one that is kept: alive_best / lp(limit) < worst_kept. The limit and the test belong to the
// sentence, so its batch can't change its answer. Ties: the older beam first, then the order of its list (xf_top_k: the
// lower id).
//
// Beam size 1 is greedy search: the best continuation, and an end where the end symbol is best.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace xf {

struct BeamOptions {
    int64_t beam = 4;
    int64_t n_best = 1;
    double alpha = 0.6;
    int32_t start_token = 0, end_token = 1;
};

// lp(L) = ((5 + L) / 6)^alpha; L counts the end symbol.
double length_penalty(int64_t length, double alpha);

struct Hypothesis {
    std::vector<int32_t> ids{};  // without the end symbol
    double log_probability = 0;
    double score = 0;
    bool finished = false;
    bool complete = true;                          // the search ran to its end
    std::vector<float> token_log_probabilities{};  // of ids, then of the end symbol when finished
    std::string text{};                            // of ids, where there is a tokenizer
};

class BeamSearch {
public:
    // A live hypothesis of the step to come: which live one of the step before it continues, and its last token.
    struct Live {
        int32_t parent;
        int32_t token;
        double log_probability;
    };

    BeamSearch() = default;  // begin() comes first
    BeamSearch(const BeamOptions &options, int64_t limit) { begin(options, limit); }

    // Starts anew in the memory of the last search. limit: most tokens an answer may have, end symbol counted; at
    // least 1.
    void begin(const BeamOptions &options, int64_t limit);

    // How many continuations of each live hypothesis advance() wants.
    static int64_t continuations(const BeamOptions &options) { return options.beam == 1 ? 1 : 2 * options.beam; }

    bool done() const { return done_; }
    const std::vector<Live> &live() const { return live_; }
    // The tokens of a live hypothesis, and how many may follow them, an end symbol counted.
    void tokens(size_t live, std::vector<int32_t> *ids) const;
    int64_t remaining() const { return limit_ - length_; }

    // values and ids: [live().size(), k] log-probabilities in falling order. Afterwards live() is the next step's.
    void advance(const float *values, const int32_t *ids, int64_t k);

    // Best first, at most n_best; when nothing finished, the best live one. Before done() the best so far.
    std::vector<Hypothesis> result() const;

private:
    struct Node {  // a token of some hypothesis; paths share their beginnings
        int32_t previous;
        int32_t token;
        float log_probability;  // of the token
    };
    struct Finished {
        int32_t node;
        float end;  // log-probability of the end symbol
        double log_probability, score;
    };
    Hypothesis make(int32_t node, const float *end) const;
    size_t length_of(int32_t node) const;
    void finish(int32_t node, float end, double log_probability);

    BeamOptions options_;
    int64_t limit_ = 0;
    int64_t length_ = 0;  // tokens chosen so far
    bool done_ = false;
    std::vector<Node> nodes_;
    std::vector<int32_t> live_node_, next_node_;  // parallel to live_ and next_
    std::vector<Live> live_, next_;               // next_: being made
    std::vector<Finished> finished_;              // best first, at most n_best
    struct Candidate {
        double log_probability;
        int32_t beam, rank, token;  // rank: place in the beam's own list
        float value;                // of the token alone
    };
    std::vector<Candidate> candidates_;
};

}  // namespace xf
