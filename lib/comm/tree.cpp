// SPDX-License-Identifier: Apache-2.0
#include "comm/tree.h"

#include <bit>

namespace xf {

int64_t ShardTree::middle(Range node) {
    const uint64_t last = node.count() - 1;
    return node.begin + int64_t(std::bit_floor(last));
}

bool ShardTree::siblings(Range left, Range right) const {
    Range node{0, leaves_};
    while (node.count() > 1) {
        const int64_t cut = middle(node);
        const Range low{node.begin, cut}, high{cut, node.end};
        if (cut < present_ && clip(low) == left && clip(high) == right) return true;
        node = left.begin < cut ? low : high;
    }
    return false;
}

void ShardTree::cover(Range node, Range leaves, std::vector<Range> *out) const {
    const Range own = clip(node);
    if (own.count() <= 0 || own.end <= leaves.begin || own.begin >= leaves.end) return;
    if (own.begin >= leaves.begin && own.end <= leaves.end) {
        out->push_back(own);
        return;
    }
    const int64_t cut = middle(node);
    cover({node.begin, cut}, leaves, out);
    cover({cut, node.end}, leaves, out);
}

std::vector<Range> ShardTree::cover(Range leaves) const {
    std::vector<Range> nodes;
    cover({0, leaves_}, leaves, &nodes);
    return nodes;
}

ShardTree::Additions ShardTree::add_siblings(std::vector<Range> nodes) const {
    Additions additions;
    std::vector<size_t> &sums = additions.sums;
    for (size_t i = 0; i < nodes.size(); ++i) {
        sums.push_back(i);
        while (sums.size() > 1 && siblings(nodes[sums[sums.size() - 2]], nodes[sums.back()])) {
            const size_t right = sums.back();
            sums.pop_back();
            nodes[sums.back()].end = nodes[right].end;
            additions.pairs.push_back({sums.back(), right});
        }
    }
    return additions;
}

}  // namespace xf
