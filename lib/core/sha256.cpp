// SHA-256 (FIPS 180-4) over libmd, and the compression function with the x86 SHA instructions; see sha256.h.
//
// The fast path works on libmd's own context: only whole blocks and only when libmd's buffer is empty, so that
// padding and odd lengths stay with libmd. The instructions keep the state as ABEF and CDGH, not as a..h.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/sha256.h"

#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace xf {
namespace {

constexpr size_t kBlock = 64;

#if defined(__x86_64__)
alignas(16) constexpr uint32_t kRound[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

bool has_sha_instructions() {
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_SSE4_1) || !(c & bit_SSSE3)) return false;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & (1u << 29));
}

__attribute__((target("sha,sse4.1,ssse3"))) void compress(uint32_t *state, const uint8_t *data, size_t blocks) {
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

}  // namespace

Sha256::Sha256() { SHA256Init(&context_); }

void Sha256::update(const void *data, size_t bytes) {
    auto from = static_cast<const uint8_t *>(data);
#if defined(__x86_64__)
    static const bool fast = has_sha_instructions();
    if (fast && bytes >= kBlock) {
        const size_t held = context_.bitcount[0] / 8 % kBlock;
        const size_t head = (kBlock - held) % kBlock;
        if (head > 0) SHA256Update(&context_, from, head);
        from += head;
        bytes -= head;
        compress(context_.state.st32, from, bytes / kBlock);
        context_.bitcount[0] += bytes / kBlock * kBlock * 8;
        from += bytes / kBlock * kBlock;
        bytes %= kBlock;
    }
#endif
    if (bytes > 0) SHA256Update(&context_, from, bytes);
}

std::string Sha256::hex() const {
    SHA256_CTX context = context_;
    char text[SHA256_DIGEST_STRING_LENGTH];
    return SHA256End(&context, text);
}

}  // namespace xf
