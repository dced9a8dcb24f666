// Multilingual models: the positions of language tokens, and errors for unknown names.
//
// SPDX-License-Identifier: Apache-2.0
#include "nn/languages.h"

#include "decode/translator.h"
#include "decoding.hpp"

namespace {

using namespace xf_test;

constexpr int32_t kEnglish = 3, kGerman = 4;  // of the bytes 1 and 2

// A tokenizer of bytes, two of which are used as language tokens.
struct World {
    std::shared_ptr<const xf::Tokenizer> tokenizer = byte_tokenizer();
    std::shared_ptr<const xf::Model> model;

    World(const char *source, const char *target)
        : model(make_model(any_device(), with(kTinyModel, {{"model.vocab_size", "258"},
                                                           {"model.languages", "English=3,German=4"},
                                                           {"model.source_language", source},
                                                           {"model.target_language", target}}))) {}

    std::vector<xf::Hypothesis> translate(const char *text, const Settings &options, const char *prefix = nullptr) {
        xf::Decoder decoder(model, options_of(options));
        xf::Translator translator(*tokenizer, decoder);
        auto outcomes =
            translator.translate({&text, nullptr, 1}, {prefix != nullptr ? &prefix : nullptr, nullptr, 1}, {});
        CHECK_EQ(outcomes[0].status, XF_OK);
        return outcomes[0].hypotheses;
    }

    Ids ids(const char *text) const {
        Ids ids;
        tokenizer->encode(text, &ids);
        return ids;
    }
};

const Settings kSearch = {{"decode.max_extra_tokens", "5"}, {"decode.n_best", "2"}};

const Settings kToGerman = {{"text.source_language", "English"}, {"text.target_language", "German"}};

// Translating texts must equal decoding ids with the language tokens added by hand.
void check_source(const char *source, const char *target, const Ids &before, const Ids &after) {
    World world(source, target);
    Ids fed = before;
    for (const int32_t id : world.ids("a text")) fed.push_back(id);
    fed.push_back(kEndToken);
    fed.insert(fed.end(), after.begin(), after.end());
    xf::Decoder decoder(world.model, options_of(with(kSearch, kToGerman)));
    const auto answers = world.translate(" a text\n", with(kSearch, kToGerman));
    CHECK(same(answers, decode(&decoder, {fed})[0]));
    CHECK(!same(answers, decode(&decoder, {{kEnglish, fed[0], kEndToken}})[0]));
}

XF_TEST(language_tokens_have_the_position_of_the_model) {
    check_source("none", "none", {}, {});
    check_source("before", "first", {kEnglish}, {});
    check_source("after", "start", {}, {kEnglish});
    check_source("none", "source", {kGerman}, {});
    check_source("after", "source", {kGerman}, {kEnglish});
}

XF_TEST(a_hypothesis_begins_with_its_language) {
    World world("before", "first");
    for (const char *name : {"English", "German"})
        for (const auto &answer :
             world.translate("a text", with(with(kSearch, kToGerman), {{"text.target_language", name}})))
            CHECK_EQ(answer.ids.at(0), name[0] == 'E' ? kEnglish : kGerman);
    // A prefix of the caller follows it.
    const auto answers = world.translate("a text", with(kSearch, kToGerman), "b");
    const Ids prefix = world.ids("b");
    CHECK_EQ(answers.at(0).ids.at(0), kGerman);
    CHECK(std::equal(prefix.begin(), prefix.end(), answers.at(0).ids.begin() + 1));
}

XF_TEST(the_language_replaces_the_start_symbol) {
    World world("none", "start");
    const auto english = world.translate("a text", with(kSearch, {{"text.target_language", "English"}}));
    const auto german = world.translate("a text", with(kSearch, {{"text.target_language", "German"}}));
    CHECK(!same(english, german));
    // Equal to a model with this start token.
    Settings settings = with(kTinyModel, {{"model.vocab_size", "258"}, {"model.start_token", "4"}});
    xf::Decoder decoder(make_model(any_device(), settings), options_of(kSearch));
    Ids fed = world.ids("a text");
    fed.push_back(kEndToken);
    CHECK(german.at(0).ids == decode(&decoder, {fed})[0].at(0).ids);
}

XF_TEST(a_target_is_scored_after_its_language) {
    World world("none", "start");
    xf::Decoder decoder(world.model, options_of(with(kSearch, {{"text.target_language", "German"}})));
    Ids source = world.ids("a text");
    source.push_back(kEndToken);
    const xf::Hypothesis answer = decode(&decoder, {source})[0].at(0);
    Ids target = answer.ids, behind = answer.ids;
    target.push_back(kEndToken);
    behind.insert(behind.end(), {kEndToken, kGerman});  // as batchers produce it: one more token is scored
    const double found = score(&decoder, {{source}, {target}})[0];
    Settings settings = with(kTinyModel, {{"model.vocab_size", "258"}, {"model.start_token", "4"}});
    xf::Decoder plain(make_model(any_device(), settings), options_of(kSearch));
    CHECK(score(&plain, {{source}, {target}})[0] == found);
    xf::Decoder untold(world.model, options_of(kSearch));
    CHECK(score(&untold, {{source}, {target}})[0] != found);
    CHECK(score(&untold, {{source}, {behind}}) == score(&decoder, {{source}, {behind}}));
    const auto weights = [&](xf::Decoder *with, const Ids &said) {
        return attention_of(with, Batch({source}, {said}), xf::AttentionKind::kDecoder, 0);
    };
    CHECK(weights(&decoder, target) != weights(&untold, target));
    CHECK(weights(&decoder, behind) == weights(&untold, behind));
}

std::string said(const std::function<void()> &call) {
    const CallOutcome found = outcome_of(call);
    if (found.status == XF_OK) return "nothing";
    CHECK_EQ(found.status, XF_ERROR_INVALID_ARGUMENT);
    return found.message;
}

XF_TEST(unknown_and_missing_names_are_errors) {
    World world("before", "first");
    const auto translate = [&](const Settings &options) { return said([&] { world.translate("x", options); }); };
    CHECK_EQ(translate({{"text.source_language", "Englisch"}, {"text.target_language", "German"}}),
             "text.source_language is 'Englisch', which is not one of the model's 2 languages; the nearest "
             "is 'English'");
    CHECK_EQ(translate({{"text.source_language", "English"}}),
             "text.target_language is not set, expected one of the model's 2 languages, such as 'English'");
    World alone("none", "none");
    CHECK_EQ(said([&] { alone.translate("x", {{"text.target_language", "German"}}); }), "nothing");
    const auto model = make_model(any_device(), kTinyModel);
    const xf::Options german = options_of({{"text.target_language", "German"}});
    CHECK_EQ(said([&] { xf::Decoder(model, german); }),
             "text.target_language is 'German', but the model has no languages");
}

XF_TEST(invalid_lists_of_languages) {
    const auto refused = [](const Settings &changes) {
        return said([&] { xf::ModelConfig::from(options_of(with(kTinyModel, changes))); });
    };
    for (const char *list : {"a", "a=", "=3", "a=x", "a=3,", ",a=3", "a=-1", "a=3 ", "a=99999999999"})
        CHECK(refused({{"model.languages", list}}).starts_with("model.languages has '"));
    CHECK_EQ(refused({{"model.languages", "a=3,b=4,a=5"}}), "model.languages contains 'a' twice");
    CHECK_EQ(refused({{"model.languages", "a=19"}}), "model.languages has 'a=19', expected a token of at most 18");
    CHECK_EQ(refused({{"model.target_language", "first"}}),
             "model.target_language is first, but model.languages is empty");
    CHECK(
        refused({{"model.languages", "a=3"}, {"model.source_language", "before"}, {"model.target_language", "source"}})
            .find("only one token can precede a source") != std::string::npos);
    CHECK_EQ(refused({{"model.languages", "a=3,b=3,zh-Hans=18"}}), "nothing");
}

}  // namespace
