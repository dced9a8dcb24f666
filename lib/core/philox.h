// The random number generator: Philox4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3").
//
// It has no state: a number is a function of a key and a counter. So dropout, shuffling, and initialization are the
// same for any number of threads, on every backend, and after a resume. The backends (cpu/, cuda/) use this header too,
// so it includes nothing of the library.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define XF_HOST_DEVICE __host__ __device__
#else
#define XF_HOST_DEVICE
#endif

namespace xf {

struct Philox {
    uint32_t word[4];
};

XF_HOST_DEVICE inline Philox philox(uint64_t key, uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3) {
    uint32_t k0 = key, k1 = key >> 32;
    for (int round = 0; round < 10; ++round) {
        const uint64_t p0 = uint64_t{0xD2511F53u} * c0, p1 = uint64_t{0xCD9E8D57u} * c2;
        c0 = (p1 >> 32) ^ c1 ^ k0;
        c2 = (p0 >> 32) ^ c3 ^ k1;
        c1 = p1;
        c3 = p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return {{c0, c1, c2, c3}};
}

// NOLINTNEXTLINE(bugprone-incorrect-roundings): so everywhere; just below a half it is 1
XF_HOST_DEVICE inline uint32_t dropout_threshold(float rate) { return rate * 65536.0f + 0.5f; }
XF_HOST_DEVICE inline float dropout_scale(uint32_t threshold) {
    return 65536.0f / static_cast<float>(65536u - threshold);
}

}  // namespace xf
