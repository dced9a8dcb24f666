// Sharded gradient reduction.
//
// A step is split into count() shards. Each rank computes a contiguous range of shards and adds their gradients along a
// fixed binary tree (comm/tree.h), as far as its own shards allow. The ranks then exchange these partial sums bucket by
// bucket (slices.h): every rank receives the sums for its slice and adds them up to the root.
//
// If the ranks of each machine are known, they first add the sums of their machine: each of them those for the slices
// of its counterparts on all machines. The counterparts then exchange these sums. Between machines, a sum is thus sent
// once per machine instead of once per rank.
//
// The tree depends only on the number of shards, so the result is bit-identical for any number of ranks.
//
// With bf16 (train.reduce_precision=bf16) every addend of the tree is rounded to bf16 before the addition, whether it
// comes from another rank or not. Addends may therefore be sent as bf16, and the bits still do not depend on the number
// of ranks. The sums are fp32. The root is not an addend, so it is never rounded.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "comm/tree.h"
#include "ranks/block_exchange.h"

namespace xf {

class ShardSums {
public:
    // shards: at least the number of ranks; 0: one per rank. Throws XF_ERROR_INVALID_ARGUMENT otherwise.
    ShardSums(Context &context, BlockExchange &exchange, int64_t shards, bool bf16);

    int64_t count() const { return count_; }
    // The largest number of shards of a rank.
    int64_t most() const { return (count_ + exchange_.ranks() - 1) / exchange_.ranks(); }
    // The shards that this rank computes.
    Range own() const { return even_chunk(count_, exchange_.rank(), exchange_.ranks()); }

    // Begins a step in which the first `present` shards exist. Allocates all memory of the step.
    void begin(int64_t present);
    // Adds the gradient of the next own shard, in device memory, which may be overwritten afterwards.
    void add(Stream &stream, float *grads);
    // Writes this rank's slice of the sum over all shards to its place in grads. Collective.
    void reduce(Stream &stream, float *grads);
    // Returns the sum of squares of the whole sum, after reduce(). Collective.
    double squares(Stream &stream);

private:
    // A node of the tree that this rank has computed.
    struct Node {
        Range leaves;
        float *sum;
    };
    // An exchange of nodes between some ranks, and the additions that follow.
    struct Stage {
        RankSet ranks;
        bool joint = false;              // each rank receives the part of its counterparts, too
        bool addends = false;            // the nodes are addends: none of them is the root
        int64_t longest = 0;             // elements of a part
        std::vector<size_t> nodes;       // [ranks.count], of each rank
        size_t rounds = 0;               // the largest number of nodes of a rank
        ShardTree::Additions additions;  // of the nodes of all ranks, from left to right
        int64_t received = 0;            // elements of received_ before those of this stage
    };
    using Plan = std::vector<Stage>;
    // A sum over some shards; data points to element `begin` of the block.
    struct Sum {
        float *data;
        int64_t begin;
        float *at(int64_t element) const { return data + (element - begin); }
    };

    Plan make_plan(int64_t present);
    float *spare_block();
    Range part(const Stage &stage, int64_t bucket, int rank) const;
    void exchange_sums(Stream &stream, const Stage &stage, int64_t bucket);
    void add_sums(Stream &stream, const Stage &stage, int64_t bucket);
    void reduce_bucket(Stream &stream, int64_t bucket, float *grads);

    Device &device_;
    BlockExchange &exchange_;
    BlockMath &math_;
    const Slices &slices_;
    bool bf16_;
    int64_t count_;
    std::map<int64_t, Plan> plans_;    // by the number of shards that are present
    Plan *plan_ = nullptr;             // of the current step
    int64_t present_ = 1, next_ = 0;   // shards of the current step; the next own shard
    std::vector<Node> nodes_;          // of the own shards so far, from left to right
    std::vector<Buffer> blocks_;       // memory for nodes
    std::vector<float *> free_;        // unused blocks
    std::vector<Sum> sums_, addends_;  // of the current bucket: of this rank; of all ranks of a stage
    Buffer received_;                  // parts of other ranks' nodes
    Buffer outgoing_, incoming_;       // the same and what is sent, in bf16
    BlockExchange::Messages sends_, receives_;
    const float *reduced_ = nullptr;     // the block that has the slice
    std::vector<double> chunk_squares_;  // in the order of the packed block
};

}  // namespace xf
