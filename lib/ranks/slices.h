// The partition of a block of parameters or gradients among the ranks.
//
// A block is divided into buckets, and each bucket into one segment per rank. The ranks exchange one bucket at a time,
// which bounds the memory for received segments. The segments of a rank, concatenated, are its slice. The slices of all
// ranks, concatenated, are the packed block: in this form a slice is one message.
//
// Within a bucket, the segments of the ranks with the same place on their machines are neighbors, so that the ranks of
// a machine can add up the part that one of them sends to other machines.
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
    Slices(int64_t total, int ranks, int ranks_per_machine);

    int64_t total() const { return total_; }
    int64_t chunk() const { return chunk_; }
    int64_t chunks() const { return (total_ + chunk_ - 1) / chunk_; }
    int64_t buckets() const { return buckets_; }

    // The elements of a segment within the block; may be empty.
    Range segment(int64_t bucket, int rank) const;
    // The segments of the counterparts of a rank on all machines.
    Range joint_segment(int64_t bucket, int rank) const;
    // The offset of a segment within the packed block.
    int64_t packed_offset(int64_t bucket, int rank) const { return packed_[place(rank) * buckets_ + bucket]; }
    // The slice of a rank, and the slices of its counterparts on all machines, within the packed block.
    Range slice(int rank) const;
    Range joint_slice(int rank) const;
    // The rank whose segment is at this place of each bucket, and its inverse.
    int rank_at(int place) const { return place % machines_ * per_machine_ + place / machines_; }
    int place(int rank) const { return rank % per_machine_ * machines_ + rank / per_machine_; }

    // Calls work(elements of the block, offset in the slice) for each segment of a rank.
    template <class Work>
    void for_each_segment(int rank, const Work &work) const {
        const int64_t first = slice(rank).begin;
        for (int64_t b = 0; b < buckets_; ++b) work(segment(b, rank), packed_offset(b, rank) - first);
    }

private:
    int64_t clip(int64_t chunk) const { return chunk * chunk_ < total_ ? chunk * chunk_ : total_; }

    int64_t total_;
    int ranks_, per_machine_, machines_;
    int64_t chunk_, buckets_;
    std::vector<int64_t> packed_;  // [places][buckets]
};

}  // namespace xf
