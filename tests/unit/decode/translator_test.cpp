// Translation of texts: white space, blank texts, invalid texts, and prefixes.
//
// SPDX-License-Identifier: Apache-2.0
#include "decode/translator.h"

#include "decoding.hpp"

namespace {

using namespace xf_test;

const std::shared_ptr<const xf::Tokenizer> kTokenizer = byte_tokenizer();

const std::shared_ptr<const xf::Model> &model() {
    static const std::shared_ptr<const xf::Model> model =
        make_model(any_device(), with(kTinyModel, {{"model.vocab_size", "258"}}));
    return model;
}

std::vector<xf::SentenceOutcome> translate(const std::vector<const char *> &texts,
                                           const std::vector<const char *> &prefixes = {}) {
    xf::Decoder decoder(model(), options_of({{"decode.max_extra_tokens", "5"}}));
    xf::Translator translator(*kTokenizer, decoder);
    return translator.translate({texts.data(), nullptr, texts.size()},
                                {prefixes.empty() ? nullptr : prefixes.data(), nullptr, texts.size()}, {});
}

XF_TEST(white_space_at_the_ends_is_removed) {
    const std::pair<const char *, const char *> cases[] = {
        {"", ""},
        {" ", ""},
        {"a", "a"},
        {"\t a b \r\n", "a b"},
        {"\u00a0\u2003a\u3000", "a"},  // no-break, em, ideographic
        {"\u200b", ""},                // zero width
        {"\ufeffa", "a"},              // byte order mark
        {"\u0085\u2028\u2029", ""},    // next line, line and paragraph separators
        {"\u00e0 ", "\u00e0"},         // a letter whose last byte is that of a no-break space
        {" \xA0", "\xA0"},             // not UTF-8: remains, and is rejected later
        {"\x85\n", "\x85"},
        {"a\xE2\x80", "a\xE2\x80"},
    };
    for (const auto &[text, expected] : cases) CHECK_EQ(xf::trimmed(text), expected);
}

XF_TEST(a_blank_text_has_an_empty_translation) {
    for (const xf::SentenceOutcome &outcome :
         translate({"", " ", "\t", "\n", "\r\n \n", "\xE2\x80\x8B", "\xE3\x80\x80"})) {
        CHECK_EQ(outcome.status, XF_OK);
        CHECK_EQ(outcome.hypotheses.size(), size_t{1});
        const xf::Hypothesis &h = outcome.hypotheses.at(0);
        CHECK(h.ids.empty() && h.text.empty() && h.finished && h.complete);
        CHECK_EQ(h.score, 0.0);
        CHECK_EQ(h.log_probability, 0.0);
        CHECK((h.token_log_probabilities == std::vector<float>{0.0f}));
    }
}

XF_TEST(translations_begin_with_their_prefixes) {
    const auto found = translate({"one", "two", "three", " ", "four"}, {"abc", nullptr, " de\n", "xyz", "\xFF"});
    CHECK_EQ(found[0].hypotheses.at(0).text.substr(0, 3), std::string("abc"));
    CHECK(same(found[1].hypotheses, translate({"two"})[0].hypotheses));
    CHECK_EQ(found[2].hypotheses.at(0).text.substr(0, 2), std::string("de"));
    CHECK(found[3].hypotheses.at(0).text.empty());
    CHECK_EQ(found[4].status, XF_ERROR_DATA);
    CHECK(found[4].message.find("prefix") == 0);
}

XF_TEST(a_constraint_receives_the_index_of_the_text) {
    xf::Decoder decoder(model(), options_of({}));
    xf::Translator translator(*kTokenizer, decoder);
    const char *const texts[] = {"one", " ", "\xFF", "two"};
    std::set<int64_t> seen;
    xf::DecodeRequest request;
    request.constraint = [&](std::span<const xf::Partial> partials) {
        for (const xf::Partial &partial : partials) seen.insert(partial.sentence);
    };
    translator.translate({texts, nullptr, 4}, {}, request);
    CHECK((seen == std::set<int64_t>{0, 3}));
}

}  // namespace
