// Beam search with its state on the device, for sentences of one beam size.
//
// A lane has one slot for each active sentence. The state, the history, and the list of cells of the sentence are in
// device memory at the index of its slot (xf_beam_step). A step runs the decoder over the rows of all active sentences,
// `beam` rows each, and then xf_beam_step. Steps follow each other without waiting for the host. A device that records
// operations replays one recording per step. So that a recording can be reused, the numbers of active sentences, of
// slots, and of steps that fit into the memory are rounded up. Padding rows use the slots after those of the sentences.
//
// The host counts the steps of each sentence. It reads the state of all sentences every few steps, before sentences
// begin or are stopped, and after each step while a sentence has a constraint or its common prefix is requested. It
// then removes the rows of sentences whose search has ended.
//
// Given equal log-probabilities, the hypotheses are bit-identical to those of BeamSearch.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "backend/graph_cache.h"
#include "decode/search.h"
#include "nn/decoder_step.h"

namespace xf {

class DeviceLane {
public:
    struct Key {
        DecoderStep::Layout layout;
        const void *state, *rows_memory, *allowed;
        int64_t active, slots, beam, k, steps, source_length;
        auto operator<=>(const Key &) const = default;
    };
    // The objects that all lanes of a search use.
    struct Shared {
        const Model &model;
        Stream &stream;
        DecoderStep &step;
        RangePool cells{};      // the cells of each sentence are contiguous
        int64_t sentences = 0;  // number of sentences that have cells
        GraphCache<Key> graphs{};
    };

    DeviceLane(Shared *shared, int64_t beam);

    int64_t beam() const { return beam_; }
    int64_t active() const { return std::ssize(active_) + std::ssize(added_); }
    int64_t source_tokens() const { return source_tokens_; }

    // Like the functions of Search, for sentences with this beam size. clear() does not free Shared::cells; the caller
    // does that after it has cleared all lanes.
    void add(const SearchTask &task);
    void step(const Call &call);
    void stop(const SentenceOutcome *outcome);
    void clear();
    bool contains(const SentenceOutcome *outcome) const;
    // Frees the cells of the padding rows. Must be called before an idle lane is removed.
    void release_cells();
    Hypothesis common_prefix(const SentenceOutcome *outcome);

private:
    struct Sentence {
        SearchTask task{};
        int32_t steps = 0;                     // issued steps; the length, unless the search has ended
        int32_t first_cell = 0;                // the first of task.limit * beam cells
        bool followed = false;                 // its history is read after each step
        std::vector<xf_beam_token> history{};  // [steps that have been read, beam]

        bool used() const { return task.outcome != nullptr; }
    };
    // A hypothesis: the one at `index` among those with `length` tokens.
    struct Node {
        int32_t length, index;
    };

    int64_t padded(int64_t n) const { return shared_.model.context().graphs() ? bucket(n) : n; }
    // The number of slots for padding. bucket() adds less than half of the active sentences.
    int64_t padding() const { return shared_.model.context().graphs() ? slots_ / 3 : 0; }
    void plan(Arena *arena);
    void grow(int64_t slots, int64_t ld);
    void copy_state(const xf_beam_step &from, int64_t slots);
    void begin_added();
    void upload_begun(int64_t first, int64_t count);
    void upload_rows();
    void issue_operations(const Call &call);
    void run_step(const Call &call);
    bool must_read() const;
    // Reads the state of all sentences, if steps have been issued since the last call.
    void read();
    void read_history(std::span<const int32_t> slots);
    void end(std::span<const int32_t> slots);
    void end_done();
    Node parent(const Sentence &sentence, Node node) const;
    Hypothesis path(int32_t slot, Node node) const;
    void write_result(int32_t slot) const;
    void restrict_rows();

    // The host's copy of the state, valid after read().
    template <class T>
    const T *host(const T *state) const {
        const auto offset = reinterpret_cast<const char *>(state) - reinterpret_cast<char *>(beam_step_.sentences);
        return reinterpret_cast<const T *>(reinterpret_cast<const char *>(state_.data()) + offset);
    }
    const xf_beam_sentence &state(int32_t slot) const { return host(beam_step_.sentences)[slot]; }

    Shared &shared_;
    const int64_t beam_;
    const int64_t k_;                  // continuations of each hypothesis, not counting a forbidden end symbol
    const int64_t words_;              // of allowed, per row
    std::vector<Sentence> sentences_;  // by slot
    std::vector<SearchTask> added_;    // without a slot until the next step
    std::vector<int32_t> active_;      // slots, in the order of their rows
    int64_t source_tokens_ = 0;
    int64_t slots_ = 0, ld_ = 0, rows_active_ = 0;  // with padding
    bool planned_ = false;                          // the device memory has a plan
    bool changed_ = false;                          // the rows are not those of the active sentences
    bool known_ = false;                            // state_ is the current one
    int64_t unread_ = 0;                            // steps since read()
    int64_t idle_cells_ = 0;                        // the first cell of the padding rows
    std::vector<double> state_;
    std::vector<uint32_t> bits_;
    std::vector<Partial> partials_;
    std::vector<std::vector<int32_t>> partial_ids_;
    Buffer buffer_, allowed_, gathered_;
    size_t state_bytes_ = 0;
    Staging rows_staging_;
    DecoderStep::DeviceRows rows_{};
    xf_beam_step beam_step_{};
};

}  // namespace xf
