// See slices.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "train/slices.h"

#include <algorithm>

namespace xf {
namespace {

constexpr int64_t kMostPiece = 1 << 20;   // numbers: what is held of each other rank's
constexpr int64_t kLeastPiece = 1 << 14;  // below that a message costs what it takes to send it at all
constexpr int64_t kEnough = 4;            // buckets: shared embeddings, which are done last, are about one

}  // namespace

Slices::Slices(int64_t total, int ranks, int64_t buckets) : total_(total), ranks_(ranks) {
    // So many chunks that slices are even, so few that their sums are soon exchanged; lines of memory are whole.
    chunk_ = (total / 1024 / 16 + 1) * 16;
    const int64_t slice = total / ranks, most = std::max<int64_t>(1, chunks() / ranks);
    if (buckets == 0) buckets = std::min({kEnough, slice / kLeastPiece, most / 2});  // with one chunk they are uneven
    buckets_ = ranks == 1 ? 1 : std::clamp(buckets, std::min(most, slice / kMostPiece + 1), most);
    packed_.resize(static_cast<size_t>(ranks_ * buckets_));
    int64_t at = 0;
    for (int r = 0; r < ranks_; ++r)
        for (int64_t b = 0; b < buckets_; ++b) {
            packed_[index(b, r)] = at;
            at += piece(b, r).count();
            longest_ = std::max(longest_, piece(b, r).count());
        }
}

Range Slices::piece(int64_t bucket, int rank) const {
    const Range of = share(chunks(), bucket, buckets_), mine = share(of.count(), rank, ranks_);
    return {clip(of.begin + mine.begin), clip(of.begin + mine.end)};
}

Range Slices::slice(int rank) const {
    const int64_t last = buckets_ - 1;
    return {packed_at(0, rank), packed_at(last, rank) + piece(last, rank).count()};
}

}  // namespace xf
