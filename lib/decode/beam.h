// Beam search over one sentence, independent of the network (paper s. 6.1; Wu et al. 2016, eq. 14).
//
// Each step considers the 2B most probable continuations of all live hypotheses, where B is the beam size.
// Continuations with the end symbol are finished; the n_best of them with the highest scores are kept. The B best other
// continuations become the live hypotheses of the next step. The search ends when n_best finished hypotheses are kept
// and no live hypothesis can have a better score than the worst of these: best_live / lp(limit) < worst_kept. The limit
// and this test depend only on the sentence, so the result does not depend on the batch. Ties: the hypothesis with the
// lower index first, then the order of its continuations (xf_top_k: the lower id).
//
// Beam size 1 is greedy search: it takes the best continuation and ends when that is the end symbol.
//
// Samples and alternatives are n_best hypotheses that do not compete. Until the forced prefix ends, there is one
// hypothesis. Its n_best continuations then become separate hypotheses, each of which is extended by one token per step
// until it ends or reaches the limit.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace xf {

enum class SearchKind { kBeam, kSamples, kAlternatives };

struct BeamOptions {
    int64_t beam = 4;
    int64_t n_best = 1;
    double alpha = 0.6;
    int32_t start_token = 0, end_token = 1;
    SearchKind kind = SearchKind::kBeam;

    // The largest number of live hypotheses.
    int64_t width() const { return kind == SearchKind::kBeam ? beam : n_best; }
    bool operator==(const BeamOptions &) const = default;
};

// lp(L) = ((5 + L) / 6)^alpha; L includes the end symbol.
double length_penalty(int64_t length, double alpha);

struct Hypothesis {
    std::vector<int32_t> ids{};  // without the end symbol
    double log_probability = 0;
    double score = 0;
    bool finished = false;                         // ended with the end symbol
    bool complete = true;                          // the search ran to its end
    std::vector<float> token_log_probabilities{};  // of ids, followed by that of the end symbol if finished
    std::string text{};                            // of ids, if there is a tokenizer
    // If they were requested: the source token of each id, -1: none; and the size of the text of the first ids.
    std::vector<int32_t> alignment{};
    std::vector<size_t> text_ends{};
};

class BeamSearch {
public:
    // A live hypothesis: the index of its parent among the live hypotheses of the previous step, and its last token.
    struct Live {
        int32_t parent;
        int32_t token;
        double log_probability;
        int32_t number = 0;  // index of the sample or alternative
    };

    BeamSearch() = default;  // begin() must be called first
    BeamSearch(const BeamOptions &options, int64_t limit) { begin(options, limit, 0); }

    // Starts a new search, reusing memory. limit: the maximum length of a hypothesis with the end symbol; at least 1.
    // prefix: the number of tokens in the forced prefix.
    void begin(const BeamOptions &options, int64_t limit, int64_t prefix);

    // The number of continuations of each live hypothesis that a step of beam search needs.
    static int64_t continuations(const BeamOptions &options) { return options.beam == 1 ? 1 : 2 * options.beam; }
    // The number that the next call of advance() needs.
    int64_t continuations() const;

    bool done() const { return done_; }
    const std::vector<Live> &live() const { return live_; }
    // Writes the tokens of a live hypothesis.
    void tokens(size_t live, std::vector<int32_t> *ids) const;
    // The tokens with which every possible result begins, as an unfinished hypothesis. This is the common prefix of all
    // live hypotheses and of the finished ones that are kept. It never becomes shorter.
    Hypothesis common_prefix() const;
    // The number of tokens that may follow a live hypothesis, including the end symbol.
    int64_t remaining() const { return limit_ - length_; }

    // values and ids: for each live hypothesis, in rows ld apart, k log-probabilities in descending order and their
    // ids. Updates live().
    void advance(const float *values, const int32_t *ids, int64_t k, int64_t ld);

    // Returns at most n_best hypotheses, best first; if none has finished, the best live one. Before done(), the best
    // so far. Samples and alternatives: all of them, also those that have not finished.
    std::vector<Hypothesis> result() const;

private:
    struct Node {  // a token of a hypothesis; hypotheses share nodes of common prefixes
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
    int64_t length_of(int32_t node) const;
    void finish(int32_t node, float end, double log_probability);
    void choose_candidates(const float *values, const int32_t *ids, int64_t k, int64_t ld);

    BeamOptions options_;
    int64_t limit_ = 0;
    int64_t length_ = 0;  // tokens of each live hypothesis
    int64_t prefix_ = 0;  // the length of the forced prefix
    bool done_ = false;
    bool ended_ = false;  // no live hypothesis could continue
    std::vector<Node> nodes_;
    std::vector<int32_t> live_node_, next_node_;  // parallel to live_ and next_
    std::vector<Live> live_, next_;               // next_: of the next step, used by advance()
    std::vector<Finished> finished_;              // best first, at most n_best
    struct Candidate {
        double log_probability;
        int32_t parent, index, token;  // index: in the continuations of the parent
        float value;                   // log-probability of the token
    };
    std::vector<Candidate> candidates_;
};

}  // namespace xf
