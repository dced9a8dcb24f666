// See ahead.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "train/ahead.h"

namespace xf {

void Ahead::read(Device &device, const ModelConfig &config, const Batcher &batcher, StepTime time) noexcept {
    ready_ = false;
    if (!device.waits()) return;
    try {
        if (!batcher.peek(&gathered_)) return;
        if (!stream_) stream_ = std::make_unique<Stream>(device);
        packed_.load(*stream_, config, gathered_.view(), PackedBatch::Sides::kBoth, true, time);
        batcher_ = batcher.id();
        position_ = batcher.position();
        time_ = time;
        ready_ = true;
    } catch (...) {
        // Then it is read when its step comes, which says what is wrong if that is wrong too.
    }
}

bool Ahead::take(Stream &stream, Batcher *batcher, StepTime time, PackedBatch *batch) {
    const bool mine = ready_ && batcher_ == batcher->id() && position_ == batcher->position() && time_ == time;
    ready_ = false;
    if (!mine) return false;
    stream.after(*stream_);
    batch->adopt(stream, &packed_);
    stream_->after(stream);  // the next upload
    batcher->seek({position_.epoch, position_.batch + 1});
    return true;
}

}  // namespace xf
