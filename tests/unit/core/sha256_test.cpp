// SHA-256 against the vectors of FIPS 180-4, and the fast path against libmd for every length and split.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/sha256.h"

#include "support/test.hpp"

using xf::Sha256;

static std::string digest(const std::string &text) {
    Sha256 hash;
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

XF_TEST(any_length_and_split_agrees_with_libmd) {
    std::string text;
    for (int i = 0; i < 700; ++i) text += static_cast<char>(i * 37 + i / 7);
    for (size_t length = 0; length <= text.size(); ++length) {
        char digits[SHA256_DIGEST_STRING_LENGTH];
        const std::string expected = SHA256Data(reinterpret_cast<const uint8_t *>(text.data()), length, digits);
        for (const size_t piece : {1, 3, 63, 64, 65, 128, 200, 700}) {
            Sha256 hash;
            for (size_t at = 0; at < length; at += piece) hash.update(text.data() + at, std::min(piece, length - at));
            CHECK_EQ(hash.hex(), expected);
        }
    }
}

XF_TEST(hex_leaves_the_state_and_copies_are_separate) {
    Sha256 a;
    a.update("abc", 3);
    CHECK_EQ(a.hex(), a.hex());
    Sha256 b = a;
    b.update("d", 1);
    CHECK_EQ(a.hex(), digest("abc"));
    CHECK_EQ(b.hex(), digest("abcd"));
}
