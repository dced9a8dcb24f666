// Beam search with its state on the device (xf_beam_step). Steps follow each other without waiting for the host, and a
// device that records operations replays one recording per step.
//
// Given equal log-probabilities, the hypotheses are bit-identical to those of BeamSearch. Every few steps, the host
// reads the number of active sentences and removes the rows of sentences that have ended.
//
// The tokens that a forced prefix allows are known in advance, so the host uploads them without waiting. A constraint
// runs on the host: after each step the host reads the live hypotheses and uploads the allowed tokens of the next step.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "backend/graph_cache.h"
#include "decode/search.h"
#include "nn/decoder_step.h"

namespace xf {

// Returns a copy of device memory after all earlier operations on the stream.
template <class T>
std::vector<T> fetch(Stream &stream, const T *from, int64_t count) {
    std::vector<T> values(count);
    stream.download(values.data(), from, values.size() * sizeof(T));
    return values;
}

class DeviceSearch {
public:
    // The arguments must outlive the search.
    DeviceSearch(const Model &model, Stream &stream, DecoderStep &step) : model_(model), stream_(stream), step_(step) {}

    static bool is_supported(const Device &device) { return device.ops().beam_step != nullptr; }

    // Called with the number of sentences whose search has not ended.
    using Report = std::function<void(int64_t active)>;

    // Searches a group of sentences with equal options and writes their hypotheses. Their sources must be the only ones
    // of the decoder step.
    void run(std::span<const SearchTask> tasks, const Call &call, const Report &report);

private:
    struct Key {
        DecoderStep::Layout layout;
        const void *state, *sentences_memory, *rows_memory;
        int64_t active, sentences, beam, n_best, k, steps, source_length;
        bool restricted, may_end;
        auto operator<=>(const Key &) const = default;
    };
    // The next input of a hypothesis.
    struct Row {
        int32_t token, step;
    };

    int64_t padded(int64_t n) const { return model_.context().graphs() ? bucket(n) : n; }
    void plan(Arena *arena);
    void begin();
    bool restricts(int64_t t) const;
    void upload_rows(const std::vector<int32_t> &active, const std::vector<Row> &rows);
    void restrict_rows(int64_t t);
    void run_step();
    void issue_operations();
    int32_t read_step(int64_t t);
    void drop_finished();
    void collect_results(int64_t steps);

    const Model &model_;
    Stream &stream_;
    DecoderStep &step_;
    std::span<const SearchTask> tasks_;
    const Call *call_ = nullptr;
    BeamOptions options_;                       // of all tasks
    int64_t sentences_ = 0, ld_ = 0, k_ = 0;    // sentences_ and ld_ include padding
    std::vector<int32_t> active_;               // the sentence of each group of rows; -1: padding
    int64_t words_ = 0;                         // of allowed, per row; 0: no step of the request restricts tokens
    bool restricted_ = false, may_end_ = true;  // of the current step
    // With a constraint: the host's copy of the live hypotheses. paths_: the tokens of each slot.
    std::vector<int32_t> host_readback_, live_, done_;
    std::vector<std::vector<int32_t>> paths_, next_paths_;
    std::vector<uint32_t> bits_;
    std::vector<Partial> partials_;
    Buffer buffer_;
    Staging sentences_staging_, rows_staging_;
    // Device memory: the arguments of the operations of a step, and what only the host uses.
    DecoderStep::DeviceRows rows_{};
    xf_beam_step beam_step_{};
    float *values_ = nullptr;      // of beam_step_
    int32_t *ids_ = nullptr;       // of beam_step_
    int32_t *cells_ = nullptr;     // of beam_step_
    double *penalty_ = nullptr;    // of beam_step_
    uint32_t *allowed_ = nullptr;  // [rows, words_]; null without restrictions
    int32_t *readback_ = nullptr;  // live, done, and the last step of history, for the host; null without restrictions
    GraphCache<Key> graphs_;
};

}  // namespace xf
