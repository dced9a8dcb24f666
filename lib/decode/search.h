// The input, the result, and the interface of a search, on the host (host_search.h) or on the device
// (device_search.h).
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/call.h"
#include "decode/beam.h"
#include "decode/sampling.h"
#include "nn/decoder_step.h"
#include "xformer/status.h"

namespace xf {

// A hypothesis for which a constraint selects the next tokens.
struct Partial {
    int64_t sentence;  // in the batch
    std::span<const int32_t> ids;
    int64_t remaining;            // the number of tokens that may follow, including the end symbol
    std::span<uint32_t> allowed;  // one bit for each id; all bits are set
};
// Clears the bits of the tokens that must not follow. Called once per step with all live hypotheses.
using Constraint = std::function<void(std::span<const Partial> partials)>;

// The forced beginning of the hypotheses of a sentence.
struct ForcedPrefix {
    int32_t first = -1;              // the first token; -1: any
    std::span<const int32_t> ids{};  // the tokens after it

    int64_t size() const { return (first >= 0 ? 1 : 0) + std::ssize(ids); }
    // Token t; t < size().
    int32_t token(int64_t t) const {
        if (first < 0) return ids[t];
        return t == 0 ? first : ids[t - 1];
    }
};

// The result for one sentence: its hypotheses, best first, or the error.
struct SentenceOutcome {
    xf_status status = XF_OK;
    std::string message{};
    std::vector<Hypothesis> hypotheses{};
    bool needs_alignment = false;       // Decoder::align_ended() has not written the alignments yet
    std::vector<size_t> source_ends{};  // the end of each source token in the text, if requested

    bool settled() const { return status != XF_OK || (!hypotheses.empty() && !needs_alignment); }
};

// One sentence to decode.
struct SearchTask {
    int64_t sentence = 0;  // in the batch, for the constraint
    BeamOptions beam{};
    int64_t min_tokens = 0;  // the minimum length of a hypothesis, without the end symbol
    int64_t limit = 1;       // the maximum length of a hypothesis, with the end symbol
    ForcedPrefix prefix{};
    const Constraint *constraint = nullptr;  // null: none
    DecoderStep::Source source{};
    SentenceOutcome *outcome = nullptr;  // receives the hypotheses
    SamplingOptions sampling{};
    double repetition_penalty = 1;
    uint64_t source_hash = 0;  // of the ids of the source
    int64_t draft_tokens = 0;  // the maximum number of proposals per step
    int32_t draft = -1;        // id from Speculation::begin(); -1: no proposals

    // Returns whether some tokens must not follow a hypothesis of t tokens.
    bool restricts(int64_t t) const { return t < prefix.size() || constraint != nullptr; }
    // Returns whether the constraint selects the tokens that follow a hypothesis of t tokens.
    bool uses_constraint(int64_t t) const { return constraint != nullptr && t >= prefix.size(); }
    // If the prefix forces token t, clears the bits of all other tokens.
    void force_prefix(int64_t t, std::span<uint32_t> bits) const {
        if (t >= prefix.size()) return;
        std::fill(bits.begin(), bits.end(), 0u);
        bits[prefix.token(t) / 32] = 1u << prefix.token(t) % 32;
    }
};

// Searches many sentences together. Sentences may be added between any two steps, each with its own options. The result
// of a sentence does not depend on the others.
//
// After an error of any function, only clear() may be called.
class Search {
public:
    // The arguments must outlive the search.
    Search(const Model &model, Stream &stream) : model_(model), step_(model, stream) {}
    virtual ~Search() = default;
    Search(const Search &) = delete;
    Search &operator=(const Search &) = delete;

    // The decoder step, to which the sources of all tasks must be added before the tasks.
    DecoderStep &decoder_step() { return step_; }

    // Ends the search of all sentences and frees all memory of the decoder step for reuse. Cannot fail.
    virtual void clear() = 0;
    // Starts the search of a sentence. The constraint of the task must outlive it.
    virtual void add(const SearchTask &task) = 0;
    // The number of sentences that are not known to have ended.
    virtual int64_t active() const = 0;
    // The source tokens of all active sentences.
    virtual int64_t source_tokens() const = 0;
    // Runs one step of all active sentences. Writes the hypotheses of sentences whose search has ended, at once or in a
    // later step.
    virtual void step(const Call &call) = 0;
    // Ends the search of the sentence with this outcome, or of all if it is null, with the best hypotheses so far.
    virtual void stop(const SentenceOutcome *outcome) = 0;
    // BeamSearch::common_prefix() of the active sentence with this outcome.
    virtual Hypothesis common_prefix(const SentenceOutcome *outcome) = 0;

protected:
    const Model &model_;
    DecoderStep step_;
};

// The number of 32-bit words that hold one bit for each of V tokens.
constexpr int64_t allowed_words(int64_t V) { return (V + 31) / 32; }

}  // namespace xf
