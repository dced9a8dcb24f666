// The engine: each result equals that of a decoder without other requests, and every request gets one last event.
//
// SPDX-License-Identifier: Apache-2.0
#include "decode/engine.h"

#include <poll.h>

#include <cstdlib>
#include <thread>

#include "decode/decoding.hpp"

namespace {

using namespace xf_test;

xf::Options engine_options(const Settings &more = {}) {
    return options_of(with({{"engine.thread", "false"}, {"decode.batch_sentences", "6"}}, more));
}

xf::EngineRequest submission(const Request &request) {
    xf::EngineRequest own;
    own.ids = request.source;
    own.prefix_ids = request.prefix;
    own.options = request.options();
    if (request.constraint != nullptr) own.constraint = *request.constraint;
    return own;
}

// Receives all available events and checks that a result never takes back what a partial event contained.
struct Receiver {
    std::map<uint64_t, xf::SentenceOutcome> results{};
    std::map<uint64_t, uint64_t> hashes{};
    std::map<uint64_t, Ids> certain{};
    std::vector<uint64_t> order{};
    int64_t partial_events = 0;

    static bool begins_with(const Ids &all, const Ids &beginning) {
        return all.size() >= beginning.size() && std::equal(beginning.begin(), beginning.end(), all.begin());
    }
    void receive(xf::Engine *engine, int64_t timeout_ms = 0) {
        xf::EngineEvent event;
        while (engine->next(timeout_ms, xf::Call(), &event)) {
            CHECK(results.count(event.id) == 0);
            const Ids &before = certain[event.id];
            if (event.last) {
                if (!event.outcome.hypotheses.empty()) CHECK(begins_with(event.outcome.hypotheses[0].ids, before));
                hashes[event.id] = event.model_hash;
                order.push_back(event.id);
                results[event.id] = std::move(event.outcome);
                continue;
            }
            ++partial_events;
            const xf::Hypothesis &h = event.outcome.hypotheses.at(0);
            CHECK(h.ids.size() > before.size() && begins_with(h.ids, before));
            CHECK_EQ(h.token_log_probabilities.size(), h.ids.size());
            CHECK(!h.complete && !h.finished && h.alignment.empty());
            certain[event.id] = h.ids;
        }
    }
    void finish(xf::Engine *engine) {
        while (engine->step()) receive(engine);
        receive(engine);
    }
};

int request_count() {
    const char *const count = std::getenv("XF_TEST_REQUESTS");
    return count != nullptr ? std::atoi(count) : XF_TEST_SANITIZED ? 20 : 80;
}

// Random requests arrive between random steps. Some are cancelled.
XF_TEST(requests_have_the_results_they_have_alone) {
    on_each_device(2, [&](const auto &context, const DeviceName &name) {
        const std::vector<Request> requests = random_requests(78, request_count(), true);
        const auto model = make_reverser(context);
        xf::Engine engine({model}, nullptr, engine_options({{"engine.max_requests", "100000"}}));
        Draw draw(6);
        Receiver receiver;
        std::vector<bool> cancelled(requests.size() + 1);
        for (size_t i = 0; i < requests.size();) {
            for (int64_t n = draw.between(0, 4); n > 0 && i < requests.size(); --n, ++i) {
                xf::EngineRequest own = submission(requests[i]);
                own.stream = draw.between(0, 1) == 1;
                own.priority = static_cast<int32_t>(draw.between(-1, 1));
                CHECK_EQ(engine.submit(std::move(own)), i + 1);
                if (draw.between(0, 3) == 0) {
                    const auto id = static_cast<uint64_t>(draw.between(1, static_cast<int64_t>(i) + 1));
                    cancelled[id] = engine.cancel(id) || cancelled[id];
                }
            }
            engine.step();
            receiver.receive(&engine);
        }
        receiver.finish(&engine);
        CHECK_EQ(receiver.results.size(), requests.size());
        int64_t cancellations = 0;
        for (size_t i = 0; i < requests.size(); ++i) {
            const xf::SentenceOutcome &found = receiver.results.at(i + 1);
            if (found.status == XF_ERROR_CANCELLED) {
                CHECK(cancelled[i + 1]);
                ++cancellations;
                continue;
            }
            CHECK_EQ(found.status, XF_OK);
            if (!same(found.hypotheses, requests[i].alone(model)))
                CHECK_EQ("request " + std::to_string(i) + " on " + name.text(), "its result alone");
        }
        CHECK(cancellations > 0);
        CHECK(receiver.partial_events > 0);
        const xf::EngineStats stats = engine.stats();
        CHECK_EQ(stats.completed + stats.cancelled, std::ssize(requests));
        CHECK_EQ(stats.waiting + stats.active + stats.events, int64_t{0});
    });
}

// Each allocation of host memory of the engine fails in turn.
XF_TEST(no_request_is_lost_without_memory) {
    FailingMemory memory;
    const xf_host host = memory.host();
    const auto context = open_device({"cpu:ref", "auto", true}, 1, &host);
    const auto model = make_reverser(context);
    const std::vector<Request> requests = random_requests(79, 9, true);
    Answers expected;
    for (const Request &request : requests) expected.push_back(request.alone(model));
    int64_t restarts = 0;
    for (int64_t failing = 0;; ++failing) {
        xf::Engine engine({model}, nullptr, engine_options());
        memory.count = 0;
        memory.failing = failing;
        for (const Request &request : requests) engine.submit(submission(request));
        Receiver receiver;
        receiver.finish(&engine);
        const bool failed = memory.count > memory.failing;
        memory.failing = -1;
        CHECK_EQ(receiver.results.size(), requests.size());
        for (const auto &[id, found] : receiver.results)
            if (found.status != XF_ERROR_NO_MEMORY) CHECK(same(found.hypotheses, expected[id - 1]));
        restarts += engine.stats().restarts;
        if (!failed) break;
        CHECK(failing < 1000);
    }
    CHECK(restarts > 0);
}

XF_TEST(the_order_follows_priority_and_age) {
    const auto model = make_reverser(any_device());
    xf::Engine engine({model}, nullptr, engine_options({{"decode.batch_sentences", "1"}, {"decode.beam", "1"}}));
    const auto submit = [&](int32_t priority) {
        xf::EngineRequest request;
        request.ids = {4, 5, kEndToken};
        request.priority = priority;
        return engine.submit(std::move(request));
    };
    const uint64_t low = submit(-1), normal = submit(0), high = submit(2);
    Receiver receiver;
    receiver.finish(&engine);
    CHECK((receiver.order == std::vector<uint64_t>{high, normal, low}));
    // A request of low priority does not wait forever, although one of normal priority always waits.
    const uint64_t waiting = submit(-1);
    const int64_t before = engine.stats().steps;
    while (receiver.results.count(waiting) == 0) {
        if (engine.stats().waiting < 2) submit(0);
        engine.step();
        receiver.receive(&engine);
    }
    const int64_t steps = engine.stats().steps - before;
    CHECK(steps > 64 && steps < 64 + 60);  // and the request before it, and its own
}

XF_TEST(a_request_that_ends_early_gets_one_event) {
    const auto model = make_reverser(any_device());
    xf::Engine engine({model}, nullptr, engine_options({{"engine.max_requests", "4"}, {"decode.min_tokens", "30"}}));
    const auto submit = [&](int64_t deadline_ms, const xf::Constraint &constraint, const Ids &ids) {
        xf::EngineRequest request;
        request.ids = ids;
        request.deadline_ms = deadline_ms;
        request.constraint = constraint;
        return engine.submit(std::move(request));
    };
    const Ids ids{4, 5, kEndToken};
    int calls = 0;
    const uint64_t slow = submit(
        1,
        [&](auto) {
            if (++calls == 3) std::this_thread::sleep_for(std::chrono::milliseconds(5));
        },
        ids);
    const uint64_t callback = submit(
        0, [](auto) { xf::fail(XF_ERROR_CALLBACK, "no"); }, ids);
    const uint64_t normal = submit(0, nullptr, ids);
    const uint64_t invalid = submit(0, nullptr, {kReverserIds, kEndToken});
    CHECK_FAILS(submit(0, nullptr, ids), XF_ERROR_BUSY);
    Receiver receiver;
    engine.step();
    const uint64_t unknown = 99;
    CHECK_FAILS(engine.cancel(unknown), XF_ERROR_NOT_FOUND);
    receiver.finish(&engine);
    CHECK_EQ(receiver.results.at(callback).status, XF_ERROR_CALLBACK);
    CHECK_EQ(receiver.results.at(invalid).status, XF_ERROR_OUT_OF_RANGE);
    CHECK_EQ(receiver.results.at(normal).status, XF_OK);
    CHECK(receiver.results.at(normal).hypotheses.at(0).complete);
    // Either it began and has a hypothesis, or the machine was so slow that it did not begin.
    const xf::SentenceOutcome &late = receiver.results.at(slow);
    CHECK(late.status == XF_ERROR_DEADLINE || !late.hypotheses.at(0).complete);
    CHECK(!engine.cancel(normal));
    submit(0, nullptr, ids);
    const uint64_t expired = submit(1, nullptr, ids);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    receiver.finish(&engine);
    CHECK_EQ(receiver.results.at(expired).status, XF_ERROR_DEADLINE);
    CHECK_EQ(receiver.results.size(), size_t{6});
}

XF_TEST(cancellations_and_deadlines_take_effect_within_a_step) {
    on_each_device(2, [](const auto &context, const DeviceName &) {
        xf::Engine engine({make_reverser(context)}, nullptr, engine_options({{"decode.min_tokens", "60"}}));
        const auto submit = [&](int64_t deadline_ms) {
            xf::EngineRequest request;
            request.ids = {4, 5, 6, kEndToken};
            request.deadline_ms = deadline_ms;
            return engine.submit(std::move(request));
        };
        const uint64_t cancelled = submit(0), late = submit(2000), other = submit(0);
        Receiver receiver;
        for (int i = 0; i < 3; ++i) engine.step();
        receiver.receive(&engine);
        CHECK(receiver.results.empty());
        CHECK(engine.cancel(cancelled));
        engine.step();
        receiver.receive(&engine);
        CHECK_EQ(receiver.results.at(cancelled).status, XF_ERROR_CANCELLED);
        std::this_thread::sleep_for(std::chrono::milliseconds(2100));
        engine.step();
        receiver.receive(&engine);
        const xf::SentenceOutcome &cut = receiver.results.at(late);
        CHECK_EQ(cut.status, XF_OK);
        CHECK_EQ(cut.hypotheses.at(0).ids.size(), size_t{5});
        CHECK(!cut.hypotheses[0].complete);
        receiver.finish(&engine);
        CHECK(receiver.results.at(other).hypotheses.at(0).complete);
    });
}

XF_TEST(a_prefix_is_checked) {
    const auto model = make_reverser(any_device());
    xf::Engine engine({model}, nullptr, engine_options());
    const auto status_of = [&](int32_t id) {
        xf::EngineRequest request;
        request.ids = {4, 5, kEndToken};
        request.prefix_ids = {id};
        const uint64_t number = engine.submit(std::move(request));
        Receiver receiver;
        receiver.finish(&engine);
        return receiver.results.at(number).status;
    };
    CHECK_EQ(status_of(kReverserIds - 1), XF_OK);
    for (const int32_t wrong : {int32_t{kReverserIds}, kEndToken, -1})
        CHECK_EQ(status_of(wrong), XF_ERROR_OUT_OF_RANGE);
}

XF_TEST(requests_end_with_the_model_they_began_with) {
    const auto context = any_device();
    const auto first = make_reverser(context);
    const auto second = make_model(context, kReverser);  // untrained
    CHECK(first->hash() != second->hash());
    CHECK_EQ(first->hash(), make_reverser(context)->hash());
    xf::Engine engine({first}, nullptr, engine_options());
    const std::vector<Request> requests = random_requests(80, 12);
    Receiver receiver;
    for (size_t i = 0; i < requests.size(); ++i) {
        engine.submit(submission(requests[i]));
        engine.step();
        receiver.receive(&engine);
        if (i == 5) engine.set_models({second}, nullptr);
    }
    CHECK(!first->usage().begin(true));
    receiver.finish(&engine);
    CHECK(first->usage().begin(true));  // the engine has released it
    first->usage().end(true);
    for (size_t i = 0; i < requests.size(); ++i) {
        const bool late = receiver.hashes.at(i + 1) == second->hash();
        CHECK(late || receiver.hashes.at(i + 1) == first->hash());
        CHECK(i <= 5 || late);
        CHECK(same(receiver.results.at(i + 1).hypotheses, requests[i].alone(late ? second : first)));
    }
    CHECK_EQ(engine.stats().models, int64_t{1});
}

XF_TEST(a_waiting_request_is_checked_for_the_model_that_decodes_it) {
    const auto context = any_device();
    const auto first = make_reverser(context);
    const auto smaller =
        make_model(context, with(kReverser, {{"model.source_vocab_size", "8"}, {"model.tie", "decoder"}}));
    // A later model may be at the address of an earlier one.
    for (int swaps = 1; swaps <= 6; ++swaps) {
        xf::Engine engine({first}, nullptr, engine_options());
        xf::EngineRequest request;
        request.ids = {12, kEndToken};
        const uint64_t id = engine.submit(std::move(request));
        for (int i = 0; i < swaps; ++i) engine.set_models({smaller}, nullptr);
        Receiver receiver;
        receiver.finish(&engine);
        CHECK_EQ(receiver.results.at(id).status, XF_ERROR_OUT_OF_RANGE);
        CHECK_EQ(receiver.hashes.at(id), uint64_t{0});
    }
}

XF_TEST(partial_texts_have_whole_characters) {
    const auto tokenizer = byte_tokenizer();
    Ids spelled;
    tokenizer->encode("\u00E4\u20AC\U0001F600!", &spelled);
    const auto model = make_model(any_device(), with(kReverser, {{"model.vocab_size", "258"}}));
    xf::Engine engine({model}, tokenizer, engine_options({{"decode.beam", "1"}}));
    xf::EngineRequest request;
    request.ids = {4, kEndToken};
    request.stream = true;
    request.constraint = [&](std::span<const xf::Partial> partials) {
        for (const xf::Partial &p : partials) {
            const int32_t next = p.ids.size() < spelled.size() ? spelled[p.ids.size()] : kEndToken;
            std::fill(p.allowed.begin(), p.allowed.end(), 0u);
            p.allowed[next / 32] = 1u << next % 32;
        }
    };
    engine.submit(std::move(request));
    std::vector<size_t> sizes;
    xf::EngineEvent event;
    do {
        engine.step();
        while (engine.next(0, xf::Call(), &event)) sizes.push_back(event.outcome.hypotheses.at(0).text.size());
    } while (!event.last);
    CHECK((sizes == std::vector<size_t>{2, 5, 9, 10, 10}));
}

// A tokenizer that writes each text backwards.
class BackwardTokenizer final : public xf::Tokenizer {
public:
    std::string serialize() const override { return bytes_->serialize(); }
    int32_t size() const override { return bytes_->size(); }
    int32_t start_id() const override { return bytes_->start_id(); }
    int32_t end_id() const override { return bytes_->end_id(); }
    const char *kind() const override { return bytes_->kind(); }
    xf::Segmentation segmentation() const override { return bytes_->segmentation(); }
    void encode(std::string_view text, Ids *ids, xf::EncodeScratch *scratch, xf::Sampler *sampler) const override {
        bytes_->encode(text, ids, scratch, sampler);
    }
    std::string decode(const int32_t *ids, size_t count) const override {
        const std::string text = bytes_->decode(ids, count);
        return {text.rbegin(), text.rend()};
    }
    bool decodes_in_parts() const override { return false; }
    std::string piece(int32_t id) const override { return bytes_->piece(id); }
    std::string token_text(int32_t id) const override { return bytes_->token_text(id); }

private:
    const std::shared_ptr<const xf::Tokenizer> bytes_ = byte_tokenizer();
};

XF_TEST(text_that_later_tokens_change_is_not_streamed) {
    const auto model = make_reverser(any_device());
    const auto partial_events = [&](const std::shared_ptr<const xf::Tokenizer> &tokenizer) {
        xf::Engine engine({model}, tokenizer, engine_options({{"decode.beam", "1"}, {"decode.min_tokens", "6"}}));
        xf::EngineRequest request;
        request.ids = {4, 5, 6, kEndToken};
        request.stream = true;
        engine.submit(std::move(request));
        Receiver receiver;
        receiver.finish(&engine);
        CHECK_EQ(receiver.results.at(1).hypotheses.size(), size_t{1});
        return receiver.partial_events;
    };
    CHECK(partial_events(byte_tokenizer()) > 0);
    CHECK_EQ(partial_events(std::make_shared<BackwardTokenizer>()), int64_t{0});
    const xf::TokenizerPair pair(byte_tokenizer(), std::make_shared<BackwardTokenizer>());
    CHECK(!pair.decodes_in_parts());
}

XF_TEST(models_are_refused) {
    const auto context = any_device();
    const auto model = make_reverser(context);
    xf::Engine engine({model}, nullptr,
                      engine_options({{"decode.min_tokens", "40"}, {"decode.batch_sentences", "16"}}));
    CHECK_FAILS(engine.set_models({make_model(context, with(kReverser, {{"model.vocab_size", "14"}}))}, nullptr),
                XF_ERROR_INVALID_ARGUMENT);
    CHECK_FAILS(engine.set_models({make_reverser(open_device({"cpu:ref", "auto", true}, 1))}, nullptr),
                XF_ERROR_INVALID_ARGUMENT);
    const auto begin_request = [&] {
        xf::EngineRequest request;
        request.ids = {4, kEndToken};
        engine.submit(std::move(request));
        engine.step();
    };
    for (int earlier = 0; earlier < 7; ++earlier) {
        begin_request();
        engine.set_models({model}, nullptr);
    }
    begin_request();
    CHECK_EQ(engine.stats().models, int64_t{8});
    CHECK_FAILS(engine.set_models({model}, nullptr), XF_ERROR_BUSY);
    Receiver receiver;
    receiver.finish(&engine);
    engine.set_models({model}, nullptr);
    CHECK_EQ(receiver.results.size(), size_t{8});
}

// Four threads submit, two receive, one cancels; the engine has its own thread.
XF_TEST(threads_submit_and_receive) {
    const auto model = make_reverser(any_device());
    const std::vector<Request> requests = random_requests(81, 10);
    Answers expected;
    for (const Request &request : requests) expected.push_back(request.alone(model));
    xf::Engine engine({model}, nullptr, engine_options({{"engine.thread", "true"}}));
    constexpr int64_t kEach = XF_TEST_SANITIZED ? 20 : 60;
    std::atomic<int64_t> ended{0}, cancelled{0}, different{0};
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread)
        threads.emplace_back([&, thread] {
            for (int64_t i = 0; i < kEach; ++i) {
                const size_t at = static_cast<size_t>(i + thread) % requests.size();
                xf::EngineRequest own = submission(requests[at]);
                own.user = &expected[at];
                const uint64_t id = engine.submit(std::move(own));
                if (i % 7 == 0) engine.cancel(id);
            }
        });
    for (int thread = 0; thread < 2; ++thread)
        threads.emplace_back([&] {
            xf::EngineEvent event;
            while (ended < 4 * kEach) {
                if (!engine.next(20, xf::Call(), &event)) continue;
                if (event.outcome.status == XF_ERROR_CANCELLED)
                    ++cancelled;
                else if (!same(event.outcome.hypotheses, *static_cast<Answers::value_type *>(event.user)))
                    ++different;
                ++ended;
            }
        });
    for (std::thread &thread : threads) thread.join();
    CHECK_EQ(ended.load(), 4 * kEach);
    CHECK_EQ(different.load(), int64_t{0});
    CHECK(cancelled.load() <= 4 * (kEach / 7 + 1));
}

XF_TEST(a_descriptor_tells_of_events_and_close_ends_the_wait) {
    const auto model = make_reverser(any_device());
    xf::Engine engine({model}, nullptr, engine_options({{"engine.thread", "true"}}));
    pollfd descriptor{engine.descriptor(), POLLIN, 0};
    CHECK_EQ(poll(&descriptor, 1, 0), 0);
    xf::EngineRequest request;
    request.ids = {4, 5, kEndToken};
    engine.submit(std::move(request));
    CHECK_EQ(poll(&descriptor, 1, 20000), 1);
    xf::EngineEvent event;
    CHECK(engine.next(0, xf::Call(), &event) && event.last);
    CHECK_EQ(poll(&descriptor, 1, 0), 0);
    CHECK(!engine.next(0, xf::Call(), &event));
    CHECK_FAILS(engine.step(), XF_ERROR_STATE);
    std::thread closer([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        engine.close();
    });
    CHECK_FAILS(engine.next(-1, xf::Call(), &event), XF_ERROR_STATE);
    closer.join();
}

}  // namespace
