// An open-addressing hash table from keys to indices of a vector that the caller owns.
//
// The table stores only a hash and an index (8 bytes per slot). The records remain in a plain vector, in an order that
// does not depend on hashes. A hostile file can choose keys that collide: callers that read models check
// longest_probe(), and callers that read text use a random seed.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace xf {

inline uint64_t mix_hash(uint64_t x) {
    x = (x ^ (x >> 32)) * 0xD6E8FEB86659FD93u;
    x = (x ^ (x >> 32)) * 0xD6E8FEB86659FD93u;
    return x ^ (x >> 32);
}

inline uint64_t hash_bytes(std::string_view bytes, uint64_t seed = 0) {
    uint64_t hash = mix_hash((bytes.size() + 1) ^ seed);
    while (bytes.size() > 8) {
        uint64_t word;
        std::memcpy(&word, bytes.data(), 8);
        hash = mix_hash(hash ^ word);
        bytes.remove_prefix(8);
    }
    uint64_t rest = 0;
    if (!bytes.empty()) std::memcpy(&rest, bytes.data(), bytes.size());
    return mix_hash(hash ^ rest);
}

class HashIndex {
public:
    static constexpr uint32_t kMaxProbe = 1024;  // far above the probes of linear probing at half load

    HashIndex() : slots_(64) {}

    // Returns the index whose key has this hash and for which equal(index) is true, or -1.
    template <class Equal>
    int32_t find(uint64_t hash, const Equal &equal) const {
        const size_t mask = slots_.size() - 1;
        for (size_t i = hash & mask;; i = (i + 1) & mask) {
            const Slot &slot = slots_[i];
            if (slot.index < 0) return -1;
            if (slot.hash == (hash & 0xFFFFFFFFu) && equal(slot.index)) return slot.index;
        }
    }

    // Adds an index whose key is not in the table.
    void insert(uint64_t hash, int32_t index) {
        reserve(++count_);
        put({static_cast<uint32_t>(hash), index});
    }

    // Allocates memory for `count` entries in total.
    void reserve(size_t count) {
        size_t slots = slots_.size();
        while (count * 2 > slots) slots *= 2;
        if (slots > slots_.size()) grow(slots);
    }

    uint32_t longest_probe() const { return longest_probe_; }

private:
    struct Slot {
        uint32_t hash = 0;  // the low half suffices: indices have 31 bits, so tables have at most 2^32 slots
        int32_t index = -1;
    };

    void put(Slot slot) {
        const size_t mask = slots_.size() - 1;
        size_t i = slot.hash & mask;
        uint32_t probe = 0;
        for (; slots_[i].index >= 0; i = (i + 1) & mask) ++probe;
        slots_[i] = slot;
        if (probe > longest_probe_) longest_probe_ = probe;
    }

    void grow(size_t slots) {
        std::vector<Slot> old(slots);
        old.swap(slots_);
        longest_probe_ = 0;
        for (const Slot &slot : old)
            if (slot.index >= 0) put(slot);
    }

    std::vector<Slot> slots_;
    size_t count_ = 0;
    uint32_t longest_probe_ = 0;
};

}  // namespace xf
