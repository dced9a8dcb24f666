// The hash that ranks compare: values of another implementation, and the effect of each input bit.
//
// The values were computed in Python from the equation in lib/core/hash.h and .cpp.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/hash.h"

#include <bit>

#include "support/test.hpp"

using namespace xf;

XF_TEST(values) {
    std::string bytes;
    for (int i = 0; i < 200; ++i) bytes.push_back(static_cast<char>(i * 37 + 11));
    struct Row {
        size_t size;
        uint64_t seed, hash;
    };
    const Row rows[] = {
        {0, 0, 0x887F35A948C8E972},   {1, 0, 0x7781823517A5564F},
        {8, 1, 0x4A3D4E4FAFDF5541},   {63, 2, 0x9FCFF0C8263CBBB1},
        {64, 3, 0x478589DAF72FA366},  {65, 0, 0xA7DB70618CD61D5F},
        {128, 7, 0x05751977D877C1F1}, {200, 0xFFFFFFFFFFFFFFFF, 0x189B15B326CC0461},
    };
    for (const Row &row : rows) CHECK_EQ(hash64(bytes.data(), row.size, row.seed), row.hash);
}

// Each bit of a complete block of 64 bytes and of a partial one changes about half of the bits of the result.
XF_TEST(each_bit_affects_the_hash) {
    std::string bytes(100, '\0');
    const uint64_t before = hash64(bytes.data(), bytes.size());
    int all = 0;
    for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
        bytes[bit / 8] = static_cast<char>(1 << bit % 8);
        const int moved = std::popcount(hash64(bytes.data(), bytes.size()) ^ before);
        bytes[bit / 8] = 0;
        CHECK(moved >= 10 && moved <= 54);
        all += moved;
    }
    CHECK(all > 31 * 800 && all < 33 * 800);
    CHECK(hash64(bytes.data(), 99) != before);
}
