// The hash that ranks compare: values that were computed in Python from the equation in lib/core/hash.h and .cpp, and
// the effect of each input bit. SHA-256: the vectors of FIPS 180-4, and Python's hashlib for every
// length and split.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/hash.h"

#include <algorithm>
#include <bit>

#include "core/sha256.h"
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

static std::string digest(const std::string &text) {
    xf::Sha256 hash;
    hash.update(text.data(), text.size());
    return hash.hex();
}

XF_TEST(vectors_of_the_standard) {
    CHECK_EQ(digest(""), std::string("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"));
    CHECK_EQ(digest("abc"), std::string("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
    CHECK_EQ(digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
             std::string("248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"));
    CHECK_EQ(digest(std::string(1'000'000, 'a')),
             std::string("cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"));
}

// Two blocks: a message of 119 letters "a" has a first block of letters, and a second with the padding.
XF_TEST(portable_code_agrees_with_hashlib) {
    uint8_t blocks[128] = {};
    std::fill_n(blocks, 119, uint8_t{'a'});
    blocks[119] = 0x80;
    blocks[126] = 119 * 8 >> 8;
    blocks[127] = 119 * 8 & 255;
    uint32_t state[] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    xf::compress_portably(state, blocks, 2);
    std::string digits;
    for (const uint32_t word : state) digits += xf::format("%08x", word);
    CHECK_EQ(digits, std::string("31eba51c313a5c08226adf18d4a359cfdfd8d2e816b13f4af952f7ea6584dcfb"));
    CHECK_EQ(digits, digest(std::string(119, 'a')));
}

// The expected value is the hash of all digests, one for each length:
//     text = bytes((i * 37 + i // 7) % 256 for i in range(700))
//     sha256(''.join(sha256(text[:n]).hexdigest() for n in range(701)).encode()).hexdigest()
XF_TEST(any_length_and_split_agrees_with_hashlib) {
    std::string text;
    for (int i = 0; i < 700; ++i) text += static_cast<char>(i * 37 + i / 7);
    for (const size_t piece : {1, 3, 63, 64, 65, 128, 200, 700}) {
        std::string digests;
        for (size_t length = 0; length <= text.size(); ++length) {
            xf::Sha256 hash;
            for (size_t at = 0; at < length; at += piece) hash.update(text.data() + at, std::min(piece, length - at));
            digests += hash.hex();
        }
        CHECK_EQ(digest(digests), std::string("adeffabfde1e9a9923b28a8d37f0859855cd1d7a27eaf3b2c6d26afe498d7c6b"));
    }
}

XF_TEST(hex_leaves_the_state_and_copies_are_separate) {
    xf::Sha256 a;
    a.update("abc", 3);
    CHECK_EQ(a.hex(), a.hex());
    xf::Sha256 b = a;
    b.update("d", 1);
    CHECK_EQ(a.hex(), digest("abc"));
    CHECK_EQ(b.hex(), digest("abcd"));
}
