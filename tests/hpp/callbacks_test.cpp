// Functions of the caller's inside calls: they may throw, and C sees none of it.
//
// SPDX-License-Identifier: Apache-2.0
#include <csignal>

#include "check.hpp"
#include "world.hpp"

namespace {

struct Own {
    int number;
};

constexpr const char *kBad = "a\tb\nbad\nworse\nc\td\n";  // two lines are told to the log, and that they are two

TEST(log_lines) {
    xformer::Context context(small_config());
    std::vector<std::string> lines;
    context.set_log([&](xf_log_level level, std::string_view component, std::string_view message) {
        CHECK(level == XF_LOG_WARNING);
        lines.push_back(std::string(component) + ": " + std::string(message));
    });
    CHECK(xformer::Corpus::from_text(context, kBad, {}, "text").size() == 2);
    CHECK(lines.size() == 3 && lines[0] == "data: text:2: no tab between source and target");
    context.set_log([&](xf_log_level, std::string_view, std::string_view) { lines.emplace_back(); }, XF_LOG_ERROR);
    CHECK(xformer::Corpus::from_text(context, kBad).size() == 2 && lines.size() == 3);
    context.set_log({});
    CHECK(xformer::Corpus::from_text(context, kBad).size() == 2 && lines.size() == 3);
}

TEST(a_log_function_that_throws) {
    xformer::Context context(small_config());
    int lines = 0;
    context.set_log([&](xf_log_level, std::string_view, std::string_view) { throw Own{++lines}; });
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
    xformer::Context context(small_config()), other(small_config());
    std::size_t inner = 0;
    context.set_log([&](xf_log_level, std::string_view, std::string_view) {
        inner += xformer::Corpus::from_text(other, "a\tb\n").size();
        CHECK_THROWS(XF_ERROR_DATA, xformer::Corpus::from_text(other, ""));
    });
    CHECK(xformer::Corpus::from_text(context, kBad).size() == 2 && inner == 3);
    // And what a later line throws comes out of the outer call.
    inner = 0;
    context.set_log([&](xf_log_level, std::string_view, std::string_view) {
        inner += xformer::Corpus::from_text(other, "a\tb\n").size();
        if (inner == 2) throw Own{1};
    });
    try {
        xformer::Corpus::from_text(context, kBad);
        FAIL("it returned");
    } catch (const Own &own) {
        CHECK(own.number == 1);
    }
}

TEST(a_log_ends_with_its_context) {
    int lines = 0;
    const auto count = [&](xf_log_level, std::string_view, std::string_view) { ++lines; };
    const auto config = small_config();
    auto context = std::make_unique<xformer::Context>(config);
    context->set_log(count);
    const auto corpus = xformer::Corpus::from_pairs(*context, kPairs, config);
    const auto tokenizer = xformer::Tokenizer::train(*context, corpus, config);
    const auto few = xformer::Config(config).set("data.max_tokens", 4);  // longer pairs are left out, and told
    xformer::Batcher(corpus, tokenizer, few);
    CHECK(lines == 1);

    xformer::Context moved(std::move(*context));
    xformer::Batcher(corpus, tokenizer, few);
    CHECK(lines == 2 && context->get() == nullptr);
    *context = std::move(moved);
    xformer::Batcher(corpus, tokenizer, few);
    CHECK(lines == 3);

    // Another's place is taken: the corpus goes on without the old log function.
    *context = xformer::Context(config);
    xformer::Batcher(corpus, tokenizer, few);
    CHECK(lines == 3);
    context->set_log(count);
    const auto second = xformer::Corpus::from_pairs(*context, kPairs, config);
    context.reset();
    xformer::Batcher(second, tokenizer, few);
    CHECK(lines == 3);

    xformer::Context given(config);
    given.set_log(count);
    const xformer::Context taken(given.release());
    CHECK(given.get() == nullptr && xformer::Corpus::from_text(taken, kBad).size() == 2 && lines == 3);
}

TEST(constraints) {
    World w;
    constexpr std::int32_t kA = 2 + 'a';
    w.decoder.set_constraint([&](const xf_prefix &prefix, xformer::TokenSet allowed) {
        CHECK(allowed.size() == w.tokenizer.size() && allowed.contains(kA));
        allowed.clear();
        CHECK(!allowed.contains(kA));
        allowed.insert(prefix.length < 3 ? kA : XF_TOKEN_END);
    });
    CHECK(w.decoder.translate("one two") == "aaa");
    xformer::Decoder moved = std::move(w.decoder);
    CHECK(moved.translate("two") == "aaa");

    moved.set_constraint([&](const xf_prefix &, xformer::TokenSet allowed) { allowed.erase(XF_TOKEN_END); });
    const auto endless = moved.translate({"one two"});
    CHECK(!endless[0].front().finished);
    moved.set_constraint([](const xf_prefix &prefix, xformer::TokenSet) {
        if (prefix.length == 1) throw Own{17};
    });
    try {
        moved.translate("one two");
        FAIL("it returned");
    } catch (const Own &own) {
        CHECK(own.number == 17);
    }
    moved.set_constraint([](const xf_prefix &, xformer::TokenSet allowed) { allowed.insert(1 << 20); });
    CHECK_THROWS(XF_ERROR_OUT_OF_RANGE, moved.translate("one two"));
    moved.set_constraint([](const xf_prefix &, xformer::TokenSet allowed) { (void)allowed.contains(-1); });
    CHECK_THROWS(XF_ERROR_OUT_OF_RANGE, moved.translate("one two"));
    xformer::Decoder taken(moved.release());  // without its constraint
    const std::string free = taken.translate("one two");
    taken.set_constraint([](const xf_prefix &, xformer::TokenSet) {});
    CHECK(taken.translate("one two") == free);
    taken.set_constraint({});
    CHECK(taken.translate("one two") == free);

    // One of C, which asks to stop.
    const auto stop = [](void *, const xf_prefix *, std::uint32_t *) -> std::int32_t { return 5; };
    xf_decode_params params XF_DECODE_PARAMS_INIT;
    params.constraint = stop;
    const char *const text = "one two";
    xf_hypotheses *none = nullptr;
    CHECK(xf_translate(taken.get(), &text, nullptr, 1, &params, &none, nullptr) == XF_ERROR_CALLBACK && !none);
}

const xformer::Context *interrupted = nullptr;

TEST(a_cancel_while_nothing_runs_and_from_a_signal) {
    World w;
    w.context.cancel();
    w.train(1);
    CHECK(w.trainer.steps() == 1);
    interrupted = &w.context;
    const auto old = std::signal(SIGUSR1, [](int) { interrupted->cancel(); });
    w.decoder.set_constraint([&](const xf_prefix &, xformer::TokenSet) { std::raise(SIGUSR1); });
    try {
        w.decoder.translate("one");
        FAIL("it returned");
    } catch (const xformer::Cancelled &error) {
        CHECK(error.native_code() == 0);
    }
    std::signal(SIGUSR1, old);
    w.train(1);
    CHECK(w.trainer.steps() == 2);
    // From the log function of the context itself.
    w.context.set_log([&](xf_log_level, std::string_view, std::string_view) { w.context.cancel(); });
    std::string lines = "bad\n";
    for (int i = 0; i < 100000; ++i) lines += "a\tb\n";
    CHECK_THROWS(XF_ERROR_CANCELLED, xformer::Corpus::from_text(w.context, lines));
}

}  // namespace
