// The order in which a step's shards are added up: a binary tree that depends on their number alone.
//
// Sums of floating-point numbers depend on their order, so the order must not know who computes what. A node over
// leaves begin .. end - 1 is cut behind the largest power of two below its count. Any rank can add up the nodes that
// lie within its own leaves (cover()), and whoever gets those of all ranks adds them up to the root (fold()).
//
// Where an epoch ends the last leaves may be absent. Then an inner node with one child is that child.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "comm/comm.h"

namespace xf {

class ShardTree {
public:
    // Leaves 0 .. leaves - 1, of which the first `present` have a value; 1 <= present <= leaves.
    ShardTree(int64_t leaves, int64_t present) : leaves_(leaves), present_(present) {}

    // Whether the tree adds these two, neighbours in this order, to one node.
    bool siblings(Range left, Range right) const;

    // The largest nodes that lie within some leaves, from the left; empty when none of the leaves is present.
    std::vector<Range> cover(Range leaves) const;

    // Additions that make the root of nodes, from the left, that together are all leaves: nodes[first] += nodes[second]
    // in this order. The root is then in nodes[0].
    std::vector<std::pair<size_t, size_t>> fold(const std::vector<Range> &nodes) const;

private:
    // Without the absent leaves: no node has one child.
    static int64_t middle(Range node);
    Range clip(Range node) const { return {node.begin, node.end < present_ ? node.end : present_}; }
    void cover(Range node, Range leaves, std::vector<Range> *out) const;
    size_t fold(Range node, const std::vector<Range> &nodes, size_t *next,
                std::vector<std::pair<size_t, size_t>> *out) const;

    int64_t leaves_, present_;
};

}  // namespace xf
