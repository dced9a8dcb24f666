// The character map of a SentencePiece model: which characters of a text become which others before it is cut.
//
// The bytes are those of "precompiled_charsmap" in a .model file: the size of a double array (uint32, little endian),
// the array, then the replacements, each ended by NUL. The array is a trie of the rules' keys as darts-clone writes it:
// units of 32 bits, where a node's children stand at its base xor their byte; bit 8 of a unit says that a key ends
// there, and then the unit at the base holds where the replacement begins.
//
// Who reads a map trusts nothing: the constructor walks all of the trie once, so that match() can neither leave the
// arrays nor go round in a loop.
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

    // No bytes: no rules. XF_ERROR_CORRUPT, XF_ERROR_LIMIT.
    explicit CharacterMap(std::string bytes = {});
    CharacterMap(const CharacterMap &) = delete;
    CharacterMap &operator=(const CharacterMap &) = delete;

    const std::string &bytes() const { return bytes_; }

    // The bytes of the longest key that the text begins with, and what replaces them; 0 when there is none.
    size_t match(std::string_view text, std::string_view *replacement) const;

    // True for an ASCII character that stays as it is before another one of ASCII and at the end of the text.
    bool is_plain(char c) const {
        return static_cast<unsigned char>(c) < 0x80 && plain_[static_cast<unsigned char>(c)];
    }

private:
    static constexpr uint32_t kLeaf = 1u << 31;

    static uint32_t offset_of(uint32_t unit) { return (unit >> 10) << ((unit & (1u << 9)) >> 6); }
    static bool ends_key(uint32_t unit) { return (unit & (1u << 8)) != 0; }
    // The unit of the child of a node by a byte; 0 for none.
    uint32_t child(uint32_t base, uint32_t byte) const {
        const uint32_t unit = units_[base ^ byte];
        return (unit & (kLeaf | 0xFF)) == byte ? unit : 0;
    }
    void check_node(uint32_t base, bool ends) const;
    void check_all() const;

    std::string bytes_;
    std::vector<uint32_t> units_;
    std::string_view replacements_;  // in bytes_
    uint32_t root_ = 0;
    std::array<bool, 128> plain_;
};

}  // namespace xf
