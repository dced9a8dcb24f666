// Beam search of a group of sentences with its choices made on the host: steps of the network (step.h), between them
// a search for each sentence (beam.h).
//
// It serves every device that has no search of its own. All memory is kept from call to call: a step allocates nothing
// once the sizes have been seen.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "decode/search.h"
#include "decode/step.h"

namespace xf {

class HostSearch {
public:
    // Both must outlive the search.
    HostSearch(const Model &model, DecoderStep &step) : model_(model), step_(step) {}

    // step.begin() was called with beam slots for each sentence. Writes the answers of each to (*outcomes)[sentence of
    // the batch].
    void run(const SearchRequest &request, const Watch &watch, std::vector<SentenceOutcome> *outcomes);

private:
    // A sentence that is still searched, and where its slots stand: beam of them from place * beam on.
    struct Active {
        int32_t sentence, place;
    };
    int32_t slot(int32_t place, int64_t live) const { return static_cast<int32_t>(place * beam_ + live); }
    int32_t *line(int32_t place, int64_t live) { return lines_.data() + slot(place, live) * ld_; }
    void begin(const SearchRequest &request);
    void make_room(int64_t t);
    void collect(int64_t t);
    void restrict_rows(const SearchRequest &request, int64_t t);
    void inherit(const Active &active, int64_t t);

    const Model &model_;
    DecoderStep &step_;
    int64_t beam_ = 0, ld_ = 0;
    std::vector<BeamSearch> searches_;  // the first of them are in use
    std::vector<Active> active_;
    // [slots, ld_]: the slots of each hypothesis's ancestors, a column for each step.
    std::vector<int32_t> lines_, moved_lines_, staged_;
    std::vector<int32_t> kept_, prefix_;
    DecoderStep::Rows rows_;
    std::vector<float> values_;
    std::vector<int32_t> ids_;
};

}  // namespace xf
