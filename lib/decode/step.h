// One decoding step of the decoder stack for all live hypotheses of a group of sentences.
//
// Keys and values of earlier steps lie in a cache [layer][step][slot]; a hypothesis finds those of its ancestors by an
// index instead of having them copied whenever beams change places. Keys and values of the encoder's output are
// computed once and shared by the beams of a sentence. Every operation is row-invariant, so a sentence feels neither
// its batch nor its place in it.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "nn/arena.h"
#include "nn/sublayers.h"

namespace xf {

class DecoderStep {
public:
    DecoderStep(Model &model, Stream &stream) : model_(model), stream_(stream) {}

    // Begins a group: computes the keys and values of memory [S, D] for every layer. slots: most hypotheses live at
    // once; limit: most steps.
    void begin(const PackedSide &src, int64_t sentences, const float *memory, int64_t slots, int64_t limit);

    // What a step works on, rows ordered by sentence. ancestors[r * t + u]: slot of row r's ancestor at step u.
    struct Rows {
        std::vector<int32_t> tokens, slot_of_row, ancestors;  // [rows], [rows], [rows, t]
        std::vector<int32_t> sentence_begin, sentence_length;  // rows of each live sentence
        std::vector<int32_t> source;                           // which sentence of begin() each of them is
    };

    // Runs step t and gives the k best continuations of each row: values and ids are [rows, k], host memory.
    void run(const Rows &rows, int64_t t, int64_t k, float *values, int32_t *ids);

private:
    struct Scratch {
        float *residual, *norm[2], *sum[2], *wide, *context;
        int32_t *ints;
    };
    void plan(int64_t rows, Arena *arena, Scratch *scratch) const;
    void grow_cache(int64_t steps);
    void upload_rows(const Rows &rows, int64_t t);

    Model &model_;
    Stream &stream_;
    int64_t sentences_ = 0, slots_ = 0, limit_ = 0, capacity_ = 0;  // capacity_: steps the cache holds
    int64_t max_source_length_ = 0;
    std::vector<int32_t> source_begin_, source_length_;  // host copies
    Buffer memory_kv_;                                   // [layer][S, H(K+W)]
    int64_t memory_rows_ = 0;
    Buffer cache_;  // [layer][keys [steps, slots, HK], values [steps, slots, HW]]
    Buffer workspace_, ints_;
    std::vector<int32_t> host_ints_;
    struct {
        const int32_t *tokens, *positions, *slot_of_row, *ancestors, *q_begin, *q_length, *k_begin, *k_length;
    } at_{};
};

}  // namespace xf
