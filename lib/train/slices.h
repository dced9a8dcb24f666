// Which numbers of a block belong to which rank.
//
// A block is cut into buckets, and each bucket into a piece for each rank: what a rank's gradients come to can go to
// the others bucket by bucket, while the backward pass is still at the ones before, and then every link is busy. A
// rank's slice is its pieces, one behind the other. All slices, one behind the other, are the packed block: in that
// form a slice is one message.
//
// Pieces begin at multiples of a chunk that depends on the size of the block alone.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "comm/comm.h"

namespace xf {

class Slices {
public:
    // total: numbers of the block. buckets: so many at least, where the block is large enough; 0 for what suits its
    // size.
    Slices(int64_t total, int ranks, int64_t buckets);

    int64_t chunk() const { return chunk_; }
    int64_t chunks() const { return (total_ + chunk_ - 1) / chunk_; }
    int64_t buckets() const { return buckets_; }
    int64_t bucket_begin(int64_t bucket) const { return clip(share(chunks(), bucket, buckets_).begin); }
    int64_t bucket_end(int64_t bucket) const { return clip(share(chunks(), bucket, buckets_).end); }

    // Numbers of the block; may be none.
    Range piece(int64_t bucket, int rank) const;
    int64_t longest_piece() const { return longest_; }
    // The same numbers within the packed block.
    int64_t packed_at(int64_t bucket, int rank) const { return packed_[index(bucket, rank)]; }
    // A rank's slice within the packed block.
    Range slice(int rank) const;

private:
    int64_t clip(int64_t chunk) const { return chunk * chunk_ < total_ ? chunk * chunk_ : total_; }
    size_t index(int64_t bucket, int rank) const { return static_cast<size_t>(rank * buckets_ + bucket); }

    int64_t total_;
    int ranks_;
    int64_t chunk_, buckets_, longest_ = 0;
    std::vector<int64_t> packed_;  // [ranks][buckets]
};

}  // namespace xf
