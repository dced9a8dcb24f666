// Beam search over a group of sentences on the host: alternates between a step of the decoder (nn/decoder_step.h) and a
// step of the search of each sentence (beam.h). Used on devices that do not implement xf_beam_step.
//
// Memory is kept between calls, so the steady state allocates nothing.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "decode/search.h"
#include "nn/decoder_step.h"

namespace xf {

class HostSearch {
public:
    // The arguments must outlive the search.
    HostSearch(const Model &model, DecoderStep &step) : model_(model), step_(step) {}

    // Writes the hypotheses of each sentence to (*outcomes)[its index in the batch]. step.begin() must have been called
    // with `beam` slots per sentence.
    void run(const SearchRequest &request, const SearchControl &control, std::vector<SentenceOutcome> *outcomes);

private:
    // A sentence whose search has not ended. Its slots are [block * beam, (block + 1) * beam).
    struct Active {
        int32_t sentence, block;
    };
    int32_t slot(int32_t block, int64_t live) const { return static_cast<int32_t>(block * beam_ + live); }
    int32_t *ancestors(int32_t block, int64_t live) { return ancestors_.data() + slot(block, live) * ld_; }
    void begin(const SearchRequest &request);
    void make_room(int64_t t);
    void collect_rows(int64_t t);
    void restrict_rows(const SearchRequest &request, int64_t t);
    void update_ancestors(const Active &active, int64_t t);

    const Model &model_;
    DecoderStep &step_;
    int64_t beam_ = 0, ld_ = 0;
    std::vector<BeamSearch> searches_;  // by sentence of the group; may have more elements
    std::vector<Active> active_;
    // [slots, ld_]: the slot of the ancestor of each hypothesis at each step.
    std::vector<int32_t> ancestors_, moved_ancestors_, parent_ancestors_;
    std::vector<int32_t> kept_;
    std::vector<Partial> partials_;  // for the constraint
    std::vector<std::vector<int32_t>> partial_ids_;
    DecoderStep::Rows rows_;
    std::vector<float> values_;
    std::vector<int32_t> ids_;
};

}  // namespace xf
