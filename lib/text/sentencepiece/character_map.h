// The character map of a SentencePiece model: replacement rules that normalization applies to a text.
//
// The format is that of "precompiled_charsmap" in a .model file: the size of a double array (uint32, little endian),
// the array, and the replacements, each terminated by NUL. The array is a trie of the keys of all rules in the format
// of darts-clone, with units of 32 bits. The child of a node for a byte is at index (base of the node) xor (byte). Bit
// 8 of a unit is set if a key ends there; the unit at its base then contains the offset of the replacement.
//
// Maps are untrusted: the constructor walks the whole trie once, so that match() can neither read out of bounds nor
// loop forever.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace xf {

class CharacterMap {
public:
    static constexpr size_t kMaxBytes = size_t{1} << 21;
    static constexpr size_t kMaxKeyBytes = 64;
    static constexpr size_t kMaxReplacementBytes = 256;

    // An empty string is a map without rules. XF_ERROR_CORRUPT, XF_ERROR_LIMIT.
    explicit CharacterMap(std::string bytes = {});
    CharacterMap(const CharacterMap &) = delete;
    CharacterMap &operator=(const CharacterMap &) = delete;

    const std::string &bytes() const { return bytes_; }

    // Returns the length in bytes of the longest key that is a prefix of the text, and sets *replacement; 0 if there is
    // no such key.
    size_t match(std::string_view text, std::string_view *replacement) const;

    // Returns true for an ASCII character that is not changed before another ASCII character and at the end of a text.
    bool is_plain(char c) const { return (c & 0x80) == 0 && plain_[c & 0x7F]; }

private:
    static constexpr uint32_t kLeaf = 1u << 31;

    static uint32_t offset_of(uint32_t unit) { return (unit >> 10) << ((unit & (1u << 9)) >> 6); }
    static bool ends_key(uint32_t unit) { return (unit & (1u << 8)) != 0; }
    // Returns the unit of the child of a node for a byte, or 0.
    uint32_t child(uint32_t base, uint32_t byte) const {
        const uint32_t unit = units_[base ^ byte];
        return (unit & (kLeaf | 0xFF)) == byte ? unit : 0;
    }
    void check_node(uint32_t base, bool ends) const;
    void check_all() const;

    std::string bytes_;
    std::vector<uint32_t> units_;
    std::string_view replacements_;  // a view into bytes_
    uint32_t root_ = 0;
    std::array<bool, 128> plain_;
};

}  // namespace xf
