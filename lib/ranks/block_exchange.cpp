// SPDX-License-Identifier: Apache-2.0
#include "ranks/block_exchange.h"

#include <algorithm>

#include "core/hash.h"

namespace xf {
namespace {

size_t bytes_of(int64_t count) { return count * sizeof(float); }

Range scale(Range range, int64_t factor) { return {range.begin * factor, range.end * factor}; }

}  // namespace

BlockExchange::BlockExchange(const std::shared_ptr<Context> &context, int64_t total)
    : heap_(context, &context->heap()),
      pool_(context->pool()),
      communicator_(context->communicator()),
      math_(*context),
      direct_(math_.on_host()),
      slices_(total, ranks(), communicator_.ranks_per_machine()),
      host_block_(HeapAllocator<float>(heap_)),
      staging_(HeapAllocator<char>(heap_)) {
    const int64_t chunk = slices_.chunk();
    for (int r = 0; r < ranks(); ++r) {
        const Range slice = slices_.slice(r);
        const Range chunks = {(slice.begin + chunk - 1) / chunk, (slice.end + chunk - 1) / chunk};
        slice_bytes_.push_back(scale(slice, sizeof(float)));
        chunk_bytes_.push_back(scale(chunks, sizeof(double)));
    }
    gather_stages_.push_back({communicator_.counterparts(), slice_bytes_});
    if (communicator_.ranks_per_machine() > 1) {
        GatherStage stage{communicator_.own_machine(), {}};
        for (int r = 0; r < ranks(); ++r) stage.bytes.push_back(scale(slices_.joint_slice(r), sizeof(float)));
        gather_stages_.push_back(std::move(stage));
    }
    for (Messages *messages : {&sends_, &receives_}) messages->reserve(ranks());
    destinations_.reserve(ranks());
    if (context->transport() != nullptr && ranks() > 1)
        transport_ = std::make_unique<DeviceTransport>(*context->transport(), communicator_, context->comm_timeout());
}

void BlockExchange::connect(Stream &stream) {
    if (connected_ || transport_ == nullptr) return;
    transport_->connect(stream);
    connected_ = true;
}

void BlockExchange::reserve_staging(size_t bytes) {
    if (!direct_ && !connected_ && staging_.size() < 2 * bytes) staging_.resize(2 * bytes);
}

void BlockExchange::exchange(Stream &stream, Messages *sends, Messages *receives) {
    if (connected_) return transport_->exchange(stream, *sends, *receives);
    if (direct_) return communicator_.exchange(*sends, *receives);
    char *staging = staging_.data();
    destinations_.clear();
    for (Communicator::Message &message : *sends) {
        stream.download(staging, message.data, message.size);
        message.data = staging;
        staging += message.size;
    }
    for (Communicator::Message &message : *receives) {
        destinations_.push_back(message.data);
        message.data = staging;
        staging += message.size;
    }
    communicator_.exchange(*sends, *receives);
    for (size_t i = 0; i < receives->size(); ++i)
        stream.upload(destinations_[i], (*receives)[i].data, (*receives)[i].size);
}

void BlockExchange::check(Stream &stream) {
    if (connected_) transport_->check(stream);
}

void BlockExchange::take_slice(Stream &stream, float *slice, const float *block) {
    slices_.for_each_segment(rank(), [&](Range segment, int64_t offset) {
        if (segment.count() > 0) math_.copy(stream, slice + offset, block + segment.begin, segment.count());
    });
}

void BlockExchange::unpack(Stream &stream, float *block, const float *packed, bool in_host_memory) {
    for (int r = 0; r < ranks(); ++r)
        for (int64_t b = 0; b < slices_.buckets(); ++b) {
            const Range segment = slices_.segment(b, r);
            const float *const from = packed + slices_.packed_offset(b, r);
            if (segment.count() == 0) continue;
            if (in_host_memory && !direct_)
                stream.upload(block + segment.begin, from, bytes_of(segment.count()));
            else
                math_.copy(stream, block + segment.begin, from, segment.count());
        }
}

// Each slice is sent once to each other machine and then to the other ranks of that machine.
void BlockExchange::all_gather(Stream &stream, const float *slice, float *block, float *scratch) {
    const Range own = slices_.slice(rank());
    if (!connected_) {
        float *const packed = direct_ ? scratch : host_block();
        stream.download(packed + own.begin, slice, bytes_of(own.count()));
        for (const GatherStage &stage : gather_stages_) communicator_.all_gather(packed, stage.bytes, stage.ranks);
        return unpack(stream, block, packed, true);
    }
    math_.copy(stream, scratch + own.begin, slice, own.count());
    for (const GatherStage &stage : gather_stages_) {
        const auto message = [&](int to, Range bytes) {
            return Communicator::Message{to, reinterpret_cast<char *>(scratch) + bytes.begin, size_t(bytes.count())};
        };
        sends_.clear(), receives_.clear();
        for (int i = 0; i < stage.ranks.count; ++i) {
            const int r = stage.ranks[i];
            if (r == rank()) continue;
            if (stage.bytes[rank()].count() > 0) sends_.push_back(message(r, stage.bytes[rank()]));
            if (stage.bytes[r].count() > 0) receives_.push_back(message(r, stage.bytes[r]));
        }
        exchange(stream, &sends_, &receives_);
    }
    check(stream);
    unpack(stream, block, scratch, false);
}

void BlockExchange::gather(Stream &stream, const float *slice, float *block, float *scratch) {
    const Range own = slices_.slice(rank());
    float *const packed = direct_ ? scratch : host_block();
    stream.download(packed + own.begin, slice, bytes_of(own.count()));
    communicator_.gather(0, packed, slice_bytes_);
    if (rank() == 0) unpack(stream, block, packed, true);
}

void BlockExchange::all_gather_chunks(double *values) { communicator_.all_gather(values, chunk_bytes_); }

float *BlockExchange::host_block() {
    if (host_block_.empty()) host_block_.resize(slices_.total());
    return host_block_.data();
}

void BlockExchange::reserve_host_block() {
    if (!direct_) host_block();
}

uint64_t BlockExchange::hash(Stream &stream, const float *block) {
    constexpr int64_t kPerTask = 1 << 20;
    const int64_t total = slices_.total();
    if (!direct_) {
        stream.download(host_block(), block, bytes_of(total));
        block = host_block();
    }
    std::vector<uint64_t> hashes((total + kPerTask - 1) / kPerTask);
    parallel_for(pool_, std::ssize(hashes), [&](int64_t i) {
        hashes[i] = hash64(block + i * kPerTask, bytes_of(std::min(kPerTask, total - i * kPerTask)), i);
    });
    return hash64(hashes.data(), hashes.size() * sizeof(uint64_t));
}

}  // namespace xf
