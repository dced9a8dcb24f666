// Speculative decoding with a draft model (Leviathan et al. 2023; Stern et al. 2018).
//
// Before a step of greedy search, a small model proposes the next tokens of each sentence. The step then runs the main
// model on the last token and on all proposals at once, as rows of consecutive steps (xf_attention_step::multi_step).
// At each row, the search selects the token of the main model. It continues with the next row while this token equals
// the proposal. The result has the same bits as without a draft, because every operation is row-invariant; the draft
// only affects the speed.
//
// The draft has a separate encoder pass, key/value cache, and stream. It runs only on tokens that are not in its cache:
// those that the main model selected, and its own proposals. Cells of rejected tokens are overwritten.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "decode/cell_pool.h"
#include "decode/draft_policy.h"
#include "decode/inference_model.h"
#include "decode/search.h"

namespace xf {

class Speculation {
public:
    // Throws XF_ERROR_INVALID_ARGUMENT if the context, the vocabulary sizes, or the start and end tokens of the draft
    // differ from those of the model. policy: null selects a policy with costs that are estimated from the sizes of the
    // models.
    Speculation(const Model &model, std::shared_ptr<const Model> draft, const DraftPolicy *policy = nullptr);

    const Model &draft() const { return *draft_.model; }
    // The numbers of proposals, and of those that were accepted, since clear().
    int64_t proposed() const { return proposed_; }
    int64_t accepted() const { return accepted_; }

    // Forgets all sentences.
    void clear();
    // Encodes sentences of a valid batch if the policy expects a gain. indices: the indices of these sentences. Returns
    // the id of each of them; -1: it was not encoded. active: the number of sentences in the search, including these.
    std::span<const int32_t> begin(const xf_batch &batch, std::span<const int64_t> indices, int64_t active,
                                   const Call &call);
    // Starts the proposals for sentence `id`.
    void start(int32_t id, const SearchTask &task);
    void end(int32_t id);

    // Proposes tokens for all sentences. active: the number of sentences of the search.
    void propose(int64_t active, const Call &call);
    // The proposed next tokens of sentence `id`; fewer than the number of tokens that may still follow.
    std::span<const int32_t> proposals(int32_t id) const { return sentences_[id].proposals; }
    // Updates sentence `id` after a step of the search, which accepted this number of proposals and then selected one
    // more token, unless the search ended.
    void settle(int32_t id, const BeamSearch &search, int64_t accepted);
    // Records the end of a step of the search with this number of sentences.
    void end_step(int64_t active);

private:
    struct Sentence {
        SearchTask task;
        DecoderStep::Source source;              // in the cache of the draft
        std::vector<int32_t> tokens, proposals;  // tokens: the inputs of the decoder, the first is the start token
        std::vector<int32_t> cells;              // of the tokens and the proposals
        int64_t cached = 0;                      // the number of tokens and proposals in the cache
        int64_t wanted = 0;                      // the maximum number of proposals
        int64_t forced = 0;                      // the number of proposals that are tokens of the forced prefix

        int64_t length() const { return std::ssize(tokens) - 1; }  // of the hypothesis
        int32_t input(int64_t i) const {
            return i < std::ssize(tokens) ? tokens[i] : proposals[i - std::ssize(tokens)];
        }
    };
    void add_rows(Sentence *sentence);

    InferenceModel draft_;
    DecoderStep step_;
    DraftPolicy policy_;
    std::vector<Sentence> sentences_;
    std::vector<int32_t> active_, vacant_, begun_, running_;  // indices of sentences_
    CellPool pool_;
    int64_t proposed_ = 0, accepted_ = 0, step_proposed_ = 0, step_accepted_ = 0;  // step_: in the current step
    DecoderStep::Rows rows_;
    std::vector<float> values_;
    std::vector<int32_t> ids_;
};

}  // namespace xf
