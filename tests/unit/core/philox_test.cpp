// Philox4x32-10 against the known answers of its authors (Random123, kat_vectors), and its use for dropout. Training
// would also work with a wrong bit, so only known answers detect one.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/philox.h"

#include <array>

#include "support/test.hpp"

namespace {

void check_words(const xf::Philox &r, const std::array<uint32_t, 4> &expected) {
    CHECK(std::equal(expected.begin(), expected.end(), r.word));
}

XF_TEST(known_answers_of_random123) {
    check_words(xf::philox(0, 0, 0, 0, 0), {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
    check_words(xf::philox(~uint64_t{0}, ~0u, ~0u, ~0u, ~0u), {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
    // Digits of pi; the key's first word is the low half.
    check_words(xf::philox(0x299f31d0a4093822, 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344),
                {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

// The 16 random bits of element i as defined by xf_dropout in plugin_abi.h. Other tests compare the backends.
uint32_t dropout_bits(uint64_t seed, uint32_t site, uint32_t step, uint32_t batch, uint64_t i) {
    const uint64_t block = i / 8;
    const xf::Philox r =
        xf::philox(seed, static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32) ^ (batch << 16), site, step);
    const uint32_t word = r.word[(i % 8) / 2];
    return (i & 1) ? word >> 16 : word & 0xFFFFu;
}

XF_TEST(each_part_of_the_key_changes_the_mask) {
    const auto mask = [](uint64_t seed, uint32_t site, uint32_t step, uint32_t stream) {
        uint64_t bits = 0;
        for (uint64_t i = 0; i < 64; ++i) bits = bits << 1 | (dropout_bits(seed, site, step, stream, i) >> 15);
        return bits;
    };
    const uint64_t base = mask(1, 16, 1, 0);
    CHECK(base != mask(2, 16, 1, 0));
    CHECK(base != mask(uint64_t{1} << 32 | 1, 16, 1, 0));
    CHECK(base != mask(1, 17, 1, 0));
    CHECK(base != mask(1, 16, 2, 0));
    CHECK(base != mask(1, 16, 1, 1));
    CHECK_EQ(base, mask(1, 16, 1, 0));
}

XF_TEST(the_mask_has_the_requested_rate_and_scale) {
    for (const float rate : {0.05f, 0.1f, 0.3f, 0.95f}) {
        const uint32_t threshold = xf::dropout_threshold(rate);
        const int count = 100000;
        int dropped = 0;
        for (int i = 0; i < count; ++i)
            dropped += dropout_bits(42, 1, 1, 0, static_cast<uint64_t>(i)) < threshold ? 1 : 0;
        const double deviation = std::sqrt(rate * (1 - rate) / count);
        CHECK_NEAR(static_cast<double>(dropped) / count, rate, 4 * deviation + 1e-5);
        CHECK_NEAR(xf::dropout_scale(threshold) * (1 - rate), 1, 1e-3 + 2e-5 / (1 - rate));
    }
}

}  // namespace
