// Forward and backward pass over one batch: its losses, and its gradient, which is added to a block.
//
// On a device that can decide whether a step is applied (xf_gate), losses are summed in device memory and downloaded
// only on request.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <vector>

#include "backend/graph_cache.h"
#include "nn/transformer.h"
#include "ranks/rank_group.h"
#include "train/prefetcher.h"
#include "train/train_config.h"
#include "xformer/data.h"

namespace xf {

// In device memory: xf_sum_losses.sums, followed by xf_gate.dst.
struct DeviceVerdict {
    double batch_loss, batch_nll, loss, nll, squares, open, scale;
};

class BatchGradient : private TrainPart {
public:
    explicit BatchGradient(const TrainPart &part);

    bool gated() const { return stream_.device().ops().gate != nullptr; }
    // The sums of this step in device memory, if gated().
    DeviceVerdict *verdict() const { return verdict_.as<DeviceVerdict>(); }

    // Loads a batch. time: part of the dropout key.
    void load(const xf_batch &batch, StepTime time);
    // Loads the next batch of the batcher, which must not be at the end of its epoch.
    void load_next(Batcher *batcher, StepTime time);
    void prefetch(const Batcher &batcher, StepTime time) noexcept;

    // Adds the gradient of the sum of the token losses to grads, in device memory. The losses are 0 if the batch is
    // gated() and wait is false.
    ShardStats run(float *grads, const Call &call, bool wait);

private:
    void read_losses(ShardStats *stats, bool wait);

    struct PassKey {
        PackedBatch::Shape shape;
        const void *workspace;
        auto operator<=>(const PassKey &) const = default;
    };

    Transformer network_;
    PackedBatch batch_;
    StepTime time_;
    Batch gathered_;
    Prefetcher prefetcher_;
    GraphCache<PassKey> graphs_;
    Buffer verdict_;
    std::vector<float> token_values_;
};

}  // namespace xf
