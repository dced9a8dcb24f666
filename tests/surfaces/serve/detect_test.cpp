// Language detection and names of languages.
//
// SPDX-License-Identifier: Apache-2.0
#include "detect.h"

#include "support/test.hpp"

namespace {

const std::vector<std::string> kCandidates = {"en", "de", "fr"};

std::string best(std::string_view text, const std::vector<std::string> &candidates) {
    const std::vector<serve::Detected> found = serve::detect(text, candidates);
    return found.empty() ? "" : found.front().language;
}

}  // namespace

XF_TEST(sentences_are_detected) {
    const struct {
        const char *text, *language;
    } cases[] = {
        {"Open the details window for the highlighted object.", "en"},
        {"Öffnet das Detailfenster für das ausgewählte Objekt.", "de"},
        {"Qu'avons-nous donc fait pour provoquer votre courroux ?", "fr"},
        {"Abre la ventana de detalles del objeto seleccionado.", "es"},
        {"Открывает окно с подробностями о выбранном объекте.", "ru"},
        {"פתח את חלון הפרטים עבור האובייקט המסומן ולאחר מכן שמור את הקובץ", "he"},
    };
    for (const auto &each : cases) {
        CHECK_EQ(best(each.text, {}), std::string(each.language));
        // A reliable answer is returned, whether it is a candidate or not.
        CHECK_EQ(best(each.text, kCandidates), std::string(each.language));
        const std::vector<serve::Detected> found = serve::detect(each.text, kCandidates);
        CHECK(found.front().confidence > 90 && found.front().confidence <= 100);
    }
}

XF_TEST(unreliable_answers_are_candidates) {
    for (const char *const word : {"Fenster", "House", "Export", "maison", "xyzzy", "ok", "Data", "Kino"}) {
        const std::vector<serve::Detected> found = serve::detect(word, kCandidates);
        for (const serve::Detected &each : found) {
            CHECK(std::find(kCandidates.begin(), kCandidates.end(), each.language) != kCandidates.end());
            CHECK(each.confidence >= 0 && each.confidence <= 80);
        }
        CHECK(!found.empty());
    }
    CHECK_EQ(best("Fenster", kCandidates), std::string("de"));
    // A code that CLD2 does not have.
    CHECK_EQ(best("xyzzy", {"tlh"}), std::string("tlh"));
}

XF_TEST(texts_without_words) {
    for (const char *const text : {"", " ", "42", "\xE2\x80\x94 \xF0\x9F\x98\x80"})
        CHECK(serve::detect(text, kCandidates).empty());
}

XF_TEST(long_texts) {
    std::string text;
    while (text.size() < 1u << 20) text += "Das ausgewählte Objekt öffnet ein Fenster. ";
    CHECK_EQ(best(text, kCandidates), std::string("de"));
    // The first 16 KiB end within a character.
    CHECK_EQ(best(std::string(16383, ' ') + "\u00E4", kCandidates), std::string("en"));
}

XF_TEST(several_threads) {
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&] {
            for (int k = 0; k < 500; ++k)
                wrong += best(k % 2 == 0 ? "This is a sentence." : "Dies ist ein Satz.", kCandidates) !=
                         (k % 2 == 0 ? "en" : "de");
        });
    for (std::thread &thread : threads) thread.join();
    CHECK_EQ(wrong.load(), 0);
}

XF_TEST(names_of_languages) {
    const std::pair<const char *, const char *> names[] = {
        {"en", "English"},   {"de", "German"}, {"fr", "French"},         {"zh", "Chinese"},
        {"nb", "Norwegian"}, {"he", "Hebrew"}, {"ht", "Haitian creole"}, {"zh-Hant", "Chinese (traditional)"},
        {"xx", "xx"},        {"", ""}};
    for (const auto &[code, name] : names) CHECK_EQ(serve::language_name(code), std::string(name));
}
