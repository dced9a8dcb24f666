// The trie; see piece_trie.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/piece_trie.h"

#include <algorithm>

namespace xf {
namespace {

// A node being built: the pieces of values [begin, end) share their first `depth` bytes.
struct Range {
    uint32_t begin, end;
};

}  // namespace

PieceTrie::PieceTrie(std::vector<int32_t> values, const std::function<std::string_view(int32_t)> &piece) {
    std::sort(values.begin(), values.end(), [&](int32_t a, int32_t b) { return piece(a) < piece(b); });
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

int32_t PieceTrie::child(int32_t node, char byte) const {
    const auto label = static_cast<unsigned char>(byte);
    size_t begin = first_[static_cast<size_t>(node)];
    size_t count = first_[static_cast<size_t>(node) + 1] - begin;
    while (count > 0) {
        const size_t half = count / 2;
        const unsigned char middle = labels_[begin + half];
        if (middle == label) return static_cast<int32_t>(begin + half + 1);
        if (middle < label) {
            begin += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    return -1;
}

size_t PieceTrie::longest(std::string_view text) const {
    size_t found = 0;
    int32_t node = kRoot;
    for (size_t i = 0; i < text.size(); ++i) {
        node = child(node, text[i]);
        if (node < 0) break;
        if (value(node) >= 0) found = i + 1;
    }
    return found;
}

}  // namespace xf
