// Walking the trie; see piece_trie.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/piece_trie.h"

namespace xf {

int32_t PieceTrie::child(int32_t node, char byte) const {
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
