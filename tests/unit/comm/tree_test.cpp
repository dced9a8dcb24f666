// The order of a sum over shards does not depend on the number of ranks. Sums are written as text: "((0+1)+2)".
//
// SPDX-License-Identifier: Apache-2.0
#include "comm/tree.h"

#include "support/test.hpp"

namespace {

using xf::Range;
using xf::ShardTree;

struct Node {
    Range leaves;
    std::string sum;
};

// Sums as a rank does: one leaf after the other, adding siblings as soon as both exist.
std::vector<Node> sums_of(const ShardTree &tree, Range own, int64_t present) {
    std::vector<Node> nodes;
    for (int64_t leaf = own.begin; leaf < own.end && leaf < present; ++leaf) {
        Node node{{leaf, leaf + 1}, std::to_string(leaf)};
        while (!nodes.empty() && tree.siblings(nodes.back().leaves, node.leaves)) {
            node = {{nodes.back().leaves.begin, node.leaves.end}, "(" + nodes.back().sum + "+" + node.sum + ")"};
            nodes.pop_back();
        }
        nodes.push_back(node);
    }
    return nodes;
}

// Adds the nodes that several ranks or machines have computed for these leaves.
std::vector<Node> add_up(const ShardTree &tree, Range leaves, std::vector<Node> nodes) {
    std::vector<Range> ranges;
    for (const Node &node : nodes) ranges.push_back(node.leaves);
    const ShardTree::Additions additions = tree.add_siblings(ranges);
    for (const auto &[low, high] : additions.pairs) {
        nodes[low].sum = "(" + nodes[low].sum + "+" + nodes[high].sum + ")";
        nodes[low].leaves.end = nodes[high].leaves.end;
    }
    std::vector<Node> sums;
    const std::vector<Range> cover = tree.cover(leaves);
    CHECK_EQ(additions.sums.size(), cover.size());
    for (const size_t sum : additions.sums) {
        CHECK(sums.size() < cover.size() && nodes[sum].leaves == cover[sums.size()]);
        sums.push_back(nodes[sum]);
    }
    return sums;
}

// Each rank adds its leaves, then each machine the nodes of its ranks, then all machines.
std::string sum_of_ranks(int64_t leaves, int64_t present, int64_t ranks, int64_t per_machine = 1) {
    const ShardTree tree(leaves, present);
    std::vector<Node> all;
    for (int64_t first = 0; first < ranks; first += per_machine) {
        std::vector<Node> nodes;
        Range of_machine{xf::even_chunk(leaves, first, ranks).begin, 0};
        for (int64_t r = first; r < first + per_machine; ++r) {
            const Range own = xf::even_chunk(leaves, r, ranks);
            for (const Node &node : add_up(tree, own, sums_of(tree, own, present))) nodes.push_back(node);
            of_machine.end = own.end;
        }
        for (const Node &node : add_up(tree, of_machine, nodes)) all.push_back(node);
    }
    const std::vector<Node> root = add_up(tree, {0, leaves}, all);
    CHECK_EQ(root.size(), 1u);
    return root.empty() ? "" : root[0].sum;
}

}  // namespace

XF_TEST(the_tree_has_the_documented_shape) {
    CHECK_EQ(sum_of_ranks(1, 1, 1), "0");
    CHECK_EQ(sum_of_ranks(4, 4, 1), "((0+1)+(2+3))");
    CHECK_EQ(sum_of_ranks(6, 6, 1), "(((0+1)+(2+3))+(4+5))");
    CHECK_EQ(sum_of_ranks(7, 7, 1), "(((0+1)+(2+3))+((4+5)+6))");
    CHECK_EQ(sum_of_ranks(8, 5, 1), "(((0+1)+(2+3))+4)");
    CHECK_EQ(sum_of_ranks(8, 1, 1), "0");
}

XF_TEST(the_number_of_ranks_and_machines_changes_nothing) {
    for (int64_t leaves = 1; leaves <= 24; ++leaves)
        for (int64_t present = 1; present <= leaves; ++present) {
            const std::string alone = sum_of_ranks(leaves, present, 1);
            for (int64_t ranks = 2; ranks <= leaves; ++ranks)
                for (int64_t per_machine = 1; per_machine <= ranks; ++per_machine)
                    if (ranks % per_machine == 0) CHECK_EQ(sum_of_ranks(leaves, present, ranks, per_machine), alone);
        }
}
