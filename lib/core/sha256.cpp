// SHA-256 (FIPS 180-4), in portable code and with the SHA instructions of x86; see sha256.h.
//
// The variables have the names of the standard, section 6.2.2. The instructions keep the state as ABEF and CDGH.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/sha256.h"

#include <algorithm>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "core/os/plugin.h"

namespace xf {
namespace {

constexpr size_t kBlock = 64;

alignas(16) constexpr uint32_t kRound[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

}  // namespace

void compress_portably(uint32_t *state, const uint8_t *data, size_t blocks) {
    for (; blocks > 0; --blocks, data += kBlock) {
        uint32_t w[64] = {}, s[8];
        for (int i = 0; i < 64; ++i) w[i / 4] = w[i / 4] << 8 | data[i];
        for (int t = 16; t < 64; ++t) {
            const uint32_t x = w[t - 15], y = w[t - 2];
            w[t] = (std::rotr(y, 17) ^ std::rotr(y, 19) ^ y >> 10) + w[t - 7] +
                   (std::rotr(x, 7) ^ std::rotr(x, 18) ^ x >> 3) + w[t - 16];
        }
        std::copy_n(state, 8, s);
        for (int t = 0; t < 64; ++t) {
            const auto [a, b, c, d, e, f, g, h] = s;
            const uint32_t t1 =
                h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + ((e & f) ^ (~e & g)) + kRound[t] + w[t];
            const uint32_t t2 = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
            const uint32_t next[8] = {t1 + t2, a, b, c, d + t1, e, f, g};
            std::copy_n(next, 8, s);
        }
        for (int i = 0; i < 8; ++i) state[i] += s[i];
    }
}

namespace {

#if defined(__x86_64__)
__attribute__((target("sha,sse4.1,ssse3"))) void compress_with_instructions(uint32_t *state, const uint8_t *data,
                                                                            size_t blocks) {
    const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    __m128i dcba = _mm_loadu_si128(reinterpret_cast<const __m128i *>(state));
    __m128i hgfe = _mm_loadu_si128(reinterpret_cast<const __m128i *>(state + 4));
    dcba = _mm_shuffle_epi32(dcba, 0xb1);
    hgfe = _mm_shuffle_epi32(hgfe, 0x1b);
    __m128i abef = _mm_alignr_epi8(dcba, hgfe, 8);
    __m128i cdgh = _mm_blend_epi16(hgfe, dcba, 0xf0);
    for (; blocks > 0; --blocks, data += kBlock) {
        const __m128i abef_before = abef, cdgh_before = cdgh;
        __m128i w[4];
        for (int i = 0; i < 4; ++i)
            w[i] = _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i *>(data) + i), swap);
#pragma GCC unroll 16
        for (int i = 0; i < 16; ++i) {
            if (i >= 4) {  // four more words of the schedule, in the place of the oldest four
                const __m128i carried = _mm_alignr_epi8(w[(i + 3) & 3], w[(i + 2) & 3], 4);
                const __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(w[i & 3], w[(i + 1) & 3]), carried);
                w[i & 3] = _mm_sha256msg2_epu32(sum, w[(i + 3) & 3]);
            }
            __m128i k = _mm_add_epi32(w[i & 3], _mm_load_si128(reinterpret_cast<const __m128i *>(kRound) + i));
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, k);
            k = _mm_shuffle_epi32(k, 0x0e);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, k);
        }
        abef = _mm_add_epi32(abef, abef_before);
        cdgh = _mm_add_epi32(cdgh, cdgh_before);
    }
    const __m128i feba = _mm_shuffle_epi32(abef, 0x1b);
    const __m128i dchg = _mm_shuffle_epi32(cdgh, 0xb1);
    _mm_storeu_si128(reinterpret_cast<__m128i *>(state), _mm_blend_epi16(feba, dchg, 0xf0));
    _mm_storeu_si128(reinterpret_cast<__m128i *>(state + 4), _mm_alignr_epi8(dchg, feba, 8));
}
#endif

void compress(uint32_t *state, const uint8_t *data, size_t blocks) {
#if defined(__x86_64__)
    static const bool fast = cpu_features().sha;
    if (fast) return compress_with_instructions(state, data, blocks);
#endif
    compress_portably(state, data, blocks);
}

}  // namespace

Sha256::Sha256()
    : state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19} {}

void Sha256::update(const void *data, size_t bytes) {
    if (bytes == 0) return;
    auto from = static_cast<const uint8_t *>(data);
    const size_t held = bytes_ % kBlock;
    bytes_ += bytes;
    if (held > 0) {
        const size_t head = std::min(kBlock - held, bytes);
        std::memcpy(partial_ + held, from, head);
        if (held + head < kBlock) return;
        compress(state_, partial_, 1);
        from += head;
        bytes -= head;
    }
    compress(state_, from, bytes / kBlock);
    std::memcpy(partial_, from + bytes / kBlock * kBlock, bytes % kBlock);
}

std::string Sha256::hex() const {
    Sha256 padded = *this;
    // One bit, zeros up to 8 bytes before the end of a block, and the number of bits.
    uint8_t padding[kBlock + 8] = {0x80};
    const size_t size = kBlock + 8 - (bytes_ + 8) % kBlock;
    for (size_t i = 0; i < 8; ++i) padding[size - 1 - i] = bytes_ * 8 >> 8 * i;
    padded.update(padding, size);
    std::string digits;
    for (const uint32_t word : padded.state_)
        for (int shift = 28; shift >= 0; shift -= 4) digits += "0123456789abcdef"[word >> shift & 15];
    return digits;
}

}  // namespace xf
