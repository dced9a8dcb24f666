// A byte trie of pieces: finds all pieces that are prefixes of a text.
//
// Nodes are stored in breadth-first order, so the children of a node are adjacent and are followed by those of the next
// node. A node stores only the index of its first child. One step is a binary search among at most 256 labels.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/utf8.h"

namespace xf {

class PieceTrie {
public:
    PieceTrie() : PieceTrie({}, [](int32_t) { return std::string_view(); }) {}
    // piece(value) returns the bytes of a value. Values are at least 0; pieces are distinct and not empty.
    template <class PieceOf>
    PieceTrie(std::vector<int32_t> values, const PieceOf &piece);

    bool empty() const { return labels_.empty(); }

    // Calls visit(end, value) for each piece text[begin, end), shortest first.
    template <class Visit>
    void for_each_prefix(std::string_view text, size_t begin, const Visit &visit) const {
        int32_t node = 0;
        for (size_t end = begin; end < text.size();) {
            node = child(node, text[end++]);
            if (node < 0) break;
            if (values_[node] >= 0) visit(end, values_[node]);
        }
    }

    // The same, and visit(end, -1) for the character at text[begin] if it is not a piece. Requires begin < text.size().
    template <class Visit>
    void for_each_piece(std::string_view text, size_t begin, const Visit &visit) const {
        const size_t character = begin + decode_utf8(text, begin).size;
        bool covered = false;
        for_each_prefix(text, begin, [&](size_t end, int32_t value) {
            visit(end, value);
            covered = covered || end == character;
        });
        if (!covered) visit(character, -1);
    }

    // Returns the length in bytes of the longest piece that is a prefix of the text; 0 if there is none.
    size_t longest(std::string_view text) const {
        size_t found = 0;
        for_each_prefix(text, 0, [&](size_t end, int32_t) { found = end; });
        return found;
    }

private:
    // Returns the child of a node for a byte, or -1.
    int32_t child(int32_t node, char byte) const {
        const unsigned char label = byte;
        size_t begin = first_[node];
        size_t count = first_[node + 1] - begin;
        while (count > 0) {
            const size_t half = count / 2;
            const unsigned char middle = labels_[begin + half];
            if (middle == label) return begin + half + 1;
            if (middle < label) {
                begin += half + 1;
                count -= half + 1;
            } else {
                count = half;
            }
        }
        return -1;
    }

    std::vector<uint32_t> first_;        // [nodes + 1]: the first edge of each node; last, the number of edges
    std::vector<unsigned char> labels_;  // [edges]: edge i leads to node i + 1
    std::vector<int32_t> values_;        // [nodes]
};

template <class PieceOf>
PieceTrie::PieceTrie(std::vector<int32_t> values, const PieceOf &piece) {
    {
        // Sorted by the first eight bytes as an integer, which decides most comparisons without reading the pieces.
        struct Key {
            uint64_t prefix;
            int32_t value;
        };
        std::vector<Key> keys;
        keys.reserve(values.size());
        for (const int32_t value : values) {
            const std::string_view bytes = piece(value);
            uint64_t prefix = 0;
            for (size_t i = 0; i < 8; ++i) prefix = prefix << 8 | (i < bytes.size() ? bytes[i] & 0xFFu : 0u);
            keys.push_back({prefix, value});
        }
        std::sort(keys.begin(), keys.end(), [&](const Key &a, const Key &b) {
            return a.prefix != b.prefix ? a.prefix < b.prefix : piece(a.value) < piece(b.value);
        });
        for (size_t i = 0; i < keys.size(); ++i) values[i] = keys[i].value;
    }
    // One node per distinct prefix, counted first so that no table is larger than needed.
    size_t nodes = 1;
    std::string_view previous;
    for (const int32_t value : values) {
        const std::string_view bytes = piece(value);
        nodes += bytes.end() - std::mismatch(previous.begin(), previous.end(), bytes.begin(), bytes.end()).second;
        previous = bytes;
    }
    first_.reserve(nodes + 1);
    values_.reserve(nodes);
    labels_.reserve(nodes - 1);

    // A node under construction: the pieces of values[begin, end) share their first `depth` bytes.
    struct Range {
        size_t begin, end;
    };
    std::vector<Range> level{{0, values.size()}}, below;
    for (size_t depth = 0; !level.empty(); ++depth) {
        below.clear();
        for (Range range : level) {
            first_.push_back(labels_.size());
            const bool ends = range.begin < range.end && piece(values[range.begin]).size() == depth;
            values_.push_back(ends ? values[range.begin] : -1);
            if (ends) ++range.begin;
            while (range.begin < range.end) {
                const char label = piece(values[range.begin])[depth];
                size_t end = range.begin;
                while (end < range.end && piece(values[end])[depth] == label) ++end;
                labels_.push_back(label);
                below.push_back({range.begin, end});
                range.begin = end;
            }
        }
        level.swap(below);
    }
    first_.push_back(labels_.size());
}

}  // namespace xf
