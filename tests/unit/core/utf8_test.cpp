// The UTF-8 decoder against the tables of the Unicode standard.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/utf8.h"

#include "support/test.hpp"

using namespace xf;
using namespace std::string_view_literals;

XF_TEST(every_scalar_value_round_trips) {
    int wrong = 0;
    for (uint32_t c = 0; c < 0x110000; ++c) {
        std::string text;
        append_utf8(c, &text);
        const CodePoint read = decode_utf8(text, 0);
        const bool surrogate = c >= 0xD800 && c <= 0xDFFF;
        if (surrogate ? read.valid : !read.valid || read.value != c || read.size != text.size()) ++wrong;
    }
    CHECK_EQ(wrong, 0);
}

XF_TEST(invalid_sequences_are_reported_at_their_first_byte) {
    const struct {
        std::string_view text;
        size_t offset;
        uint32_t size;
    } cases[] = {
        {"\x80", 0, 1},                              // a lone continuation byte
        {"ab\xFF", 2, 1},                            // never in UTF-8
        {"a\xC0\x80", 1, 1},                         // overlong NUL
        {"\xC1\xBF", 0, 1},                          // overlong
        {"\xE0\x9F\xBF", 0, 1},                      // overlong
        {"\xF0\x8F\xBF\xBF", 0, 1},                  // overlong
        {"\xED\xA0\x80", 0, 1},                      // a surrogate
        {"\xF4\x90\x80\x80", 0, 1},                  // U+110000
        {"\xF5\x80\x80\x80", 0, 1},                  // above U+10FFFF
        {"\xC3", 0, 1},                              // cut short
        {"\xE2\x82", 0, 2},                          // cut short
        {"\xF0\x9F\x98", 0, 3},                      // cut short
        {"\xE2\x82X", 0, 2},                         // incomplete
        {"12345678\xC3\xA4xxxxxxx\xE2\x82", 17, 2},  // after eight ASCII bytes and a good character
    };
    for (const auto &c : cases) {
        CHECK_EQ(find_invalid_utf8(c.text), c.offset);
        const CodePoint read = decode_utf8(c.text, c.offset);
        CHECK(!read.valid);
        CHECK_EQ(read.size, c.size);
    }
    CHECK_EQ(find_invalid_utf8(""), std::string_view::npos);
    CHECK_EQ(find_invalid_utf8("a\0b\xF4\x8F\xBF\xBF"sv), std::string_view::npos);
}

XF_TEST(replacement_follows_the_maximal_subpart) {
    // Unicode 15, table 3-8 and similar cases.
    const std::string r = "\xEF\xBF\xBD";
    CHECK_EQ(replace_invalid_utf8("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"), r + r + r + r + r + r + r + r + "A");
    CHECK_EQ(replace_invalid_utf8("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41"), r + r + r + r + r + r + r + r + "A");
    CHECK_EQ(replace_invalid_utf8("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"), r + r + r + r + "A");
}
