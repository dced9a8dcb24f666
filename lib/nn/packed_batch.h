// A batch on the device: packed ids, positions, sentence bounds, and groups of tokens for the gradient of embeddings.
//
// Source and target are packed without padding. The decoder's input is the target shifted right by one, after the start
// symbol (paper s. 3.1). If a target ends with a language token that the model expects in place of the start symbol,
// the target "y </s> lang" becomes the input "lang y </s>", as in mBART (shift_tokens_right() of transformers).
//
// For the gradient of an embedding, tokens are grouped by id, so that a backend adds the rows of each token in a fixed
// order, without atomics.
//
// On a device that records operations (CUDA graphs), training batches are padded, so that many of them have the same
// shape and share a recording. Padding consists of extra sentences at the end whose rows have no target. It changes no
// result except for the order of sums over rows. It is added even if recording is switched off, so that recording does
// not change any bit. The padded numbers of sentences and groups are functions of the number of rows, because a
// sentence without rows and a group without tokens cost almost nothing, whereas a new shape costs a recording.
// Recording gains nothing for large batches, so these keep their own numbers.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "nn/model_config.h"
#include "nn/staging.h"
#include "xformer/data.h"

namespace xf {

// One side of the batch. Pointers are device memory unless stated.
struct PackedSide {
    int64_t tokens = 0;                                           // without padding
    int64_t rows = 0;                                             // with padding
    int64_t max_length = 0;                                       // of a sentence; rounded up if the batch is padded
    const int32_t *ids = nullptr, *positions = nullptr;           // [rows]
    const int32_t *begin = nullptr, *length = nullptr;            // [B]
    const int32_t *host_begin = nullptr, *host_length = nullptr;  // copies in host memory, valid until the next load
    // Tokens grouped by id and by position, for xf_embed_bwd.
    struct Groups {
        int64_t count = 0;
        const int32_t *ids = nullptr, *starts = nullptr, *order = nullptr;
    } by_id, by_position;
};

// The stride of a row of attention weights in the index of dropout. Many values of longest, the length of the longest
// key sequence, have the same stride, so that a recorded pass serves many batches.
int64_t drop_stride(int64_t longest);

// The training step and the batch within it. Part of the key of dropout.
struct StepTime {
    uint32_t step = 0, batch = 0;
    bool operator==(const StepTime &) const = default;
};

class PackedBatch {
public:
    enum class Sides { kSource, kBoth };

    // Checks the batch (offsets, ids, and lengths) and uploads it. Throws XF_ERROR_INVALID_ARGUMENT or
    // XF_ERROR_OUT_OF_RANGE. groups: also prepares the gradient of embeddings, and pads the batch if the device records
    // operations.
    void load(Stream &stream, const ModelConfig &config, const xf_batch &batch, Sides sides, bool groups,
              StepTime time = {});

    // Uploads the sentences of a valid batch that are listed in indices, in that order, for inference. start: the first
    // input of the decoder.
    void load(Stream &stream, const ModelConfig &config, const xf_batch &batch, std::span<const int64_t> indices,
              Sides sides, int32_t start);

    // Takes the contents of another batch on the same device. The other batch may be loaded again after the copy on the
    // stream is complete. Pointers refer to memory of this object, which is the same for every batch that fits.
    void adopt(Stream &stream, PackedBatch *from);

    int64_t sentences = 0;             // without padding
    int64_t B = 0;                     // with padding
    PackedSide src, tgt;               // tgt.ids is the input of the decoder
    const int32_t *targets = nullptr;  // [tgt.rows]; -1: no target
    const uint32_t *when = nullptr;    // xf_dropout.when

    // Returns whether recording the operations on this batch is worthwhile. Large batches keep a GPU busy for so long
    // that the cost of launches does not matter.
    bool recordable() const { return src.rows + tgt.rows <= kMaxRecordedRows; }

    // Batches with equal shapes have equal addresses and need the same operations.
    struct Shape {
        const void *memory;
        int64_t B, rows[2], longest[2], groups[2][2];
        auto operator<=>(const Shape &) const = default;
    };
    Shape shape() const {
        return {staging_.device_memory(),
                B,
                {src.rows, tgt.rows},
                {src.max_length, tgt.max_length},
                {{src.by_id.count, src.by_position.count}, {tgt.by_id.count, tgt.by_position.count}}};
    }

private:
    static constexpr int64_t kMaxRecordedRows = 16384;  // of both sides

    // Intermediate results of load(). They are members so that the steady state allocates nothing.
    struct HostSide {
        std::vector<int32_t> ids, positions, begin, length;
        int64_t max_length = 0;
        void unpack(std::span<const int64_t> indices, const int32_t *from, const int64_t *offsets);
        // Appends sentences of token 0, of max_tokens tokens each and then empty, up to these numbers of rows and
        // sentences.
        void pad(int64_t rows, int64_t count, int64_t max_tokens);
    };
    struct HostGroups {
        std::vector<int32_t> ids, starts, order, next;
        // Groups the indices of the first count keys, each in [0, limit), by key.
        void group(const std::vector<int32_t> &keys, int64_t count, int64_t limit);
        // Appends empty groups.
        void pad(int64_t groups, size_t rows);
    };
    // Offsets in staging_.
    struct GroupOffsets {
        size_t ids, starts, order;
    };
    struct SideOffsets {
        size_t ids, positions, begin, length;
        GroupOffsets by_id, by_position;
    };

    void pack(Stream &stream, const ModelConfig &config, const xf_batch &batch, std::span<const int64_t> indices,
              Sides sides, bool groups, StepTime time, int32_t start);
    void pad_sides(const ModelConfig &config);
    void shift_target(const ModelConfig &config, int32_t start);
    void stage(const HostSide &side, const ModelConfig &config, int64_t V, bool groups, bool pad, PackedSide *packed,
               SideOffsets *at);
    void set_pointers();

    HostSide source_, target_;
    HostGroups groups_;
    std::vector<int64_t> all_;
    bool has_target_ = false;
    SideOffsets src_at_{}, tgt_at_{};
    size_t targets_at_ = 0, when_at_ = 0;
    Staging staging_;
};

// Throw unless offsets begin with 0 and rise, lengths are within model.max_length, and ids are in the vocabulary.
// check_source() also requires the end symbol.
void check_source(const xf_batch &batch, const ModelConfig &config);
void check_target(const xf_batch &batch, const ModelConfig &config);

}  // namespace xf
