// An open-addressing table from keys to indexes of a vector that the caller holds.
//
// The vocabulary, the merges, and the words and pairs of training are all "find this key among my records": the table
// stores only a hash and the record's number (8 bytes a slot), so the records stay in plain vectors, in an order that
// no hash influences. The trap: a hostile file can choose keys that collide. Callers that read models check
// longest_probe(), which is small for any honest data; those that read texts hash with a seed nobody knows.
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
    static constexpr uint32_t kMaxProbe = 1024;  // at half load, linear probing stays far below

    HashIndex() : slots_(64) {}

    // The index whose key has this hash and for which equal(index) is true, or -1.
    template <class Equal>
    int32_t find(uint64_t hash, const Equal &equal) const {
        const size_t mask = slots_.size() - 1;
        for (size_t i = hash & mask;; i = (i + 1) & mask) {
            const Slot &slot = slots_[i];
            if (slot.index < 0) return -1;
            if (slot.hash == static_cast<uint32_t>(hash) && equal(slot.index)) return slot.index;
        }
    }

    // Adds an index whose key is not in the table.
    void insert(uint64_t hash, int32_t index) {
        reserve(++count_);
        place({static_cast<uint32_t>(hash), index});
    }

    // So many in all come without another table.
    void reserve(size_t count) {
        size_t slots = slots_.size();
        while (count * 2 > slots) slots *= 2;
        if (slots > slots_.size()) grow(slots);
    }

    uint32_t longest_probe() const { return longest_probe_; }

private:
    struct Slot {
        uint32_t hash = 0;  // the low half is enough: indexes have 31 bits, so tables have at most 2^32 slots
        int32_t index = -1;
    };

    void place(Slot slot) {
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
            if (slot.index >= 0) place(slot);
    }

    std::vector<Slot> slots_;
    size_t count_ = 0;
    uint32_t longest_probe_ = 0;
};

}  // namespace xf
