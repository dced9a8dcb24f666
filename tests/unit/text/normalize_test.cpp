// Compares normalization with utf8proc_map(), which is equivalent but sorts in quadratic time. Up to version 2.8 it
// drops U+11A7 after a Hangul syllable, so it is called for the parts between these characters.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/normalize.h"

#include <utf8proc.h>

#include "support/test.hpp"
#include "text_support.hpp"

using namespace xf;
using namespace xf_test;

namespace {

constexpr std::string_view kNoFinal = "\xE1\x86\xA7";  // U+11A7, which combines with nothing

std::string by_utf8proc(std::string_view text, Normalization form) {
    if (form == Normalization::kNone || text.empty()) return std::string(text);
    if (const size_t at = text.rfind(kNoFinal); at != text.npos && at > 0)
        return by_utf8proc(text.substr(0, at), form) + by_utf8proc(text.substr(at), form);
    const int flags = UTF8PROC_STABLE | UTF8PROC_COMPOSE | (form == Normalization::kNfkc ? UTF8PROC_COMPAT : 0);
    utf8proc_uint8_t *out = nullptr;
    const utf8proc_ssize_t n =
        utf8proc_map(reinterpret_cast<const utf8proc_uint8_t *>(text.data()),
                     static_cast<utf8proc_ssize_t>(text.size()), &out, static_cast<utf8proc_option_t>(flags));
    std::string result(reinterpret_cast<char *>(out), n > 0 ? static_cast<size_t>(n) : 0);
    std::free(out);
    return result;
}

std::string normalized(std::string_view text, Normalization form, InvalidUtf8 invalid = InvalidUtf8::kError) {
    std::string out;
    std::vector<int32_t> codes;
    normalize(text, form, invalid, &out, &codes);
    return out;
}

}  // namespace

XF_TEST(agrees_with_utf8proc) {
    std::mt19937 random(1);
    std::vector<std::string> texts = nasty_texts();
    for (int i = 0; i < 3000; ++i) texts.push_back(random_unicode(&random, 1 + i % 40));
    for (int i = 0; i < 100; ++i) {  // long enough to detect an unstable sort
        texts.emplace_back("a");
        for (int j = 0; j < 100; ++j) append_utf8(0x300 + static_cast<uint32_t>(random() % 0x70), &texts.back());
    }
    for (const std::string &text : texts)
        for (const Normalization form : {Normalization::kNone, Normalization::kNfc, Normalization::kNfkc})
            CHECK_EQ(normalized(text, form), by_utf8proc(text, form));
}

XF_TEST(inert_characters_are_not_composed) {
    const uint32_t before[] = {'A', 'e', 0xE9, 0x1100, 0xAC00, 0x3046, 0x1F62, 0x418, 0x9C7, 0x1100, 0x301, 0x4E00};
    int wrong = 0;
    for (uint32_t c = 0; c < 0x110000; ++c) {
        if (!is_inert(c)) continue;
        std::string text;
        append_utf8(c, &text);
        if (by_utf8proc(text, Normalization::kNfkc) != text || by_utf8proc(text, Normalization::kNfc) != text) ++wrong;
        if (utf8proc_get_property(static_cast<utf8proc_int32_t>(c))->combining_class != 0) ++wrong;
        for (const uint32_t first : before) {  // it must not join what precedes it
            std::string pair;
            append_utf8(first, &pair);
            const std::string alone = by_utf8proc(pair, Normalization::kNfc);
            if (by_utf8proc(pair + text, Normalization::kNfc) != alone + text) ++wrong;
        }
    }
    CHECK_EQ(wrong, 0);
}

// Unicode 15, section 3.12: finals begin at U+11A8. U+11A7 means "no final" in the arithmetic but is an ordinary
// character in text.
XF_TEST(a_hangul_syllable_composes_only_with_finals) {
    const std::string syllable = "\xEA\xB0\x80", first = "\xE1\x84\x80", vowel = "\xE1\x85\xA1";  // U+AC00, 1100, 1161
    const std::string none(kNoFinal), final = "\xE1\x86\xA8", closed = "\xEA\xB0\x81";            // U+11A8, AC01
    for (const Normalization form : {Normalization::kNfc, Normalization::kNfkc}) {
        CHECK_EQ(normalized(syllable + none, form), syllable + none);
        CHECK_EQ(normalized(first + vowel + none, form), syllable + none);
        CHECK_EQ(normalized(syllable + none + none + final, form), syllable + none + none + final);
        CHECK_EQ(normalized(syllable + none + "\xCC\x95\xCC\x96", form), syllable + none + "\xCC\x96\xCC\x95");
        CHECK_EQ(normalized(syllable + final, form), closed);
    }
}

XF_TEST(invalid_text_is_an_error_with_its_offset_or_replaced) {
    std::string out = "kept";
    std::vector<int32_t> codes;
    CHECK_REFUSED(normalize("ok \xC3\xA4 \xED\xA0\x80", Normalization::kNfc, InvalidUtf8::kError, &out, &codes),
                  XF_ERROR_DATA, "invalid UTF-8 at byte 6 (0xED), expected valid text");
    CHECK_EQ(out, "kept");
    CHECK_EQ(normalized("a\xE2\x82z", Normalization::kNfkc, InvalidUtf8::kReplace), "a\xEF\xBF\xBDz");
    CHECK_EQ(normalized("a\xE2\x82z", Normalization::kNone), "a\xE2\x82z");
}

XF_TEST(a_long_run_of_marks_takes_linear_time) {
    std::string text = "a";
    for (int i = 0; i < 500000; ++i) text += "\xCC\x95\xCC\x96";  // classes 232 and 220: out of order throughout
    const auto start = std::chrono::steady_clock::now();
    const std::string out = normalized(text, Normalization::kNfc);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    CHECK_EQ(out.size(), text.size());
    CHECK(out.substr(1, 4) == "\xCC\x96\xCC\x96");
    CHECK(seconds.count() < 20);  // about 0.1 s; the quadratic sort needs minutes
}
