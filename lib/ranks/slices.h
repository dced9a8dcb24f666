// The partition of a block of parameters or gradients among the ranks.
//
// A block is divided into buckets, and each bucket into one segment per rank. The ranks exchange one bucket at a time,
// which bounds the memory for received segments. The segments of a rank, concatenated, are its slice. The slices of all
// ranks, concatenated, are the packed block: in this form a slice is one message.
//
// Segments begin at multiples of a chunk, whose size depends only on the size of the block. Sums of squares are
// computed per chunk, so that a norm does not depend on the number of ranks.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "comm/communicator.h"

namespace xf {

class Slices {
public:
    // total: elements of the block.
    Slices(int64_t total, int ranks);

    int64_t total() const { return total_; }
    int64_t chunk() const { return chunk_; }
    int64_t chunks() const { return (total_ + chunk_ - 1) / chunk_; }
    int64_t buckets() const { return buckets_; }

    // The elements of a segment within the block; may be empty.
    Range segment(int64_t bucket, int rank) const;
    int64_t longest_segment() const { return longest_; }
    // The offset of a segment within the packed block.
    int64_t packed_offset(int64_t bucket, int rank) const { return packed_[rank * buckets_ + bucket]; }
    // The slice of a rank within the packed block.
    Range slice(int rank) const;

    // Calls work(elements of the block, offset in the slice) for each segment of a rank.
    template <class Work>
    void for_each_segment(int rank, const Work &work) const {
        const int64_t first = slice(rank).begin;
        for (int64_t b = 0; b < buckets_; ++b) work(segment(b, rank), packed_offset(b, rank) - first);
    }

private:
    int64_t clip(int64_t chunk) const { return chunk * chunk_ < total_ ? chunk * chunk_ : total_; }

    int64_t total_;
    int ranks_;
    int64_t chunk_, buckets_, longest_ = 0;
    std::vector<int64_t> packed_;  // [ranks][buckets]
};

}  // namespace xf
