// SPDX-License-Identifier: Apache-2.0
#include "ranks/slices.h"

#include <algorithm>

namespace xf {
namespace {

constexpr int64_t kMaxSegment = 1 << 20;  // elements of a segment; within a machine, a part has one segment per machine

}  // namespace

Slices::Slices(int64_t total, int ranks, int ranks_per_machine)
    : total_(total), ranks_(ranks), per_machine_(ranks_per_machine), machines_(ranks / ranks_per_machine) {
    // About 1,024 chunks: slices are almost equal, and the chunk sums are a short message. 16 elements are a cache
    // line.
    chunk_ = (total / 1024 / 16 + 1) * 16;
    const int64_t max_buckets = std::max<int64_t>(1, chunks() / ranks);
    buckets_ = ranks == 1 ? 1 : std::min(max_buckets, total / ranks / kMaxSegment + 1);
    packed_.resize(ranks_ * buckets_);
    int64_t offset = 0;
    for (int i = 0; i < ranks_; ++i)
        for (int64_t b = 0; b < buckets_; ++b) {
            packed_[i * buckets_ + b] = offset;
            offset += segment(b, rank_at(i)).count();
        }
}

Range Slices::segment(int64_t bucket, int rank) const {
    const Range chunks_of_bucket = even_chunk(chunks(), bucket, buckets_);
    const Range own = even_chunk(chunks_of_bucket.count(), place(rank), ranks_);
    return {clip(chunks_of_bucket.begin + own.begin), clip(chunks_of_bucket.begin + own.end)};
}

Range Slices::joint_segment(int64_t bucket, int rank) const {
    const int first = rank % per_machine_, last = first + ranks_ - per_machine_;
    return {segment(bucket, first).begin, segment(bucket, last).end};
}

Range Slices::slice(int rank) const {
    const int64_t last = buckets_ - 1;
    return {packed_offset(0, rank), packed_offset(last, rank) + segment(last, rank).count()};
}

Range Slices::joint_slice(int rank) const {
    const int first = rank % per_machine_, last = first + ranks_ - per_machine_;
    return {slice(first).begin, slice(last).end};
}

}  // namespace xf
