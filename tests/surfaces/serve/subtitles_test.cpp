// parse_subtitles(): SubRip and WebVTT.
//
// SPDX-License-Identifier: Apache-2.0
#include "fake.hpp"
#include "tagged_document.h"

namespace {

const char kSubRip[] =
    "1\r\n00:00:01,000 --> 00:00:04,000\r\n{\\an8}The first <i>line</i>\r\nand the second\r\n\r\n"
    "2\r\n00:00:05,000 --> 00:00:06,000 X1:40\r\n- How are you?\r\n- <i>Fine &amp; well,</i>\r\nI <3 you.\r\n\r\n"
    "3\r\n00:00:07,000 --> 00:00:08,000\r\n...\r\n\r\n"
    "4\r\n00:00:09,000 --> 00:00:10,000\r\n<i>All</i>\r\n\r\nafter a blank line\r\n";

const char kWebVtt[] =
    "WEBVTT - title\nKind: captions\n\nNOTE a comment\nof two lines\n\nSTYLE\n::cue { color: red }\n\n"
    "name of the cue\n00:01.000 --> 00:02.000 align:start position:0%\n"
    "<v Roger>We are <c.loud>in</c> <00:01.500>New &amp; York</v>\n\n"
    "00:03.000 --> 00:04.000\n\xE2\x80\x93 Yes.\n\xE2\x80\x93 No,\n  maybe.\n\nnot a cue\n";

std::string texts(std::string_view source) { return fake::texts_of(*serve::parse_subtitles(source)); }

std::string translated(std::string_view source, std::string_view translation) {
    return fake::translate(*serve::parse_subtitles(source), [&](const std::string &) {
        return serve::Translation{std::string(translation), {}};
    });
}

}  // namespace

XF_TEST(texts_are_the_cues) {
    CHECK_EQ(texts(kSubRip), std::string("The first line and the second|How are you?|Fine &amp; well, I <3 you.|All|"
                                         "after a blank line"));
    CHECK_EQ(texts(kWebVtt), std::string("We are in New & York|Yes.|No, maybe."));
    CHECK_EQ(texts(""), std::string());
    CHECK_EQ(texts("no times\n"), std::string());
    CHECK_EQ(texts("\xEF\xBB\xBFWEBVTT\n\n1\n00:01.000 --> 00:02.000\na"), std::string("a"));
    // Without the blank line between cues, and with a negative number.
    CHECK_EQ(texts("1\n0:0:1,0 --> 0:0:2,0\na\n2\n0:0:3,0 --> 0:0:4,0\n-5 degrees"), std::string("a|-5 degrees"));
}

XF_TEST(identity_returns_the_file) {
    for (const char *const file : {kSubRip, kWebVtt}) {
        std::string result = fake::translate(*serve::parse_subtitles(file), fake::identity);
        std::string expected = file;
        for (std::string *const text : {&result, &expected})  // lines of a cue are balanced again
            std::erase_if(*text, [](char c) { return c == ' ' || c == '\n' || c == '\r'; });
        CHECK_EQ(result, expected);
    }
}

XF_TEST(lines_are_balanced) {
    const struct {
        const char *text;
        size_t lines;
        const char *expected;
    } cases[] = {
        {"aaa bbb", 2, "aaa\nbbb"},
        {"a bb cc ddddd", 2, "a bb cc\nddddd"},
        {"one", 2, "one"},
        {"a b", 3, "a\nb"},
        {"aa bb cc", 3, "aa\nbb\ncc"},
        {"", 2, ""},
        {"aaaaaaaa b c d", 2, "aaaaaaaa\nb c d"},
        {"\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4 b c d", 2, "\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\nb c d"},
    };
    for (const auto &each : cases) {
        std::string text = each.text;
        serve::wrap_lines(each.lines, &text);
        CHECK_EQ(text, std::string(each.expected));
    }
}

XF_TEST(cues_keep_lines_and_tags) {
    const std::string head = "1\r\n0:0:1,0 --> 0:0:2,0\r\n";
    CHECK_EQ(translated(head + "a\r\nb\r\n", "eins zwei drei vier"), head + "eins zwei\r\ndrei vier\r\n");
    CHECK_EQ(translated(head + "{\\an8}<i>a\r\nb</i>\r\n", "eins zwei"), head + "{\\an8}<i>eins\r\nzwei</i>\r\n");
    CHECK_EQ(translated(head + "- a\r\n- b", "x < & y"), head + "- x < & y\r\n- x < & y");
    CHECK_EQ(translated("WEBVTT\n\n" + head + "a", "x < & y"), "WEBVTT\n\n" + head + "x &lt; &amp; y");
    const auto reversed = fake::translate(*serve::parse_subtitles(head + "a <b>b</b>\r\nc"), fake::reversed);
    CHECK_EQ(reversed, head + "c\r\n<b>b</b> a");
}
