// One decoding step of the decoder stack for all live hypotheses of a group of sentences.
//
// Keys and values of earlier steps lie in a cache [layer][step][slot]; a hypothesis finds those of its ancestors by an
// index instead of having them copied whenever beams change places. Keys and values of the encoder's output are
// computed once and shared by the beams of a sentence. Every operation is row-invariant, so a sentence feels neither
// its batch nor its place in it.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <span>
#include <vector>

#include "nn/arena.h"
#include "nn/sublayers.h"

namespace xf {

class DecoderStep {
public:
    // Both must outlive the step.
    DecoderStep(const Model &model, Stream &stream);

    // Begins a group: computes the keys and values of memory [S, D] for every layer. slots: most hypotheses live at
    // once; limit: most steps; call: who may cancel, for the runs that follow.
    void begin(const PackedSide &src, int64_t sentences, Num memory, int64_t slots, int64_t limit, const Call &call);

    // Hypotheses and steps that the cache has room for.
    int64_t slots() const { return slots_; }
    int64_t capacity() const { return capacity_; }
    // Makes room for more steps: of the slots, in blocks of width, those of the blocks kept (rising) stay, and become
    // the blocks 0, 1, ... The others' memory serves the steps to come; only when that is little a larger cache is
    // taken.
    void make_room(std::span<const int32_t> kept, int64_t width);

    // What step t works on, rows ordered by sentence.
    struct Rows {
        int64_t t = 0;
        std::vector<int32_t> tokens, slot_of_row;              // [rows]
        std::vector<int32_t> sentence_begin, sentence_length;  // rows of each live sentence
        std::vector<int32_t> source;                           // which sentence of begin() each of them is
        std::vector<uint32_t> allowed;                         // xf_top_k::allowed; empty: all
        const int32_t *ancestors = nullptr;                    // [slots(), ld_ancestors], see xf_attention_step
        int64_t ld_ancestors = 0;                              // at least t
        bool may_end = true;                                   // false: the end symbol is no continuation

        void clear();  // keeps the memory
    };

    // Runs a step and gives the k best continuations of each row: values and ids are [rows, k], host memory.
    void run(const Rows &rows, int64_t k, float *values, int32_t *ids);

    // The same in pieces, for a search that lives on the device: rows are device memory (xf_attention_step and
    // xf_attention say what each is).
    struct DeviceRows {
        int64_t rows, sentences, most_rows;  // most_rows: of a sentence
        const int32_t *tokens, *steps, *slot_of_row, *ancestors, *q_begin, *q_length, *k_begin, *k_length;
        int64_t ld_ancestors, max_step;  // steps <= max_step
        const uint32_t *allowed;
        bool may_end;
    };
    // Memory for steps 0 .. steps - 1 of so many rows.
    void reserve(int64_t rows, int64_t steps);
    void run(const DeviceRows &rows, int64_t k, float *values, int32_t *ids, bool on_device);
    // Where each sentence of begin() lies in memory, for k_begin and k_length.
    const std::vector<int32_t> &source_begin() const { return source_begin_; }
    const std::vector<int32_t> &source_length() const { return source_length_; }
    // Two runs over the same rows with equal layouts are the same calls on the same memory.
    struct Layout {
        const void *cache, *memory, *workspace;
        int64_t capacity, slots, memory_rows, longest;
        auto operator<=>(const Layout &) const = default;
    };
    Layout layout() const {
        return {cache_.data(), memory_kv_.data(), workspace_.data(), capacity_,
                slots_,        memory_rows_,      max_source_length_};
    }

private:
    struct Scratch {
        Num residual, norm[2], sum[2], wide, hidden, context;
        // Boundaries take turns: what one wrote is read by the next.
        NormActivations at(int turn) const { return {sum[turn % 2], norm[turn % 2], nullptr}; }
    };
    Pass pass() const;
    void plan(int64_t rows, Arena *arena, Scratch *scratch) const;
    // Where the cache's blocks of slots are copied from and to.
    struct Shape {
        int64_t steps, slots;
    };
    void move_slots(const Buffer &from, Shape before, const Buffer &to, Shape after, std::span<const int32_t> kept,
                    int64_t width);
    void grow_cache(int64_t steps, std::span<const int32_t> kept, int64_t width);
    DeviceRows upload_rows(const Rows &rows);
    Num decode(const Pass &pass, const DeviceRows &rows, const Scratch &scratch);

    const Model &model_;
    Stream &stream_;
    std::vector<int32_t> banned_;                                   // the end symbol, then what no answer has
    const Call *call_ = nullptr;                                    // of the last begin()
    int64_t sentences_ = 0, slots_ = 0, limit_ = 0, capacity_ = 0;  // capacity_: steps the cache holds
    int64_t max_source_length_ = 0;
    std::vector<int32_t> source_begin_, source_length_;  // host copies
    Buffer memory_kv_;                                   // [layer][S, H(K+W)]
    int64_t memory_rows_ = 0;
    Buffer cache_;  // [layer][keys [steps, slots, HK], values [steps, slots, HW]]
    Buffer workspace_, ints_;
    std::vector<int32_t> host_ints_;
};

}  // namespace xf
