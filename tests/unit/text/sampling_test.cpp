// Random segmentation does not change the text, is a function of its key, and is rejected for other kinds of
// tokenizers. The distribution is tested in sampling_shares_test.cpp.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/sampling.h"

#include "core/failing_new.hpp"
#include "support/test.hpp"
#include "text/sentencepiece/tokenizer.h"
#include "text/stable_log.h"
#include "text_support.hpp"

using namespace xf;
using namespace xf_test;

namespace {

using Ids = std::vector<int32_t>;
std::shared_ptr<const Tokenizer> learnt(TokenizerKind kind) {
    TokenizerOptions options;
    options.kind = kind;
    options.vocab_size = 300;
    options.min_pair_count = 1;
    options.invalid_utf8 = InvalidUtf8::kReplace;
    std::vector<std::string> lines = low_corpus();
    lines.push_back("na\xC3\xAFve \xE4\xB8\xAD\xE6\x96\x87 newest \xE4\xB8\xAD\xE6\x96\x87");
    return train(lines, options);
}

std::vector<std::shared_ptr<const Tokenizer>> all_tokenizers() {
    std::vector<std::shared_ptr<const Tokenizer>> all;
    for (const char *name : kModels) all.push_back(model(name));
    for (const TokenizerKind kind : {TokenizerKind::kBpe, TokenizerKind::kWordPiece, TokenizerKind::kUnigram})
        all.push_back(learnt(kind));
    return all;
}

Ids sample(const Tokenizer &tokenizer, std::string_view text, const Sampling &how, int64_t epoch = 0,
           uint64_t number = 0) {
    Ids ids;
    EncodeScratch scratch;
    Sampler sampler(how, epoch, number);
    tokenizer.encode(text, &ids, &scratch, &sampler);
    return ids;
}

// With "_" for each U+2581.
std::string spaced(std::string names) {
    for (size_t at; (at = names.find(kSpaceSymbol)) != std::string::npos;) names.replace(at, kSpaceSymbol.size(), "_");
    return names;
}

}  // namespace

XF_TEST(a_large_alpha_selects_the_best_segmentation) {
    const auto tokenizer = model("unigram");
    const std::string text = "the quick brown fox jumps over a lazy dog";
    CHECK(sample(*tokenizer, text, {100, 1}) == encode(*tokenizer, text));
    CHECK(sample(*tokenizer, text, {0.1, 1}) != encode(*tokenizer, text));
}

XF_TEST(options_that_are_off_change_nothing) {
    for (const auto &tokenizer : all_tokenizers()) {
        const bool merges = tokenizer->segmentation() == Segmentation::kMerges;
        const bool likelihood = tokenizer->segmentation() == Segmentation::kLikelihood;
        for (const std::string &text : nasty_texts()) {
            const Ids plain = encode(*tokenizer, text);
            CHECK(sample(*tokenizer, text, {0, 1}) == plain);
            if (!merges && !likelihood) CHECK(sample(*tokenizer, text, {0.5, 1}) == plain);
        }
    }
}

XF_TEST(without_any_merge_characters_are_left) {
    const auto tokenizer = learnt(TokenizerKind::kBpe);
    CHECK_EQ(encode(*tokenizer, "lower newest").size(), 2u);
    CHECK_EQ(sample(*tokenizer, "lower newest", {0.9999999, 1}).size(), 13u);  // a space before each word
    const auto other = model("bpe");
    CHECK(encode(*other, "the").size() < 3);
    CHECK_EQ(sample(*other, "the", {0.9999999, 1}).size(), 4u);
}

XF_TEST(text_is_not_changed) {
    std::mt19937 random(5);
    std::vector<std::string> texts = nasty_texts();
    for (const char *text : {"lower newest lowest", "The cat sat on the mat, didn't it?", "na\xC3\xAFve"})
        texts.emplace_back(text);
    for (size_t i = 0; i < 60; ++i) texts.push_back(random_unicode(&random, 1 + random() % 60));
    for (const auto &tokenizer : all_tokenizers()) {
        int others = 0;
        for (size_t i = 0; i < texts.size(); ++i) {
            const Ids plain = encode(*tokenizer, texts[i]);
            for (int64_t epoch = 0; epoch < 6; ++epoch) {
                const Ids drawn = sample(*tokenizer, texts[i], {0.2, 1}, epoch, i);
                CHECK_EQ(decode(*tokenizer, drawn), decode(*tokenizer, plain));
                others += drawn != plain;
            }
        }
        CHECK(tokenizer->segmentation() == Segmentation::kLongestMatch ? others == 0 : others > 5);
    }
}

XF_TEST(a_long_text_is_drawn_too) {
    std::string text, word;
    for (int i = 0; text.size() < 200000; ++i) text += (i % 3 == 0 ? "the" : i % 7 == 0 ? " newer " : "lowest ");
    word.assign(100000, 'e');
    for (const auto &tokenizer : all_tokenizers())
        for (const std::string &one : {text, word}) {
            const Ids drawn = sample(*tokenizer, one, {0.1, 1});
            CHECK(decode(*tokenizer, drawn) == decode(*tokenizer, encode(*tokenizer, one)));
        }
}

XF_TEST(a_draw_depends_only_on_its_position) {
    const std::string text = "lower newest lower newest lower newest";
    for (const auto kind : {TokenizerKind::kBpe, TokenizerKind::kUnigram}) {
        const auto tokenizer = learnt(kind);
        const Sampling how{0.2, 5};
        const Ids first = sample(*tokenizer, text, how, 2, 9);
        CHECK(sample(*tokenizer, text, how, 2, 9) == first);
        int same = 0;
        for (int i = 0; i < 8; ++i) {
            const auto bit = static_cast<unsigned>(i) * 7;  // the high bits also matter
            same += sample(*tokenizer, text, how, 2 ^ int64_t{1} << bit, 9) == first;
            same += sample(*tokenizer, text, how, 2, 9 ^ uint64_t{1} << bit) == first;
            same += sample(*tokenizer, text, {0.2, 5 ^ uint64_t{1} << bit}, 2, 9) == first;
        }
        CHECK(same <= 2);
    }
}

XF_TEST(any_allocation_may_fail) {
    const std::string text = "the lower newest the na\xC3\xAFve \xE4\xB8\xAD\xE6\x96\x87 lowest";
    const Sampling how{0.2, 1};
    for (const auto &tokenizer : all_tokenizers()) {
        const Ids expected = sample(*tokenizer, text, how);
        const int count = fail_each_new([&] {
            Ids ids;
            EncodeScratch scratch;
            Sampler sampler(how, 0, 0);
            const bool failed = xf_test::out_of_memory([&] { tokenizer->encode(text, &ids, &scratch, &sampler); });
            CHECK_EQ(failed, new_plan.failed);
            CHECK(failed ? ids.empty() : ids == expected);
        });
        CHECK(count > 5);
    }
}

// A change of these values would change the results of every resumed run.
XF_TEST(the_random_numbers_are_unchanged) {
    Sampler sampler({0.5, 1}, 3, 12345678901);
    uint64_t digest = 0;
    double mean = 0;
    for (int i = 0; i < 1000; ++i) {
        const double x = sampler.uniform();
        CHECK(x >= 0 && x < 1);
        mean += x / 1000;
        digest = digest * 31 + static_cast<uint64_t>(x * 9007199254740992.0) + (sampler.drop() ? 1 : 0);
    }
    CHECK_NEAR(mean, 0.5, 0.05);
    CHECK_EQ(digest, 746485025537893352u);
    const std::string text = "the quick brown fox jumps over a lazy dog";
    const auto name = [&](const Tokenizer &tokenizer) {
        return joined(sample(tokenizer, text, {0.2, 1}, 1, 2), [&](int32_t id) { return tokenizer.piece(id); });
    };
    CHECK_EQ(spaced(name(*model("unigram"))),
             "_the|_|q|u|ic|k|_|b|r|o|w|n|_|f|o|x|_|j|um|p|s|_|o|v|e|r|_|a|_|l|a|z|y|_|d|o|g");
    CHECK_EQ(spaced(name(*model("bpe"))), "_the|_|q|u|ic|k|_b|ro|w|n|_f|o|x|_|j|um|p|s|_o|ver|_|a|_|la|z|y|_d|og");
}

XF_TEST(a_tokenizer_that_cannot_sample_is_rejected) {
    const auto message = [](double value, const Tokenizer *tokenizer, xf_status status) {
        const xf_test::CallOutcome found = xf_test::outcome_of([&] { Sampling{value, 1}.check(tokenizer); });
        if (found.status != XF_OK) CHECK_EQ(found.status, status);
        return found.message;
    };
    const auto accepted = [&](double value, const Tokenizer *tokenizer) {
        return message(value, tokenizer, XF_OK).empty();
    };
    const auto bpe = learnt(TokenizerKind::kBpe), unigram = learnt(TokenizerKind::kUnigram),
               wordpiece = learnt(TokenizerKind::kWordPiece), other_bpe = model("bpe"), other = model("unigram");
    for (const auto &tokenizer : all_tokenizers()) CHECK(accepted(0, tokenizer.get()));
    CHECK(accepted(0, nullptr));
    for (const auto &tokenizer : {bpe, other_bpe}) CHECK(accepted(0.99, tokenizer.get()));
    for (const auto &tokenizer : {unigram, other}) CHECK(accepted(100, tokenizer.get()));
    CHECK_EQ(message(1, other_bpe.get(), XF_ERROR_OUT_OF_RANGE),
             "option 'data.sampling' is 1 for a tokenizer of the kind sentencepiece-bpe, expected a probability below "
             "1");
    CHECK_EQ(message(0.2, wordpiece.get(), XF_ERROR_INVALID_ARGUMENT),
             "option 'data.sampling' is 0.2 for a tokenizer of the kind wordpiece, expected 0, or BPE or unigram on at "
             "least one side");
    CHECK_EQ(message(0.1, nullptr, XF_ERROR_INVALID_ARGUMENT),
             "option 'data.sampling' is 0.1 for a corpus of ids, expected 0");

    // One side of a pair that supports sampling is enough.
    const TokenizerPair mixed(bpe, unigram), with_bpe(wordpiece, bpe), with_unigram(wordpiece, unigram),
        neither(wordpiece, wordpiece);
    CHECK(accepted(0.5, &mixed));
    CHECK(accepted(0.5, &with_bpe));
    CHECK(accepted(2, &with_unigram));
    CHECK(message(2, &mixed, XF_ERROR_OUT_OF_RANGE).find("kind bpe") != std::string::npos);
    CHECK(!message(0.5, &neither, XF_ERROR_INVALID_ARGUMENT).empty());
}

XF_TEST(exponentials_and_logarithms_are_accurate) {
    for (double x = 0; x > -600; x -= 0.0371) CHECK_NEAR(stable_exp(x) / std::exp(x), 1, 1e-12);
    CHECK_EQ(stable_exp(0), 1.0);
    CHECK_EQ(stable_exp(-701), 0.0);
    CHECK_EQ(stable_exp(-INFINITY), 0.0);
    for (double x = 1e-6; x < 1e6; x *= 1.37) CHECK_NEAR(stable_log(x), std::log(x), 1e-11);
    for (double x = 1e-300; x < 1e300; x *= 7.3)
        CHECK_NEAR(stable_log(x), std::log(x), 1e-10 * std::fabs(std::log(x)) + 1e-13);
    CHECK_EQ(stable_log(1), 0.0);
}
