// SPDX-License-Identifier: Apache-2.0
#include "train/prefetcher.h"

namespace xf {

void Prefetcher::prefetch(Device &device, const ModelConfig &config, const Batcher &batcher, StepTime time) noexcept {
    ready_ = false;
    if (!device.waits()) return;
    try {
        if (!batcher.peek(&gathered_)) return;
        if (!stream_) stream_ = std::make_unique<Stream>(device);
        packed_.load(*stream_, config, gathered_.view(), PackedBatch::Sides::kBoth, true, time);
        batcher_id_ = batcher.id();
        position_ = batcher.position();
        time_ = time;
        ready_ = true;
    } catch (...) {
        // The step loads the batch itself then, and reports the error if it persists.
    }
}

bool Prefetcher::take(Stream &stream, Batcher *batcher, StepTime time, PackedBatch *batch) {
    const bool expected = ready_ && batcher_id_ == batcher->id() && position_ == batcher->position() && time_ == time;
    ready_ = false;
    if (!expected) return false;
    stream.after(*stream_);
    batch->adopt(stream, &packed_);
    stream_->after(stream);  // the next upload overwrites the memory that is being copied
    batcher->seek_in_chunk(position_.batch + 1);
    return true;
}

}  // namespace xf
