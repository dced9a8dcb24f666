// SPDX-License-Identifier: Apache-2.0
#include "core/hash.h"

#include <cstring>

namespace xf {
namespace {

constexpr uint64_t kOdd = 0x9E3779B97F4A7C15u;

// splitmix64's: one to one, each bit of the input moves half of the output's.
uint64_t mix(uint64_t h) {
    h = (h ^ (h >> 30)) * 0xBF58476D1CE4E5B9u;
    h = (h ^ (h >> 27)) * 0x94D049BB133111EBu;
    return h ^ (h >> 31);
}

}  // namespace

uint64_t hash64(const void *data, size_t size, uint64_t seed) {
    constexpr size_t kLanes = 8;
    uint64_t lanes[kLanes], words[kLanes];
    for (size_t i = 0; i < kLanes; ++i) lanes[i] = mix(seed + (i + 1) * kOdd);
    const auto *at = static_cast<const unsigned char *>(data);
    size_t left = size;
    for (; left >= sizeof words; left -= sizeof words, at += sizeof words) {
        std::memcpy(words, at, sizeof words);
        for (size_t i = 0; i < kLanes; ++i) {
            const uint64_t h = (lanes[i] ^ words[i]) * kOdd;
            lanes[i] = h ^ (h >> 29);  // else high bits never reach low ones
        }
    }
    std::memset(words, 0, sizeof words);
    if (left > 0) std::memcpy(words, at, left);
    uint64_t h = mix(seed ^ size);
    for (size_t i = 0; i < kLanes; ++i) h = mix((h ^ lanes[i]) + mix(words[i] + i));
    return h;
}

}  // namespace xf
