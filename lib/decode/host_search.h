// Search over many sentences on the host: alternates between a step of the decoder (nn/decoder_step.h) and a step of
// the search of each sentence (beam.h). Sentences may be added between any two steps, each with its own options. The
// result of a sentence does not depend on the others. Used on devices that do not implement xf_beam_step, for sentences
// that the search on the device does not support, and for ensembles.
//
// Memory is kept between calls, so the steady state allocates nothing.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "decode/cell_pool.h"
#include "decode/search.h"
#include "decode/speculation.h"

namespace xf {

class HostSearch final : public Search {
public:
    using Search::Search;

    // Adds a model to the ensemble. The log-probability of a token is the mean of its log-probabilities in all models.
    // The arguments must outlive the search. The sources of each task must be added to the decoder steps of all models
    // in the same order, so that a source has the same rows in all of them.
    void add_model(const Model &model, Stream &stream) {
        others_.push_back(std::make_unique<DecoderStep>(model, stream));
    }
    // The decoder step of a model, by the order in which the models were added.
    DecoderStep &decoder_step(size_t index) { return index == 0 ? step_ : *others_[index - 1]; }
    using Search::decoder_step;

    // Sets the speculation that proposes tokens for tasks with SearchTask::draft; null: none. No sentence may be
    // active.
    void set_speculation(Speculation *speculation) { speculation_ = speculation; }

    void clear() override;
    void add(const SearchTask &task) override;
    int64_t active() const override { return std::ssize(active_); }
    int64_t source_tokens() const override { return source_tokens_; }
    void step(const Call &call) override;
    void stop(const SentenceOutcome *outcome) override;
    Hypothesis common_prefix(const SentenceOutcome *outcome) override;
    // Returns whether the sentence with this outcome is active.
    bool contains(const SentenceOutcome *outcome) const { return find(outcome) != active_.end(); }

private:
    struct Sentence {
        SearchTask task;
        BeamSearch search;
        // The cells of each live hypothesis: one for each token, and one for the next step. With beam 1, also those for
        // proposals.
        std::vector<std::vector<int32_t>> cells{};
        std::vector<std::vector<int32_t>> parents{};  // used by inherit_cells()
        std::span<const int32_t> proposals{};         // tokens for the steps after the next one

        int64_t steps() const { return task.limit - search.remaining(); }
        // The rows of the next step: the live hypotheses, followed by the proposals.
        size_t rows() const { return search.live().size() + proposals.size(); }
        // Returns whether row j is too short to end.
        bool too_short(size_t j) const { return step_of(j) < task.min_tokens; }
        int64_t step_of(size_t j) const { return steps() + (proposals.empty() ? 0 : static_cast<int64_t>(j)); }
        int64_t continuations(int64_t V) const;
    };
    std::vector<int32_t>::const_iterator find(const SentenceOutcome *outcome) const;
    void collect_rows();
    void restrict_rows();
    void reserve_cells();
    // Returns whether a task needs the log-probabilities of all tokens.
    bool uses_all_values(const SearchTask &task) const {
        return !others_.empty() || task.beam.kind == SearchKind::kSamples || task.repetition_penalty != 1;
    }
    void run_steps(int64_t k, bool uses_all_values, const Call &call);
    void inherit_cells(Sentence *sentence);
    void advance(Sentence *sentence, const float *values, const int32_t *ids, int64_t k);
    void advance_with_all_values(Sentence *sentence, float *values);
    void end(int32_t index);

    std::vector<std::unique_ptr<DecoderStep>> others_;  // the models of an ensemble, except the first
    Speculation *speculation_ = nullptr;
    std::vector<Sentence> sentences_;
    std::vector<int32_t> active_, vacant_;  // indices of sentences_
    int64_t source_tokens_ = 0;
    CellPool pool_;
    std::vector<Partial> partials_;  // for the constraints
    std::vector<std::vector<int32_t>> partial_ids_;
    DecoderStep::Rows rows_;
    std::vector<float> values_;
    std::vector<int32_t> ids_;
    // For sentences that use the log-probabilities of all tokens: these values, and those of the chosen continuations.
    std::vector<float> all_values_, chosen_values_;
    std::vector<double> sums_;  // of the values of all models
    std::vector<int32_t> chosen_ids_, hypothesis_;
    TokenSampler sampler_;
};

}  // namespace xf
