// Beam search whose state lives on the device (xf_beam_step): a step needs nothing of the host, so steps follow each
// other without waiting, and where the device can record calls a step is one replay.
//
// The answers are those of BeamSearch to the bit, given equal log-probabilities. The host looks every few steps how
// many sentences are still searched, and gives fewer rows to the next steps when enough have ended.
//
// What a forced prefix says of a step is known beforehand: its bits go to the device with nobody waiting. A constraint
// is the host's: it is told after each step what lives on, in one wait, and sends the bits of the next.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "backend/graph_cache.h"
#include "decode/search.h"
#include "decode/step.h"

namespace xf {

// Device memory as a vector, when all before it has been computed.
template <class T>
std::vector<T> fetch(Stream &stream, const T *from, int64_t count) {
    std::vector<T> values(static_cast<size_t>(count));
    stream.download(values.data(), from, values.size() * sizeof(T));
    return values;
}

class DeviceSearch {
public:
    // All three must outlive the search.
    DeviceSearch(const Model &model, Stream &stream, DecoderStep &step) : model_(model), stream_(stream), step_(step) {}

    static bool possible(const Device &device) { return device.ops().beam_step != nullptr; }

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
        int32_t *told;      // live, done, and what the last step wrote to history, for the host
        uint32_t *allowed;  // [rows, words]; both null when nothing is restricted
    };
    struct Key {
        DecoderStep::Layout layout;
        const void *state;
        int64_t active, sentences, beam, n_best, k, steps;
        bool restricted, may_end;
        auto operator<=>(const Key &) const = default;
    };
    struct Row {
        int32_t token, step;
    };

    int64_t padded(int64_t n) const { return model_.context().graphs() ? bucket(n) : n; }
    void plan(Arena *arena);
    void begin(const SearchRequest &request);
    void place(const std::vector<int32_t> &active, const std::vector<Row> &rows);
    void restrict_rows(const SearchRequest &request, int64_t t);
    void one_step();
    int32_t follow(int64_t t);
    void calls();
    void drop_finished();
    void results(const SearchRequest &request, int64_t steps, std::vector<SentenceOutcome> *outcomes);

    const Model &model_;
    Stream &stream_;
    DecoderStep &step_;
    BeamOptions options_;
    int64_t sentences_ = 0, ld_ = 0, k_ = 0;    // padded
    std::vector<int32_t> active_;               // sentence of each group of rows, or -1
    int64_t words_ = 0;                         // of a row's bits; 0: no step of the request is restricted
    bool restricted_ = false, may_end_ = true;  // of the step at hand
    // With a constraint: what lives, as the host follows it. paths_: the tokens of each slot.
    std::vector<int32_t> told_, live_, done_;
    std::vector<std::vector<int32_t>> paths_, next_paths_;
    std::vector<uint32_t> bits_;
    Buffer buffer_;
    State state_{};
    GraphCache<Key> graphs_;
};

}  // namespace xf
