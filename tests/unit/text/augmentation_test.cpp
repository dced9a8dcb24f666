// data.augment: the share of changed pairs, each change, and that both sides of a pair have the same one.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/augmentation.h"

#include <map>
#include <set>

#include "core/utf8.h"
#include "support/test.hpp"

namespace {

using namespace xf;

// The forms of a text over many pairs, with how often each occurs.
std::map<std::string, int> forms(std::string_view text, bool source = true, double share = 1, int count = 2000) {
    std::map<std::string, int> found;
    std::string changed;
    for (int pair = 0; pair < count; ++pair)
        ++found[std::string(Augmentation{share, 1}.apply(text, source, 0, pair, &changed))];
    return found;
}

void check_forms(std::string_view text, bool source, const std::set<std::string> &expected) {
    std::set<std::string> found;
    for (const auto &[form, count] : forms(text, source)) found.insert(form);
    CHECK(found == expected);
}

}  // namespace

XF_TEST(every_change) {
    const auto found = forms("Save it now.");
    // The four other changes, and each typing error of "Save"; the other words are too short.
    CHECK_EQ(found.size(), 4u + 9u);
    for (const char *form :
         {"SAVE IT NOW.", "Save It Now.", "save it now.", "Save it now", "aSve it now.", "Svae it now.", "Saev it now.",
          "ave it now.", "Sve it now.", "Sae it now.", "SSave it now.", "Saave it now.", "Savve it now."})
        CHECK(found.contains(form));
    for (const char *form : {"SAVE IT NOW.", "Save It Now.", "save it now.", "Save it now"})
        CHECK(found.at(form) > 300 && found.at(form) < 500);
    // A target keeps its case and spelling, because an error in the source is to be ignored.
    check_forms("Jetzt sichern!", false, {"JETZT SICHERN!", "Jetzt sichern", "Jetzt sichern!"});
}

XF_TEST(characters) {
    check_forms("Stra\u00DFe", false, {"Stra\u00DFe", "STRASSE"});
    check_forms("\u00E9t\u00E9 \u4E2D\u6587\u3002", false,
                {"\u00C9T\u00C9 \u4E2D\u6587\u3002", "\u00E9t\u00E9 \u4E2D\u6587", "\u00E9t\u00E9 \u4E2D\u6587\u3002"});
    check_forms("a  b\n", true, {"a  b\n", "A  B\n", "a  b"});  // no letter is lost
    check_forms("...", true, {"..."});
    check_forms("", true, {""});
    // Words with signs or digits keep their form, because a model has to copy them.
    check_forms("Set %S in /tmp/A, b.Txt or X2.", true,
                {"SET %S IN /tmp/A, b.Txt OR X2.", "Set %S In /tmp/A, b.Txt Or X2.", "set %S in /tmp/A, b.Txt or X2.",
                 "Set %S in /tmp/A, b.Txt or X2", "Set %S in /tmp/A, b.Txt or X2."});
    // Invalid UTF-8 is left to the tokenizer.
    check_forms("Bad \xFF text.", true, {"Bad \xFF text."});
}

XF_TEST(any_text_gives_valid_text) {
    const char32_t characters[] = {'a',   'B',     'c',     ' ',   ' ',    '.',    '-',    '%',
                                   '7',   0xDF,    0xE9,    0x301, 0x149,  0x1F80, 0x3002, 0x4E2D,
                                   0x5D0, 0x1F600, 0x10428, 0xA0,  0x2028, '\n',   '\t',   0};
    uint32_t state = 1;
    std::string changed;
    for (int pair = 0; pair < 5000; ++pair) {
        std::string text;
        for (uint32_t i = 0; i < (state >> 8) % 12; ++i) {
            state = state * 1664525u + 1013904223u;
            append_utf8(characters[(state >> 16) % std::size(characters)], &text);
        }
        state = state * 1664525u + 1013904223u;
        for (const bool source : {true, false}) {
            const std::string_view found = Augmentation{1, 1}.apply(text, source, 0, pair, &changed);
            CHECK(find_invalid_utf8(found) == std::string_view::npos);
            CHECK(text.empty() || !found.empty());
        }
    }
}

XF_TEST(shares_and_keys) {
    const auto found = forms("Save it now.", true, 0.25, 8000);
    CHECK(found.at("Save it now.") > 5800 && found.at("Save it now.") < 6200);
    std::string changed, other;
    CHECK_EQ(Augmentation{}.apply("Save.", true, 0, 0, &changed), "Save.");
    const Augmentation all{1, 1}, reseeded{1, 2};
    int same = 0, seeds = 0, epochs = 0;
    for (int pair = 0; pair < 500; ++pair) {
        const std::string a(all.apply("Save it.", true, 3, pair, &changed));
        CHECK_EQ(a, all.apply("Save it.", true, 3, pair, &other));
        const std::string target(all.apply("Gut so.", false, 3, pair, &changed));
        same += (a == "SAVE IT.") == (target == "GUT SO.") && (a == "Save it") == (target == "Gut so");
        seeds += a == reseeded.apply("Save it.", true, 3, pair, &changed);
        epochs += a == all.apply("Save it.", true, 4, pair, &changed);
    }
    CHECK_EQ(same, 500);
    CHECK(seeds < 150 && epochs < 150);
}
