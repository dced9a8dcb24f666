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

std::string sum_of_ranks(int64_t leaves, int64_t present, int64_t ranks) {
    const ShardTree tree(leaves, present);
    std::vector<Range> nodes;
    std::vector<std::string> sums;
    for (int64_t r = 0; r < ranks; ++r) {
        const Range own = xf::even_chunk(leaves, r, ranks);
        const std::vector<Range> cover = tree.cover(own);
        const std::vector<Node> made = sums_of(tree, own, present);
        CHECK_EQ(made.size(), cover.size());
        for (size_t i = 0; i < made.size() && i < cover.size(); ++i) {
            CHECK(made[i].leaves == cover[i]);
            nodes.push_back(cover[i]);
            sums.push_back(made[i].sum);
        }
    }
    for (const auto &[low, high] : tree.fold(nodes)) sums[low] = "(" + sums[low] + "+" + sums[high] + ")";
    return sums[0];
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

XF_TEST(the_number_of_ranks_changes_nothing) {
    for (int64_t leaves = 1; leaves <= 24; ++leaves)
        for (int64_t present = 1; present <= leaves; ++present) {
            const std::string alone = sum_of_ranks(leaves, present, 1);
            for (int64_t ranks = 2; ranks <= leaves; ++ranks) CHECK_EQ(sum_of_ranks(leaves, present, ranks), alone);
        }
}
