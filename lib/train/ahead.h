// The next batch, read ahead: packed and uploaded while the device works on the step before it.
//
// A step ends with the one wait for its verdict; what follows until the next step's first kernel is time in which a GPU
// stands still. Packing a batch of 25,000 tokens on the host is most of it. So the batch is packed before that wait,
// and uploaded by a stream of its own into memory of its own, from which the step copies it when it begins: its place
// on the device stays the same, which recorded passes need.
//
// What was read ahead is a guess. It is taken only where batcher, position and step are what they were thought to be,
// else forgotten; the batcher has not moved meanwhile, so positions, checkpoints and errors are as without it. Devices
// whose streams don't run beside each other (CPUs) read nothing ahead, and hold nothing.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "data/batcher.h"
#include "nn/packed_batch.h"

namespace xf {

class Ahead {
public:
    // Reads what the batcher gives next within this epoch, for the step at that time. Without memory for it, or at the
    // epoch's end, nothing is read.
    void read(Device &device, const ModelConfig &config, const Batcher &batcher, StepTime time) noexcept;
    // Gives *batch what batcher->next() would, and moves the batcher. False where that was not read: nothing is done.
    bool take(Stream &stream, Batcher *batcher, StepTime time, PackedBatch *batch);

private:
    bool ready_ = false;
    uint64_t batcher_ = 0;
    Batcher::Position position_;
    StepTime time_;
    Batch gathered_;
    PackedBatch packed_;
    std::unique_ptr<Stream> stream_;  // last: its copies are done before their memory goes
};

}  // namespace xf
