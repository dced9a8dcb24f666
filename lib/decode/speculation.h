// Speculative decoding with a draft model (Leviathan et al. 2023; Stern et al. 2018).
//
// Before a step of greedy search, a small model proposes the next tokens of each sentence. The step then runs the model
// on the last token and on all proposals at once, as rows of consecutive steps (xf_attention_step::multi_step). The
// search takes the model's own token at each row and continues with the next row as long as that token is the one that
// was proposed. The result has the same bits as without a draft, because every operation is row-invariant; the draft
// only affects the speed.
//
// The draft has a separate encoder pass, key/value cache, and stream. It runs only on the tokens that it has not seen:
// those that the model chose, and its proposals. Cells of rejected tokens are overwritten.
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
    // XF_ERROR_INVALID_ARGUMENT if the draft has another context, other vocabulary sizes, or other special tokens than
    // the model. policy: null: the one that follows from the sizes of the models.
    Speculation(const Model &model, std::shared_ptr<const Model> draft, const DraftPolicy *policy = nullptr);

    const Model &draft() const { return *draft_.model; }
    // The numbers of proposals, and of those that were accepted, since clear().
    int64_t proposed() const { return proposed_; }
    int64_t accepted() const { return accepted_; }

    // Forgets all sentences.
    void clear();
    // Encodes the sentences of a valid batch that are listed in indices, unless the draft does not pay, and returns a
    // number for each of them, which is -1 for none. active: the number of sentences of the search, including these.
    std::span<const int32_t> begin(const xf_batch &batch, std::span<const int64_t> indices, int64_t active,
                                   const Call &call);
    // Starts the proposals for sentence `id`.
    void start(int32_t id, const SearchTask &task);
    void end(int32_t id);

    // Proposes tokens for all sentences. active: the number of sentences of the search.
    void propose(int64_t active, const Call &call);
    // The tokens that may follow sentence `id`; fewer than its remaining ones.
    std::span<const int32_t> proposals(int32_t id) const { return sentences_[id].proposals; }
    // Records that the search of sentence `id` accepted this number of proposals, and the token that it chose itself.
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
        int64_t forced = 0;                      // the number of proposals that are the prefix of the task

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
