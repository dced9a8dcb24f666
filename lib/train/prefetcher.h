// Packs and uploads the next batch while the device computes a step.
//
// A step ends with one wait for its result. A GPU would be idle from there to the first kernel of the next step, and
// most of that time is spent packing a batch of 25,000 tokens on the host. The batch is therefore packed before the
// wait and uploaded by a separate stream to separate memory. The step copies it from there when it begins, so its
// address on the device does not change, as recorded passes require.
//
// The prefetched batch is used only if batcher, position, and step are the expected ones; otherwise it is discarded.
// The batcher does not move in the meantime, so positions, checkpoints, and errors are the same as without prefetching.
// On devices whose streams do not run concurrently (CPUs) nothing is prefetched or allocated.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "data/batcher.h"
#include "nn/packed_batch.h"

namespace xf {

class Prefetcher {
public:
    // Prefetches the next batch of the batcher in this chunk, for the step at that time. Does nothing at the end of the
    // chunk or if memory is insufficient.
    void prefetch(Device &device, const ModelConfig &config, const Batcher &batcher, StepTime time) noexcept;
    // Moves the prefetched batch to *batch and advances the batcher. Returns false, with no effect, if the prefetched
    // batch is not the next one of the batcher.
    bool take(Stream &stream, Batcher *batcher, StepTime time, PackedBatch *batch);

private:
    bool ready_ = false;
    uint64_t batcher_id_ = 0;
    Batcher::Position position_;
    StepTime time_;
    Batch gathered_;
    PackedBatch packed_;
    std::unique_ptr<Stream> stream_;  // last member: its copies end before their memory is freed
};

}  // namespace xf
