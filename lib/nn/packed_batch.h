// A batch on the device: packed ids, positions, sequence bounds, and what the embedding's gradient needs.
//
// The decoder's input is the target shifted right behind the start symbol (paper s. 3.1). A target that ends with a
// language which its model wants there in the start symbol's place is turned round: "y </s> lang" is said to the input
// "lang y </s>", as mBART learns it (shift_tokens_right() of transformers). Source and target are packed without
// padding. For the gradient of an embedding the tokens are grouped by id, so that a backend adds each row's
// tokens in a fixed order without atomics.
//
// Where a device records calls (CUDA graphs), a training batch is padded to sizes that few share: by sentences behind
// the last one, made of rows without a target, which change no result but for the order of sums over rows. It is padded
// whether calls are recorded or not, so that recording changes no bit. The numbers of sentences and of groups follow
// from those of rows then: a sentence without rows and a group without tokens cost next to nothing, a shape of their
// own would cost a recording. A large batch keeps its own numbers, as recording gains nothing there.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/device.h"
#include "nn/model_config.h"
#include "xformer/data.h"

namespace xf {

// One side of the batch; pointers are device memory.
struct PackedSide {
    int64_t tokens = 0;                                           // of the batch
    int64_t rows = 0;                                             // the same, or more where the batch is padded
    int64_t max_length = 0;                                       // of a sentence, or more where the batch is padded
    const int32_t *ids = nullptr, *positions = nullptr;           // [rows]
    const int32_t *begin = nullptr, *length = nullptr;            // [B]
    const int32_t *host_begin = nullptr, *host_length = nullptr;  // the same, in host memory until the next load
    // Tokens grouped by id and by position, for xf_embed_bwd.
    struct Groups {
        int64_t count = 0;
        const int32_t *ids = nullptr, *starts = nullptr, *order = nullptr;
    } by_id, by_position;
};

// The stride of a row of attention weights in dropout's index: a function of the longest key sequence that few lengths
// share, so that a recorded pass serves many batches.
int64_t drop_stride(int64_t longest);

// The step that is made and the batch within it: part of dropout's key.
struct StepTime {
    uint32_t step = 0, batch = 0;
    bool operator==(const StepTime &) const = default;
};

class PackedBatch {
public:
    enum class Sides { kSource, kBoth };

    // Checks the batch (offsets, ids in [0, V), lengths in 1 .. max_length) and uploads it; throws
    // XF_ERROR_INVALID_ARGUMENT or XF_ERROR_OUT_OF_RANGE. groups: also what gradients need; then, on a device that
    // records calls, the batch is padded.
    void load(Stream &stream, const ModelConfig &config, const xf_batch &batch, Sides sides, bool groups,
              StepTime time = {});

    // Some sentences of a batch that was checked, in the order of which, for inference. start: what the decoder is fed
    // first.
    void load(Stream &stream, const ModelConfig &config, const xf_batch &batch, std::span<const int64_t> which,
              Sides sides, int32_t start);

    // Takes what another one loaded on the same device, whose place in memory becomes free when the stream's copy is
    // done. The pointers are then of this one's own memory, the same for each batch that fits.
    void adopt(Stream &stream, PackedBatch *from);

    int64_t sentences = 0;             // of the batch
    int64_t B = 0;                     // the same, or more where the batch is padded
    PackedSide src, tgt;               // tgt.ids is the decoder's input
    const int32_t *targets = nullptr;  // [tgt.rows]
    const uint32_t *when = nullptr;    // xf_dropout.when, from time

    // Whether batches of this shape are worth recording: a GPU works so long on a large one that launches don't show.
    bool recordable() const { return src.rows + tgt.rows <= kRecordedRows; }

    // Batches of equal shapes lie at equal places and are worked on by equal calls.
    struct Shape {
        const void *memory;
        int64_t B, rows[2], longest[2], groups[2][2];
        auto operator<=>(const Shape &) const = default;
    };
    Shape shape() const {
        return {device_.data(),
                B,
                {src.rows, tgt.rows},
                {src.max_length, tgt.max_length},
                {{src.by_id.count, src.by_position.count}, {tgt.by_id.count, tgt.by_position.count}}};
    }

private:
    static constexpr int64_t kRecordedRows = 16384;  // of both sides

    // What load() makes on the way; kept, so that the steady state allocates nothing.
    struct HostSide {
        std::vector<int32_t> ids, positions, begin, length;
        int64_t max_length = 0;
        void unpack(int64_t count, const int32_t *from, const int32_t *offsets);
        // Sentences of token 0 behind the last one, as long as may be and then empty, up to so many rows and sentences.
        void pad(int64_t rows, int64_t count, int64_t longest);
    };
    struct HostGroups {
        std::vector<int32_t> ids, starts, order;
        std::vector<int32_t> next;  // where the next token of a key goes
        // The first count of the keys, each in [0, limit).
        void group(const std::vector<int32_t> &keys, size_t count, int64_t limit);
        void pad(int64_t groups, size_t rows);
    };

    size_t append(const std::vector<int32_t> &values);
    HostSide source_, target_;
    HostGroups groups_;
    std::vector<int32_t> host_;
    Buffer device_;
};

// Throws unless offsets are 0 .. rising and ids are in the side's vocabulary; used for batches that come from outside.
void check_source(const xf_batch &batch, const ModelConfig &config);
void check_target(const xf_batch &batch, const ModelConfig &config);

}  // namespace xf
