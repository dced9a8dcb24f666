// Functions of the caller's inside calls: they may throw, and C sees none of it.
//
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <csignal>
#include <memory>

#include "check.hpp"
#include "world.hpp"

namespace {

struct Own {
    int number;
};

xformer::Context logging(xformer::LogFunction log, xf_log_level level = XF_LOG_WARNING,
                         const char *device = "cpu:ref") {
    xformer::Host host;
    host.log = std::move(log);
    host.log_level = level;
    return xformer::Context(small_config().set("context.device", device), std::move(host));
}

constexpr const char *kBad = "a\tb\nbad\nworse\nc\td\n";  // two lines are told to the log, and that they are two

TEST(log_lines) {
    std::vector<std::string> lines;
    const auto log = [&](xf_log_level level, std::string_view component, std::string_view message) {
        CHECK(level <= XF_LOG_WARNING);
        lines.push_back(std::string(component) + ": " + std::string(message));
    };
    const auto context = logging(log);
    CHECK(xformer::Corpus::from_text(context, kBad, {}, "text").size() == 2);
    CHECK(lines.size() == 3 && lines[0] == "data: text:2: no tab between source and target");
    CHECK(xformer::Corpus::from_text(logging(log, XF_LOG_ERROR), kBad).size() == 2 && lines.size() == 3);
    int creation = 0;
    const auto all = logging([&](xf_log_level, std::string_view, std::string_view) { ++creation; }, XF_LOG_INFO);
    CHECK(creation > 0);
}

TEST(a_log_function_that_throws) {
    int lines = 0;
    const auto context = logging([&](xf_log_level, std::string_view, std::string_view) { throw Own{++lines}; });
    for (int round = 1; round <= 2; ++round) {
        try {
            xformer::Corpus::from_text(context, kBad);  // its corpus is freed: the leak sanitizer looks
            FAIL("it returned");
        } catch (const Own &own) {
            CHECK(own.number == round && lines == round);  // once a call: lines after the first are not delivered
        }
    }
    // What was thrown comes before an error of the call.
    const auto strict = xformer::Config().set("data.strict", true);
    CHECK_THROWS(XF_ERROR_DATA, xformer::Corpus::from_text(context, "bad\n", strict));
    CHECK(lines == 2);
    // C made this call: what its log function throws is dropped, and not kept for the next call from C++.
    xf_corpus *corpus = nullptr;
    CHECK(xf_corpus_from_memory(context.get(), nullptr, "c", kBad, 18, &corpus, nullptr) == XF_OK);
    const xformer::Corpus adopted(corpus);
    CHECK(lines == 5 && adopted.size() == 2 && adopted.stats().bad_columns == 2);
}

TEST(a_call_within_a_callback) {
    const xformer::Context other(small_config());
    std::size_t inner = 0, last = 9;
    const auto context = logging([&](xf_log_level, std::string_view, std::string_view) {
        inner += xformer::Corpus::from_text(other, "a\tb\n").size();
        CHECK_THROWS(XF_ERROR_DATA, xformer::Corpus::from_text(other, ""));
        if (inner == last) throw Own{1};
    });
    CHECK(xformer::Corpus::from_text(context, kBad).size() == 2 && inner == 3);
    // And what a later line throws comes out of the outer call.
    inner = 0, last = 2;
    try {
        xformer::Corpus::from_text(context, kBad);
        FAIL("it returned");
    } catch (const Own &own) {
        CHECK(own.number == 1);
    }
}

// A host's functions live until the last object of the context is gone, whoever holds it then.
TEST(a_host_lives_as_long_as_its_context) {
    const auto alive = std::make_shared<int>(0);
    const auto config = small_config();
    auto context = logging([alive](xf_log_level, std::string_view, std::string_view) { ++*alive; });
    CHECK(alive.use_count() == 2);
    const auto corpus = xformer::Corpus::from_pairs(context, kPairs, config);
    auto tokenizer = xformer::Tokenizer::train(context, corpus, config);
    const auto few = xformer::Config(config).set("data.max_tokens", 4);  // longer pairs are left out, and told
    xformer::Context moved(std::move(context));
    { const xformer::Batcher batcher(corpus, tokenizer, few); }
    CHECK(*alive == 1 && alive.use_count() == 2);
    {
        xformer::Corpus own = xformer::Corpus::from_text(moved, kBad);
        CHECK(*alive == 4);
        moved = xformer::Context(config);
        CHECK(alive.use_count() == 2);  // its objects still need it
    }
    {
        const xformer::Context adopted(logging([alive](auto &&...) {}).release());
    }
    CHECK(alive.use_count() == 2);
    CHECK_THROWS(XF_ERROR_NOT_FOUND, logging([alive](auto &&...) {}, XF_LOG_INFO, "cpu:none"));
    CHECK(alive.use_count() == 2);
}

TEST(progress) {
    World w;
    std::string tasks;
    xformer::Host host;
    host.progress = [&](std::string_view task, std::int64_t done, std::int64_t total) {
        CHECK(done >= 0 && done <= total);
        tasks += task;
        throw Own{5};
    };
    const xformer::Context context(small_config(), std::move(host));
    const xformer::Model model(context, xformer::Config(w.config).set("model.d_model", 64), w.tokenizer);
    xformer::Decoder decoder(model, xformer::Config(w.config).set("decode.batch_sentences", 1));
    try {
        static_cast<void>(decoder.translate(std::vector<std::string>(20000, "one two three four")));
        FAIL("it returned");
    } catch (const Own &own) {
        CHECK(own.number == 5 && tasks == "translate");
    }
}

TEST(constraints) {
    World w;
    constexpr std::int32_t kA = 2 + 'a';
    const auto held = [](xformer::Constraint constraint) {
        xformer::DecodeParams params;
        params.constraint = std::move(constraint);
        return params;
    };
    const std::string free = w.decoder.translate("one two");
    const auto letters = held([&](const xf_prefix &prefix, xformer::TokenSet allowed) {
        CHECK(allowed.size() == w.tokenizer.size() && allowed.contains(kA));
        allowed.clear();
        CHECK(!allowed.contains(kA));
        allowed.insert(prefix.length < 3 ? kA : XF_TOKEN_END);
    });
    CHECK(w.decoder.translate("one two", letters) == "aaa" && w.decoder.translate("two", letters) == "aaa");
    const auto endless = w.decoder.translate(
        {"one two"}, held([](const xf_prefix &, xformer::TokenSet allowed) { allowed.erase(XF_TOKEN_END); }));
    CHECK(!endless[0].front().finished);
    try {
        w.decoder.translate("one two", held([](const xf_prefix &prefix, xformer::TokenSet) {
                                if (prefix.length == 1) throw Own{17};
                            }));
        FAIL("it returned");
    } catch (const Own &own) {
        CHECK(own.number == 17);
    }
    const auto above = held([](const xf_prefix &, xformer::TokenSet allowed) { allowed.insert(1 << 20); });
    CHECK_THROWS(XF_ERROR_OUT_OF_RANGE, w.decoder.translate("one two", above));
    const auto below = held([](const xf_prefix &, xformer::TokenSet allowed) { (void)allowed.contains(-1); });
    CHECK_THROWS(XF_ERROR_OUT_OF_RANGE, w.decoder.translate("one two", below));
    CHECK(w.decoder.translate("one two", held([](const xf_prefix &, xformer::TokenSet) {})) == free);
    CHECK(w.decoder.translate("one two") == free);

    // One of C, which asks to stop.
    const auto stop = [](void *, const xf_prefix *, std::uint32_t *) -> std::int32_t { return 5; };
    xf_decode_params params XF_DECODE_PARAMS_INIT;
    params.constraint = stop;
    const char *const text = "one two";
    xf_hypotheses *none = nullptr;
    CHECK(xf_translate(w.decoder.get(), &text, nullptr, 1, &params, &none, nullptr) == XF_ERROR_CALLBACK && !none);
}

const xformer::Context *interrupted = nullptr;

TEST(a_cancel_while_nothing_runs_and_from_a_signal) {
    World w;
    w.context.cancel();
    w.train(1);
    CHECK(w.trainer.steps() == 1);
    interrupted = &w.context;
    const auto old = std::signal(SIGUSR1, [](int) { interrupted->cancel(); });
    xformer::DecodeParams params;
    params.constraint = [](const xf_prefix &, xformer::TokenSet) { std::raise(SIGUSR1); };
    try {
        w.decoder.translate("one", params);
        FAIL("it returned");
    } catch (const xformer::Cancelled &error) {
        CHECK(error.native_code() == 0);
    }
    std::signal(SIGUSR1, old);
    w.train(1);
    CHECK(w.trainer.steps() == 2);
    // From the log function of the context itself.
    const xformer::Context *logged = nullptr;
    const auto context = logging([&](xf_log_level, std::string_view, std::string_view) { logged->cancel(); });
    logged = &context;
    std::string lines = "bad\n";
    for (int i = 0; i < 100000; ++i) lines += "a\tb\n";
    CHECK_THROWS(XF_ERROR_CANCELLED, xformer::Corpus::from_text(context, lines));
}

TEST(parameters_of_a_call) {
    World w;
    w.train(100);
    xformer::DecodeParams params;
    const std::vector<std::string_view> prefixes = {"zwei", ""};
    params.prefixes = prefixes;
    const auto begun = w.decoder.translate({"one two", "one"}, params);
    CHECK(begun[0].front().text.substr(0, 4) == "zwei" && begun[1].front().text == w.decoder.translate("one"));
    CHECK(begun[0].front().complete && begun[0].front().token_log_probabilities.size() >= 1);
    double sum = 0;
    for (const float value : begun[0].front().token_log_probabilities) sum += value;
    CHECK(std::fabs(sum - begun[0].front().log_probability) < 1e-4);
    CHECK_THROWS(XF_ERROR_INVALID_ARGUMENT, w.decoder.translate({"one"}, params));
    const auto more = xformer::Config().set("decode.n_best", 2);
    params = {};
    params.config = more;
    const auto two = w.decoder.translate({"one"}, params), one = w.decoder.translate({"one"});
    CHECK(two[0].size() == 2 && one[0].size() == 1);
    const auto mixed = w.decoder.translate({"one", "\xff", "two"});
    xf_error error;
    CHECK(mixed.status(0) == XF_OK && mixed.status(1, &error) == XF_ERROR_DATA && error.message[0] != 0);
    CHECK(mixed[1].empty() && !mixed[2].empty());
    CHECK_THROWS(XF_ERROR_DATA, mixed[1].front());
    w.decoder.cancel(), w.trainer.cancel();  // nothing runs
    CHECK(w.decoder.translate({"one"}).status(0) == XF_OK);
}

}  // namespace
