// A trie of pieces by their bytes: "which pieces does the text begin with here?", one step for each byte.
//
// The nodes stand in the order of breadth-first search, so the children of a node are neighbours and those of the next
// node follow: a node is one number, where its children begin. A step is a binary search among at most 256 bytes.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

namespace xf {

class PieceTrie {
public:
    static constexpr int32_t kRoot = 0;

    PieceTrie() : PieceTrie({}, [](int32_t) { return std::string_view(); }) {}
    // piece(value): the bytes of a value of 0 or more; not empty, each once.
    template <class PieceOf>
    PieceTrie(std::vector<int32_t> values, const PieceOf &piece);

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

template <class PieceOf>
PieceTrie::PieceTrie(std::vector<int32_t> values, const PieceOf &piece) {
    {
        // By the first eight bytes as a number, which decides most comparisons without a look at the pieces.
        struct Key {
            uint64_t begins;
            int32_t value;
        };
        std::vector<Key> keys;
        keys.reserve(values.size());
        for (const int32_t value : values) {
            const std::string_view bytes = piece(value);
            uint64_t begins = 0;
            for (size_t i = 0; i < 8; ++i)
                begins = begins << 8 | (i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0u);
            keys.push_back({begins, value});
        }
        std::sort(keys.begin(), keys.end(), [&](const Key &a, const Key &b) {
            return a.begins != b.begins ? a.begins < b.begins : piece(a.value) < piece(b.value);
        });
        for (size_t i = 0; i < keys.size(); ++i) values[i] = keys[i].value;
    }
    // A node for each different beginning: no table is larger than it needs to be.
    size_t nodes = 1;
    std::string_view before;
    for (const int32_t value : values) {
        const std::string_view bytes = piece(value);
        const auto same = std::mismatch(before.begin(), before.end(), bytes.begin(), bytes.end()).second;
        nodes += static_cast<size_t>(bytes.end() - same);
        before = bytes;
    }
    first_.reserve(nodes + 1);
    values_.reserve(nodes);
    labels_.reserve(nodes - 1);

    // A node being built: the pieces of values [begin, end) share their first `depth` bytes.
    struct Range {
        uint32_t begin, end;
    };
    std::vector<Range> level{{0, static_cast<uint32_t>(values.size())}}, below;
    for (size_t depth = 0; !level.empty(); ++depth) {
        below.clear();
        for (Range range : level) {
            first_.push_back(static_cast<uint32_t>(labels_.size()));
            const bool ends = range.begin < range.end && piece(values[range.begin]).size() == depth;
            values_.push_back(ends ? values[range.begin] : -1);
            if (ends) ++range.begin;
            while (range.begin < range.end) {
                const char label = piece(values[range.begin])[depth];
                uint32_t end = range.begin;
                while (end < range.end && piece(values[end])[depth] == label) ++end;
                labels_.push_back(static_cast<unsigned char>(label));
                below.push_back({range.begin, end});
                range.begin = end;
            }
        }
        level.swap(below);
    }
    first_.push_back(static_cast<uint32_t>(labels_.size()));
}

}  // namespace xf
