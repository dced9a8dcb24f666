// A trie of pieces by their bytes: "which pieces does the text begin with here?", one step for each byte.
//
// The nodes stand in the order of breadth-first search, so the children of a node are neighbours and those of the next
// node follow: a node is one number, where its children begin. A step is a binary search among at most 256 bytes.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace xf {

class PieceTrie {
public:
    static constexpr int32_t kRoot = 0;

    PieceTrie() : PieceTrie({}, {}) {}
    // piece(value): the bytes of a value of 0 or more; not empty, each once.
    PieceTrie(std::vector<int32_t> values, const std::function<std::string_view(int32_t)> &piece);

    bool empty() const { return labels_.empty(); }

    // The node one byte further, or -1.
    int32_t child(int32_t node, char byte) const;

    // What the piece that ends at this node has as its value, or -1.
    int32_t value(int32_t node) const { return values_[static_cast<size_t>(node)]; }

    // The bytes of the longest piece that the text begins with; 0 for none.
    size_t longest(std::string_view text) const;

private:
    std::vector<uint32_t> first_;        // by node: the first of its edges; and the number of all edges
    std::vector<unsigned char> labels_;  // by edge; edge i leads to node i + 1
    std::vector<int32_t> values_;        // by node
};

}  // namespace xf
