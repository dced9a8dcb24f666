// A random permutation of 0 .. n-1 with random access and without storage.
//
// The order of an epoch must be a pure function of (seed, epoch), so that resuming gives the same order on any machine
// and with any standard library; std::shuffle does not guarantee this. A Feistel network over the bits of n-1 is a
// bijection of [0, 2^bits) for any round function. Applying it repeatedly until the value is below n (Black and Rogaway
// 2002, "Ciphers with arbitrary finite domains") gives a bijection of [0, n). Since n > 2^bits / 2, fewer than two
// applications are needed on average. Positions in checkpoints depend on these numbers, so changing a constant breaks
// resuming.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace xf {

class Permutation {
public:
    Permutation(uint64_t seed, uint64_t epoch, uint64_t n) : n_(n) {
        const int bits = n > 1 ? std::bit_width(n - 1) : 0;
        low_bits_ = bits / 2;
        low_mask_ = (uint64_t{1} << low_bits_) - 1;
        high_mask_ = (uint64_t{1} << (bits - low_bits_)) - 1;
        // The keys depend on n, so different sizes give unrelated orders.
        uint64_t state = mix(mix(mix(seed) ^ epoch) ^ n);
        for (uint64_t &key : keys_) key = mix(state += kGolden);
    }

    // Requires i < n. Results are below n and distinct.
    uint64_t operator()(uint64_t i) const {
        if (n_ <= 1) return 0;
        do {
            i = encipher(i);
        } while (i >= n_);
        return i;
    }

private:
    static constexpr int kRounds = 8;
    static constexpr uint64_t kGolden = 0x9E3779B97F4A7C15u;

    // The finalizer of SplitMix64 (Steele, Lea and Flood 2014).
    static constexpr uint64_t mix(uint64_t x) {
        x += kGolden;
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
        x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
        return x ^ (x >> 31);
    }

    // The halves may differ in size by one bit. Each round changes one half by a function of the other.
    uint64_t encipher(uint64_t x) const {
        uint64_t low = x & low_mask_, high = x >> low_bits_;
        for (int round = 0; round < kRounds; round += 2) {
            high ^= mix(low ^ keys_[round]) & high_mask_;
            low ^= mix(high ^ keys_[round + 1]) & low_mask_;
        }
        return high << low_bits_ | low;
    }

    uint64_t n_;
    int low_bits_;
    uint64_t low_mask_, high_mask_;
    std::array<uint64_t, kRounds> keys_;
};

}  // namespace xf
