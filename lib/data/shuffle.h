// A random order of 0 .. n-1 that can be asked for at any place without being stored.
//
// An epoch's order must be a pure function of (seed, epoch) so that a resumed run continues exactly, on any machine and
// with any standard library; std::shuffle promises neither. Here a Feistel network over the bits of n-1 is a
// bijection of [0, 2^bits) whatever its round function, and walking along the cycle until the value is below n
// (Black and Rogaway 2002, "Ciphers with arbitrary finite domains") makes it one of [0, n). Since n > 2^bits / 2,
// a walk takes less than two steps on average.
// The trap: the numbers are part of every checkpoint's meaning. To change a constant is to break resuming.
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
        // The key depends on n too: two sizes give unrelated orders.
        uint64_t state = mix(mix(mix(seed) ^ epoch) ^ n);
        for (uint64_t &key : keys_) key = mix(state += kGolden);
    }

    // i < n. The result is below n, and different for each i.
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

    // The finaliser of SplitMix64 (Steele, Lea and Flood 2014).
    static constexpr uint64_t mix(uint64_t x) {
        x += kGolden;
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
        x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
        return x ^ (x >> 31);
    }

    // The halves may differ by one bit, so each round changes one of them by a function of the other.
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
