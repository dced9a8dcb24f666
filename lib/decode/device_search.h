// Beam search whose state lives on the device (xf_beam_step): a step needs nothing of the host, so steps follow each
// other without waiting, and where the device can record calls a step is one replay.
//
// The answers are those of BeamSearch to the bit, given equal log-probabilities. The host looks every few steps how
// many sentences are still searched, and gives fewer rows to the next steps when enough have ended.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "backend/graph_cache.h"
#include "decode/search.h"
#include "decode/step.h"

namespace xf {

class DeviceSearch {
public:
    // All three must outlive the search.
    DeviceSearch(const Model &model, Stream &stream, DecoderStep &step) : model_(model), stream_(stream), step_(step) {}

    // Whether it can do this: what wants a hand in each step is left to the host.
    static bool possible(const Device &device, const SearchRequest &request) {
        return device.ops().beam_step != nullptr && request.constraint == nullptr && request.prefix_ids == nullptr &&
               request.min_tokens == 0;
    }

    // The slots and steps that DecoderStep::begin() is to be given for run().
    int64_t slots(const BeamOptions &options, int64_t sentences) const { return padded(sentences) * options.beam; }
    int64_t steps(int64_t longest) const { return padded(longest); }

    // Writes the answers of each sentence to (*outcomes)[sentence of the batch].
    void run(const SearchRequest &request, const Watch &watch, std::vector<SentenceOutcome> *outcomes);

private:
    // Device memory; sizes in docs/ops/beam_step.md. The rows' part is written anew when sentences leave.
    struct State {
        double *live_logp, *penalty;
        int32_t *length, *live, *done, *limit, *finished_count, *remaining;
        int32_t *active, *slot_of_row, *q_begin, *q_length, *k_begin, *k_length, *tokens, *steps;
        int32_t *ids, *ancestors, *history_token, *history_parent;
        float *values, *history_logp;
        xf_beam_finished *finished;
    };
    struct Key {
        DecoderStep::Layout layout;
        const void *state;
        int64_t active, sentences, beam, n_best, k, steps;
        auto operator<=>(const Key &) const = default;
    };
    struct Row {
        int32_t token, step;
    };

    int64_t padded(int64_t n) const { return model_.context().graphs() ? bucket(n) : n; }
    void plan(Arena *arena);
    void begin(std::span<const int64_t> limits);
    void place(const std::vector<int32_t> &active, const std::vector<Row> &rows);
    void one_step();
    void calls();
    void drop_finished();
    void results(const SearchRequest &request, int64_t steps, std::vector<SentenceOutcome> *outcomes);

    const Model &model_;
    Stream &stream_;
    DecoderStep &step_;
    BeamOptions options_;
    int64_t sentences_ = 0, ld_ = 0, k_ = 0;  // padded
    std::vector<int32_t> active_;             // sentence of each group of rows, or -1
    Buffer buffer_;
    State state_{};
    GraphCache<Key> graphs_;
};

}  // namespace xf
