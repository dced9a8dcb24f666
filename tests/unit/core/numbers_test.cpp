// Floating-point numbers as text: the expected texts are those of std::to_chars(), also where numbers.cpp replaces it.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/numbers.h"

#include <cmath>
#include <limits>

#include "support/test.hpp"

namespace {

template <class T>
std::string text_of(T value) {
    char text[40];
    return {text, xf::write_number(text, text + sizeof text, value)};
}

template <class T>
std::errc read(const std::string &text, T *value, size_t *used) {
    const auto result = xf::read_number(text.data(), text.data() + text.size(), value);
    *used = result.ptr - text.data();
    return result.ec;
}

XF_TEST(numbers_have_their_shortest_text) {
    CHECK_EQ(text_of(0.0), "0");
    CHECK_EQ(text_of(-0.0), "-0");
    CHECK_EQ(text_of(0.1), "0.1");
    CHECK_EQ(text_of(0.1f), "0.1");
    CHECK_EQ(text_of(double{0.1f}), "0.10000000149011612");
    CHECK_EQ(text_of(0.0001), "1e-04");
    CHECK_EQ(text_of(0.00012), "0.00012");
    CHECK_EQ(text_of(100000.0), "1e+05");
    CHECK_EQ(text_of(123000.0), "123000");
    CHECK_EQ(text_of(16777216.0f), "16777216");
    CHECK_EQ(text_of(1e22), "1e+22");
    CHECK_EQ(text_of(9007199254740993.0), "9007199254740992");
    CHECK_EQ(text_of(1.5e300), "1.5e+300");
    CHECK_EQ(text_of(std::numeric_limits<double>::max()), "1.7976931348623157e+308");
    CHECK_EQ(text_of(-5e-324), "-5e-324");
    CHECK_EQ(text_of(std::numeric_limits<float>::min()), "1.1754944e-38");
    CHECK_EQ(text_of(INFINITY), "inf");
    CHECK_EQ(text_of(-std::numeric_limits<double>::infinity()), "-inf");
}

XF_TEST(every_text_is_read_as_the_same_number) {
    uint64_t random = 1;
    for (int i = 0; i < 20000; ++i) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        const auto number = xf::bits_as<double>(random);
        const auto single = xf::bits_as<float>(static_cast<uint32_t>(random >> 32));
        size_t used = 0;
        double value = 0;
        float small = 0;
        if (std::isfinite(number)) CHECK(read(text_of(number), &value, &used) == std::errc() && value == number);
        if (std::isfinite(single)) CHECK(read(text_of(single), &small, &used) == std::errc() && small == single);
    }
}

XF_TEST(texts_are_read_like_those_of_the_standard_library) {
    const auto check = [](const std::string &text, std::errc expected, size_t expected_used, double expected_value) {
        double value = 7;
        size_t used = 0;
        CHECK_EQ(int(read(text, &value, &used)), int(expected));
        CHECK_EQ(used, expected_used);
        CHECK_EQ(value, expected_value);
    };
    const std::errc good{}, bad = std::errc::invalid_argument, range = std::errc::result_out_of_range;
    check("1.5", good, 3, 1.5);
    check("-.5x", good, 3, -0.5);
    check("1e", good, 1, 1);
    check("1e+", good, 1, 1);
    check("2.e1", good, 4, 20);
    check("0x10", good, 1, 0);
    check("0e999999", good, 8, 0);
    check("5e-324", good, 6, 5e-324);
    check("inf", good, 3, INFINITY);
    check("-INFinity", good, 9, -INFINITY);
    check("1e400", range, 5, 7);
    check("-1e400", range, 6, 7);
    check("1e-400", range, 6, 7);
    for (const char *text : {"", "-", ".", "e5", "+1", " 1", "--1", "x", "-x", "\t1"}) check(text, bad, 0, 7);
    float single = 7;
    size_t used = 0;
    CHECK(read("1e39", &single, &used) == range && single == 7);
    CHECK(read("16777217", &single, &used) == good && single == 16777216);
}

}  // namespace
