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

size_t ShardTree::fold(Range node, const std::vector<Range> &nodes, size_t *next,
                       std::vector<std::pair<size_t, size_t>> *out) const {
    if (nodes[*next] == clip(node)) return (*next)++;
    const int64_t cut = middle(node);
    const size_t low = fold({node.begin, cut}, nodes, next, out);
    if (cut < present_) {
        const size_t high = fold({cut, node.end}, nodes, next, out);
        out->push_back({low, high});
    }
    return low;
}

std::vector<std::pair<size_t, size_t>> ShardTree::fold(const std::vector<Range> &nodes) const {
    std::vector<std::pair<size_t, size_t>> additions;
    size_t next = 0;
    fold({0, leaves_}, nodes, &next, &additions);
    return additions;
}

}  // namespace xf
