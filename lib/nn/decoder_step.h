// One step of the decoder stack for all live hypotheses of a group of sentences.
//
// The keys and values of earlier steps are kept in a cache, [layer][step][slot]. Each hypothesis has a list of the
// slots of its ancestors, so that reordering beams copies nothing. The keys and values of the encoder's output are
// computed once and shared by the beams of a sentence. Every operation is row-invariant: the result for a sentence
// depends neither on its batch nor on its position in the batch.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <span>
#include <vector>

#include "nn/stack.h"
#include "nn/staging.h"

namespace xf {

class DecoderStep {
public:
    // The model and the stream must outlive the object.
    DecoderStep(const Model &model, Stream &stream);

    // Starts a group of sentences: computes the keys and values of memory [S, D] for every layer. slots: the maximum
    // number of live hypotheses; limit: the maximum number of steps. call is checked for cancellation by run() and must
    // outlive the group.
    void begin(const PackedSide &src, int64_t sentences, Num memory, int64_t slots, int64_t limit, const Call &call);

    // The numbers of hypotheses and steps for which the cache has room.
    int64_t slots() const { return slots_; }
    int64_t capacity() const { return capacity_; }
    // Makes room for more steps. The slots are divided into blocks of `width`; only the blocks listed in `kept`, in
    // rising order, remain and become blocks 0, 1, ... Their memory is reused for further steps; if that gains little,
    // a larger cache is allocated.
    void make_room(std::span<const int32_t> kept, int64_t width);

    // The input of step t, with rows ordered by sentence; host memory.
    struct Rows {
        int64_t t = 0;
        std::vector<int32_t> tokens, slot_of_row;              // [rows]
        std::vector<int32_t> sentence_begin, sentence_length;  // the rows of each live sentence
        std::vector<int32_t> source;                           // the index of each live sentence in begin()
        std::vector<uint32_t> allowed;                         // xf_top_k::allowed; empty: all tokens
        const int32_t *ancestors = nullptr;                    // [slots(), ld_ancestors], see xf_attention_step
        int64_t ld_ancestors = 0;                              // at least t
        bool may_end = true;                                   // false: the end symbol is not a continuation

        void clear();  // keeps the allocated memory
    };

    // Runs one step and returns the k best continuations of each row: values and ids are [rows, k], host memory.
    void run(const Rows &rows, int64_t k, float *values, int32_t *ids);

    // The same for a search on the device. Pointers are device memory; xf_attention_step and xf_attention define them.
    struct DeviceRows {
        int64_t rows, sentences, max_rows;  // max_rows: of one sentence
        const int32_t *tokens, *steps, *slot_of_row, *ancestors, *q_begin, *q_length, *k_begin, *k_length;
        int64_t ld_ancestors, max_step;  // steps <= max_step
        const uint32_t *allowed;
        bool may_end;
    };
    // Allocates memory for steps [0, steps) of this number of rows.
    void reserve(int64_t rows, int64_t steps);
    // on_device: values and ids are device memory.
    void run(const DeviceRows &rows, int64_t k, float *values, int32_t *ids, bool on_device);
    // The rows of memory of each sentence of begin(), for k_begin and k_length.
    const std::vector<int32_t> &source_begin() const { return source_begin_; }
    const std::vector<int32_t> &source_length() const { return source_length_; }
    // Two runs over the same rows with equal layouts issue the same operations on the same memory.
    struct Layout {
        const void *cache, *memory, *workspace;
        int64_t capacity, slots, memory_rows, max_source_length;
        auto operator<=>(const Layout &) const = default;
    };
    Layout layout() const {
        return {cache_.data(), memory_kv_.data(), workspace_.data(), capacity_,
                slots_,        memory_rows_,      max_source_length_};
    }

private:
    class CachedAttention;
    // The shape of the cache: steps and slots of each layer.
    struct Shape {
        int64_t steps, slots;
    };
    Pass pass() const;
    int64_t cache_columns() const;  // of a key and a value
    Num keys(int64_t layer) const;  // of the cache; its values follow
    Num memory_kv(int64_t layer) const;
    void move_slots(const Buffer &from, Shape before, const Buffer &to, Shape after, std::span<const int32_t> kept,
                    int64_t width);
    void grow_cache(int64_t steps, std::span<const int32_t> kept, int64_t width);
    DeviceRows upload(const Rows &rows);

    const Model &model_;
    Stream &stream_;
    std::vector<int32_t> banned_;  // the end symbol, followed by the tokens that no hypothesis contains
    const Call *call_ = nullptr;   // of the current group
    int64_t slots_ = 0, limit_ = 0, capacity_ = 0;
    int64_t max_source_length_ = 0;
    std::vector<int32_t> source_begin_, source_length_;
    Buffer memory_kv_;  // [layer][S, H(dk + dv)]
    int64_t memory_rows_ = 0;
    Buffer cache_;  // [layer][keys [steps, slots, H dk], values [steps, slots, H dv]]
    Buffer workspace_, ancestors_;
    StackActivations acts_;
    Staging staging_;
};

}  // namespace xf
