// Checking and matching; see sentencepiece/character_map.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/sentencepiece/character_map.h"

#include <algorithm>

#include "core/error.h"
#include "core/utf8.h"

namespace xf {
namespace {

uint32_t read_u32(std::string_view bytes, size_t at) {
    uint32_t value = 0;
    for (size_t i = 4; i-- > 0;) value = value << 8 | (bytes[at + i] & 0xFFu);
    return value;
}

}  // namespace

CharacterMap::CharacterMap(std::string bytes) : bytes_(std::move(bytes)) {
    plain_.fill(true);
    if (bytes_.empty()) return;
    XF_CHECK(bytes_.size() <= kMaxBytes, XF_ERROR_LIMIT, "the character map has %zu bytes, expected at most %zu",
             bytes_.size(), kMaxBytes);
    const size_t array = bytes_.size() < 4 ? 0 : read_u32(bytes_, 0);
    XF_CHECK(array >= 4 && array % 4 == 0 && array < bytes_.size() - 4, XF_ERROR_CORRUPT,
             "the trie of the character map has %zu bytes, expected a multiple of 4 within the map's %zu bytes", array,
             bytes_.size());
    units_.resize(array / 4);
    for (size_t i = 0; i < units_.size(); ++i) units_[i] = read_u32(bytes_, 4 + 4 * i);
    replacements_ = std::string_view(bytes_).substr(4 + array);
    root_ = offset_of(units_[0]);
    check_all();
    for (uint32_t c = 0; c < 128; ++c) {
        const uint32_t unit = child(root_, c);
        if (unit == 0) continue;
        const uint32_t base = root_ ^ c ^ offset_of(unit);
        bool plain = !ends_key(unit);
        for (uint32_t next = 0; next < 128; ++next) plain = plain && child(base, next) == 0;
        plain_[c] = plain;
    }
}

// Checks that the children of the node with this base are within the array and that the replacement is valid if a key
// ends at the node.
void CharacterMap::check_node(uint32_t base, bool ends) const {
    XF_CHECK((base | 0xFF) < units_.size(), XF_ERROR_CORRUPT,
             "the character map has a node at unit %u, expected a block within its %zu units", base, units_.size());
    if (!ends) return;
    const size_t at = units_[base] & ~kLeaf;
    XF_CHECK(at < replacements_.size(), XF_ERROR_CORRUPT,
             "the character map refers to byte %zu of its replacements, expected less than %zu", at,
             replacements_.size());
    const size_t size = replacements_.substr(at).find('\0');
    XF_CHECK(size <= kMaxReplacementBytes, XF_ERROR_CORRUPT,
             "the character map has a replacement that is not terminated, expected at most %zu bytes",
             kMaxReplacementBytes);
    XF_CHECK(find_invalid_utf8(replacements_.substr(at, size)) == std::string_view::npos, XF_ERROR_CORRUPT,
             "the character map has a replacement that is not valid UTF-8");
}

// Depth-first search. Nodes can be shared because darts-clone compresses the trie to a graph, so each node is visited
// once and its height is stored. A loop is detected as a key that is too long.
void CharacterMap::check_all() const {
    struct Visit {
        uint32_t base, next;  // the next byte to try
        size_t height;
    };
    std::vector<uint8_t> heights(units_.size(), 0);  // by base: height + 1, or 0 if unknown
    std::vector<Visit> path;
    check_node(root_, false);
    path.push_back({root_, 0, 0});
    while (!path.empty()) {
        Visit &visit = path.back();
        if (visit.next == 256) {
            const size_t height = visit.height;
            heights[visit.base] = height + 1;
            path.pop_back();
            if (!path.empty()) path.back().height = std::max(path.back().height, height + 1);
            continue;
        }
        const uint32_t byte = visit.next++;
        const uint32_t unit = child(visit.base, byte);
        if (unit == 0) continue;
        const uint32_t base = visit.base ^ byte ^ offset_of(unit);
        check_node(base, ends_key(unit));
        const size_t known = heights[base];  // includes the step to the child
        XF_CHECK(path.size() + (known > 0 ? known - 1 : 0) <= kMaxKeyBytes, XF_ERROR_CORRUPT,
                 "the character map has a key of more than %zu bytes, or a loop", kMaxKeyBytes);
        if (known > 0)
            visit.height = std::max(visit.height, known);
        else
            path.push_back({base, 0, 0});
    }
}

size_t CharacterMap::match(std::string_view text, std::string_view *replacement) const {
    if (units_.empty()) return 0;
    size_t found = 0, at = 0;
    uint32_t base = root_;
    for (size_t i = 0; i < text.size(); ++i) {
        const uint32_t byte = text[i] & 0xFFu;
        const uint32_t unit = child(base, byte);
        if (unit == 0) break;
        base ^= byte ^ offset_of(unit);
        if (!ends_key(unit)) continue;
        found = i + 1;
        at = units_[base] & ~kLeaf;
    }
    if (found > 0) *replacement = std::string_view(replacements_.data() + at);
    return found;
}

}  // namespace xf
