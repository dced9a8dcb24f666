// One step of the decoder stack for all live hypotheses of a number of sentences.
//
// The keys and values of a token of a hypothesis are in a cell of the cache, [layer][cell]. Each hypothesis has a list
// of its cells, so hypotheses share the cells of a common prefix, and reordering beams copies nothing. The keys and
// values of the encoder's output, the memory, are computed once and shared by the beams of a sentence. Sentences come
// and go independently, and hypotheses may be at different steps. Every operation is row-invariant: the result for a
// sentence depends neither on its batch nor on its position in the batch.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <vector>

#include "nn/row_store.h"
#include "nn/stack.h"
#include "nn/staging.h"

namespace xf {

class DecoderStep {
public:
    // The model and the stream must outlive the object.
    DecoderStep(const Model &model, Stream &stream);

    // The rows of the memory of one sentence.
    struct Source {
        int32_t begin = 0, length = 0;

        // Sentence s of a packed side whose rows begin at `first`, as returned by add_sources().
        static Source of(const PackedSide &side, int64_t s, int64_t first) {
            return {static_cast<int32_t>(first + side.host_begin[s]), side.host_length[s]};
        }
    };
    // Computes the keys and values of encoded sources, memory [src.rows, D], for every layer. Returns their first
    // row.
    int64_t add_sources(const PackedSide &src, Num memory, const Call &call);
    // Frees the rows of a sentence.
    void remove(const Source &source) { memory_rows_.release(source.begin, source.length); }
    // Frees the rows of all sentences.
    void clear() { memory_rows_.clear(); }

    // The number of cells.
    int64_t cells() const { return cache_.rows(); }
    // Provides at least this number of cells. keep: with their contents.
    void reserve_cells(int64_t cells, bool keep) { cache_.reserve(cells, keep); }
    // Provides memory for steps of this number of rows.
    void reserve(int64_t rows);

    // The input of a step, with rows ordered by sentence; host memory.
    struct Rows {
        std::vector<int32_t> tokens, steps;                    // [rows]
        std::vector<int32_t> cells;                            // [rows, ld_cells], see xf_attention_step
        std::vector<int32_t> sentence_begin, sentence_length;  // the rows of each sentence
        std::vector<Source> sources;                           // of each sentence
        std::vector<uint32_t> allowed;                         // xf_top_k::allowed; empty: all tokens
        int64_t ld_cells = 0;                                  // greater than every step
        bool may_end = true;                                   // false: the end symbol is not a continuation
        bool multi_step = false;                               // xf_attention_step::multi_step

        void clear();  // keeps the allocated memory
        // Adds a row whose cell of each step up to its own is in `row_cells`. ld_cells must be set.
        void add(int32_t token, int64_t step, const std::vector<int32_t> &row_cells);
    };

    // Runs one step and returns the k best continuations of each row: values and ids are [rows, k], host memory.
    // all_values: xf_top_k::all_values.
    void run(const Rows &rows, int64_t k, float *values, int32_t *ids, float *all_values, const Call &call);
    void run(const Rows &rows, int64_t k, float *values, int32_t *ids, const Call &call) {
        run(rows, k, values, ids, nullptr, call);
    }

    // The same for a search on the device. Pointers are device memory; xf_attention_step and xf_attention define them.
    struct DeviceRows {
        int64_t rows, sentences, max_rows;  // max_rows: of one sentence
        const int32_t *tokens, *steps, *slot_of_row, *cells, *q_begin, *q_length, *k_begin, *k_length;
        int64_t ld_cells, max_step, max_source_length;  // steps <= max_step
        const uint32_t *allowed;
        bool may_end, multi_step;
    };
    // reserve() must have been called. on_device: values and ids are device memory.
    void run(const DeviceRows &rows, int64_t k, float *values, int32_t *ids, bool on_device, const Call &call) {
        run(rows, k, values, ids, nullptr, on_device, call);
    }
    // Two runs over the same rows with equal layouts issue the same operations on the same memory.
    struct Layout {
        const void *cache, *memory, *workspace;
        int64_t cells, memory_rows;
        auto operator<=>(const Layout &) const = default;
    };
    Layout layout() const { return {cache_.data(), memory_.data(), workspace_.data(), cache_.rows(), memory_.rows()}; }

private:
    class CachedAttention;
    Pass pass(const Call &call) const;
    void run(const DeviceRows &rows, int64_t k, float *values, int32_t *ids, float *all_values, bool on_device,
             const Call &call);
    DeviceRows upload(const Rows &rows);

    const Model &model_;
    Stream &stream_;
    std::vector<int32_t> banned_;  // the end symbol, followed by the tokens that no hypothesis contains
    RowStore memory_;              // the keys and values of each layer
    RangePool memory_rows_;
    RowStore cache_;  // the keys of layer 0, its values, those of layer 1, ...
    Buffer workspace_;
    StackActivations acts_;
    Staging staging_;
};

}  // namespace xf
