// Banned phrases: the tokens that are forbidden are exactly those that complete a phrase.
//
// SPDX-License-Identifier: Apache-2.0
#include "decode/banned_phrases.h"

#include "decode/engine.h"
#include "decode/translator.h"
#include "decoding.hpp"

namespace {

using namespace xf_test;

const std::vector<std::string> kTexts = {"an open office opens the office often",
                                         "Über über die Übung: öffnen, offen.",
                                         "a.b, a-b; ab 12 112 21",
                                         "the the then thenth",
                                         "日本語 日本",
                                         "one\ttwo  three"};

std::shared_ptr<const xf::Tokenizer> tokenizer_of(xf::TokenizerKind kind) {
    xf::TokenizerOptions options;
    options.kind = kind;
    options.vocab_size = 330;
    options.min_pair_count = 1;
    return xf::WordTokenizer::train(options,
                                    [i = size_t{0}](std::string_view *line) mutable {
                                        if (i == kTexts.size()) return false;
                                        *line = kTexts[i++];
                                        return true;
                                    },
                                    {});
}

std::string text_of(const xf::Tokenizer &tokenizer, const Ids &ids) {
    std::string text;
    for (const int32_t id : ids) text += tokenizer.token_text(id);
    return text;
}

bool is_word(std::string_view before) {
    while (!before.empty() && (before.back() & 0xC0) == 0x80) before.remove_suffix(1);
    if (before.empty()) return false;
    const auto lead = static_cast<unsigned char>(before.back());
    return lead < 0x80 ? std::isalnum(lead) != 0 : lead >= 0xC3 && lead <= 0xE1;
}

// Returns whether a phrase occurs in the text and ends after its first `begin` bytes.
bool completes(const std::string &text, size_t begin, const std::string &phrase) {
    for (size_t at = text.find(phrase); at != std::string::npos; at = text.find(phrase, at + 1))
        if (at + phrase.size() > begin && (!is_word(phrase.substr(0, 1)) || !is_word(text.substr(0, at)))) return true;
    return false;
}

XF_TEST(exactly_the_tokens_that_complete_a_phrase_are_forbidden) {
    Draw draw(81);
    size_t forbidden = 0;
    for (const auto kind : {xf::TokenizerKind::kBpe, xf::TokenizerKind::kWordPiece, xf::TokenizerKind::kUnigram}) {
        const auto tokenizer = tokenizer_of(kind);
        for (int round = 0; round < 60; ++round) {
            const std::string &begun = kTexts[draw.between(0, std::ssize(kTexts) - 1)];
            std::vector<std::string> phrases;
            std::string lines = " \r\n\n";
            for (int64_t n = draw.between(1, 4); n > 0; --n) {
                const std::string &text = n == 1 ? begun : kTexts[draw.between(0, std::ssize(kTexts) - 1)];
                std::string phrase = text.substr(draw.between(0, std::ssize(text) - 1), draw.between(1, 8));
                while (!phrase.empty() && (phrase.front() == ' ')) phrase.erase(0, 1);
                while (!phrase.empty() && (phrase.back() == ' ')) phrase.pop_back();
                if (phrase.empty()) continue;
                phrases.push_back(phrase);
                lines += "  " + phrase + (n % 2 == 0 ? " \r\n" : "\n");
            }
            const xf::BannedPhrases banned(*tokenizer, lines);
            CHECK_EQ(banned.empty(), phrases.empty());
            if (phrases.empty()) continue;
            Ids ids;
            tokenizer->encode(begun, &ids);
            ids.resize(draw.between(0, std::ssize(ids)));
            const std::string text = text_of(*tokenizer, ids);
            std::vector<uint32_t> allowed(xf::allowed_words(tokenizer->size()), ~0u);
            banned.forbid(ids, allowed);
            for (int32_t id = 0; id < tokenizer->size(); ++id) {
                const std::string whole = text + tokenizer->token_text(id);
                const bool expected = std::any_of(phrases.begin(), phrases.end(), [&](const std::string &phrase) {
                    return completes(whole, text.size(), phrase);
                });
                CHECK_EQ((allowed[id / 32] >> id % 32 & 1) == 0, expected);
                forbidden += expected ? 1 : 0;
            }
        }
    }
    CHECK(forbidden > 500);
}

// Each decoding function applies the option, also to only one request.
XF_TEST(no_translation_contains_a_banned_phrase) {
    const auto tokenizer = byte_tokenizer();
    const auto context = any_device();
    const auto model = make_model(context, with(kTinyModel, {{"model.vocab_size", "258"}}));
    const xf::Options options = options_of("decode.max_extra_tokens=9 engine.thread=false"_set);
    xf::Decoder decoder(model, options, tokenizer.get());
    xf::Translator translator(*tokenizer, decoder);
    const auto translate = [&](const xf::Options *more) {
        const char *const text = "abc";
        xf::DecodeRequest request;
        request.options = more;
        return translator.translate({&text, nullptr, 1}, {}, request)[0].hypotheses.at(0).text;
    };
    const std::string plain = translate(nullptr);
    const std::string phrase = plain.substr(2, 2);
    const xf::Options more = options_of({{"decode.banned_phrases", phrase}});
    const std::string other = translate(&more);
    CHECK(plain.find(phrase) != std::string::npos);
    CHECK(other.find(phrase) == std::string::npos);
    CHECK_EQ(translate(nullptr), plain);
    xf::Engine engine({model}, tokenizer, options);
    for (const bool bans : {false, true}) {
        xf::EngineRequest request;
        request.is_text = true;
        request.text = "abc";
        if (bans) request.options = more;
        engine.submit(std::move(request));
    }
    while (engine.step()) {
    }
    xf::EngineEvent event;
    while (engine.next(0, {}, &event)) CHECK_EQ(event.outcome.hypotheses.at(0).text, event.id == 1 ? plain : other);
    CHECK_FAILS(xf::Decoder(model, more), XF_ERROR_STATE);
}

}  // namespace
