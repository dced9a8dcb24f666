// The order in which the gradients of a step's shards are added: a binary tree that depends only on their number.
//
// Floating-point sums depend on the order of the additions, so the order must not depend on which rank computes which
// shard. A node over the leaves [begin, end) is split after the largest power of two that is smaller than their number.
// A rank can compute every node that lies within its own leaves (cover). A rank that receives nodes from other ranks
// adds those that are neighbors in the tree (add_siblings); with the nodes of all ranks this leads to the root.
//
// At the end of an epoch the last leaves may be absent. An inner node with only one child is then that child.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "comm/communicator.h"

namespace xf {

class ShardTree {
public:
    // The leaves are 0 .. leaves - 1. The first `present` of them have a value; 1 <= present <= leaves.
    ShardTree(int64_t leaves, int64_t present) : leaves_(leaves), present_(present) {}

    // Returns whether the tree adds these two neighbors, in this order, into one node.
    bool siblings(Range left, Range right) const;

    // Returns the largest nodes within a range of leaves, from left to right; empty if none of the leaves is present.
    std::vector<Range> cover(Range leaves) const;

    // Additions of nodes in a list.
    struct Additions {
        std::vector<std::pair<size_t, size_t>> pairs;  // node[first] += node[second], in this order
        std::vector<size_t> sums;                      // the nodes that remain, from left to right
    };
    // Adds up the nodes of some neighboring leaves, given from left to right, as far as the tree allows.
    Additions add_siblings(std::vector<Range> nodes) const;

private:
    static int64_t middle(Range node);
    // Without the absent leaves.
    Range clip(Range node) const { return {node.begin, node.end < present_ ? node.end : present_}; }
    void cover(Range node, Range leaves, std::vector<Range> *out) const;

    int64_t leaves_, present_;
};

}  // namespace xf
