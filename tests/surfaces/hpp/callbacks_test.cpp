// Functions of the caller's inside calls: they may throw, and C sees none of it.
//
// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cmath>
#include <csignal>
#include <fstream>
#include <functional>
#include <memory>

#include "check.hpp"
#include "world.hpp"

namespace {

struct Own {
    int number;
};

xformer::Context logging(xformer::LogFunction log, std::int32_t level = XF_LOG_WARNING,
                         const char *device = "cpu:ref") {
    xformer::Host host;
    host.log = std::move(log);
    host.log_level = level;
    return xformer::Context(small_config().set("context.device", device), std::move(host));
}

constexpr const char *kBad = "a\tb\nbad\nworse\nc\td\n";  // the log receives two lines and their number

TEST(log_lines) {
    std::vector<std::string> lines;
    const auto log = [&](const xf_log_line &line) {
        CHECK(line.level <= XF_LOG_WARNING);
        lines.push_back(std::string(line.component) + ": " + line.message);
    };
    const auto context = logging(log);
    const Folder folder;
    std::ofstream(folder / "pairs.tsv") << kBad;
    CHECK(xformer::Corpus::open(context, folder / "pairs.tsv").size() == 2);
    CHECK(lines.size() == 3 && lines[0].substr(0, 6) == "data: ");
    CHECK(lines[0].find("pairs.tsv:2: no tab between source and target") != std::string::npos);
    CHECK(from_text(logging(log, XF_LOG_ERROR), kBad).size() == 2 && lines.size() == 3);
    int creation = 0;
    const auto all = logging([&](const xf_log_line &) { ++creation; }, XF_LOG_INFO);
    CHECK(creation > 0);
}

TEST(a_log_function_that_throws) {
    int lines = 0;
    const auto context = logging([&](const xf_log_line &) { throw Own{++lines}; });
    for (int round = 1; round <= 2; ++round) {
        try {
            from_text(context, kBad);  // its corpus is freed: the leak sanitizer looks
            FAIL("it returned");
        } catch (const Own &own) {
            CHECK(own.number == round && lines == round);  // once a call: lines after the first are not delivered
        }
    }
    // An exception of the callback takes precedence over an error of the call.
    const auto strict = xformer::Config().set("data.strict", true);
    CHECK_THROWS(XF_ERROR_DATA, from_text(context, "bad\n", strict));
    CHECK(lines == 2);
    // C made this call: what its log function throws is dropped, and not kept for the next call from C++.
    xf_corpus *corpus = nullptr;
    CHECK(corpus_from_text(context.get(), nullptr, kBad, 18, &corpus, nullptr) == XF_OK);
    const xformer::Corpus adopted(corpus);
    CHECK(lines == 5 && adopted.size() == 2 && adopted.stats().empty_side == 2);
}

TEST(a_call_within_a_callback) {
    const xformer::Context other(small_config());
    std::size_t inner = 0, last = 9;
    const auto context = logging([&](const xf_log_line &) {
        inner += from_text(other, "a\tb\n").size();
        CHECK_THROWS(XF_ERROR_DATA, from_text(other, ""));
        if (inner == last) throw Own{1};
    });
    CHECK(from_text(context, kBad).size() == 2 && inner == 3);
    // And what a later line throws comes out of the outer call.
    inner = 0, last = 2;
    try {
        from_text(context, kBad);
        FAIL("it returned");
    } catch (const Own &own) {
        CHECK(own.number == 1);
    }
}

// The functions of a host live until the last object of the context has been freed.
TEST(a_host_lives_as_long_as_its_context) {
    const auto alive = std::make_shared<int>(0);
    const auto config = small_config();
    auto context = logging([alive](const xf_log_line &) { ++*alive; });
    CHECK(alive.use_count() == 2);
    const auto corpus = xformer::Corpus::from_pairs(context, kPairs, config);
    auto tokenizer = xformer::Tokenizer::train(context, corpus, config);
    const auto few = xformer::Config(config).set("data.max_tokens", 4);  // longer pairs are left out, and told
    xformer::Context moved(std::move(context));
    { const xformer::Batcher batcher(corpus, tokenizer, few); }
    CHECK(*alive == 1 && alive.use_count() == 2);
    {
        xformer::Corpus own = from_text(moved, kBad);
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
    xformer::Call call;
    call.progress = [&](const xf_progress &progress) {
        CHECK(progress.done >= 0 && progress.done <= progress.total);
        tasks += progress.task;
        throw Own{5};
    };
    const xformer::Model model(w.context, xformer::Config(w.config).set("model.d_model", 64), w.tokenizer);
    xformer::Decoder decoder(model, xformer::Config(w.config).set("decode.batch_sentences", 1));
    try {
        static_cast<void>(decoder.translate(std::vector<std::string>(20000, "one two three four"), {}, call));
        FAIL("it returned");
    } catch (const Own &own) {
        CHECK(own.number == 5 && tasks == "translate");
    }
}

TEST(constraints) {
    World w;
    constexpr std::int32_t kA = 2 + 'a';
    // Translates with a function that is called for each hypothesis.
    const auto held = [&](std::string_view text, const std::function<void(const xformer::Partial &)> &function) {
        const xformer::Constraint constraint([&](const xformer::ConstraintStep &step) {
            for (const xformer::Partial &partial : step) function(partial);
        });
        xformer::DecodeParams params;
        params.constraint = constraint.get();
        return w.decoder.translate({text}, params);
    };
    const std::string free = w.decoder.translate("one two");
    const auto letters = [&](const xformer::Partial &partial) {
        const xformer::TokenSet allowed = partial.allowed;
        CHECK(partial.sentence == 0 && partial.remaining > 0);
        CHECK(allowed.size() == w.tokenizer.size() && allowed.contains(kA));
        allowed.clear();
        CHECK(!allowed.contains(kA));
        allowed.insert(partial.ids.size() < 3 ? kA : kEnd);
    };
    const auto constrained = held("one two", letters);
    CHECK(constrained[0].front().text == "aaa");
    const auto endless = held("one two", [](const xformer::Partial &partial) { partial.allowed.erase(kEnd); });
    CHECK(!endless[0].front().finished);
    try {
        static_cast<void>(held("one two", [](const xformer::Partial &partial) {
            if (partial.ids.size() == 1) throw Own{17};
        }));
        FAIL("it returned");
    } catch (const Own &own) {
        CHECK(own.number == 17);
    }
    CHECK_THROWS(XF_ERROR_OUT_OF_RANGE,
                 held("one two", [](const xformer::Partial &partial) { partial.allowed.insert(1 << 20); }));
    CHECK_THROWS(XF_ERROR_OUT_OF_RANGE,
                 held("one two", [](const xformer::Partial &partial) { (void)partial.allowed.contains(-1); }));
    const auto unrestricted = held("one two", [](const xformer::Partial &) {});
    CHECK(unrestricted[0].front().text == free);
    CHECK(w.decoder.translate("one two") == free);

    // A constraint of C that stops the call.
    xf_constraint stop = XF_CONSTRAINT_INIT;
    stop.function = [](void *, const xf_constraint_step *) -> std::int32_t { return 5; };
    xformer::DecodeParams params;
    params.constraint = &stop;
    CHECK_THROWS(XF_ERROR_CALLBACK, w.decoder.translate("one two", params));
}

TEST(cancel_tokens_and_deadlines) {
    World w;
    xformer::CancelToken token;
    xformer::Call call;
    call.cancel = &token;
    const std::string expected = w.decoder.translate("one", {}, call);
    CHECK(!token.cancelled());
    token.cancel();
    CHECK(token.cancelled());
    CHECK_THROWS(XF_ERROR_CANCELLED, w.decoder.translate("one", {}, call));
    xformer::Batch batch;
    while (!w.batcher.next(batch)) continue;
    CHECK_THROWS(XF_ERROR_CANCELLED, w.trainer.step(batch, call));
    CHECK(w.trainer.steps() == 0 && w.decoder.translate("one") == expected);
    token.reset();
    CHECK(w.decoder.translate("one", {}, call) == expected);
    call.deadline = std::chrono::milliseconds(1);
    const auto late = w.decoder.translate(std::vector<std::string>(3000, "one two three four"), {}, call);
    CHECK(late.size() == 3000 && late.status(2999).status == XF_ERROR_DEADLINE && late[2999].empty());
}

const xformer::Context *interrupted = nullptr;

TEST(a_cancel_while_nothing_runs_and_from_a_signal) {
    World w;
    w.context.cancel();
    w.train(1);
    CHECK(w.trainer.steps() == 1);
    interrupted = &w.context;
    const auto old = std::signal(SIGUSR1, [](int) { interrupted->cancel(); });
    const xformer::Constraint constraint([](const xformer::ConstraintStep &) { std::raise(SIGUSR1); });
    xformer::DecodeParams params;
    params.constraint = constraint.get();
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
    const auto context = logging([&](const xf_log_line &) { logged->cancel(); });
    logged = &context;
    std::string lines = "bad\n";
    for (int i = 0; i < 100000; ++i) lines += "a\tb\n";
    CHECK_THROWS(XF_ERROR_CANCELLED, from_text(context, lines));
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
    const auto aligning = xformer::Config().set("decode.alignment", true);
    params.config = aligning;
    const auto aligned = w.decoder.translate({" one two"}, params);
    const xformer::Hypothesis &first = aligned[0].front();
    CHECK(first.alignment.size() == first.ids.size() && first.text_ends.size() == first.ids.size());
    CHECK(first.text_ends[first.ids.size() - 1] == first.text.size());
    CHECK(aligned.source_ends(0)[aligned.source_ends(0).size() - 1] == 8);
    CHECK(one[0].front().alignment.empty() && one[0].front().text_ends.empty() && one.source_ends(0).empty());
    const auto mixed = w.decoder.translate({"one", "\xff", "two"});
    CHECK(mixed.status(0).status == XF_OK && mixed.status(0).hypothesis_count == 1);
    CHECK(mixed.status(1).status == XF_ERROR_DATA && mixed.status(1).message[0] != 0);
    CHECK(mixed[1].empty() && !mixed[2].empty());
    CHECK_THROWS(XF_ERROR_DATA, mixed[1].front());
}

}  // namespace
