// Continuous batching on the emulated GPU: sentences with separate options begin and are stopped at any step. After
// each step, the search on the device has the bits of the search on the host. Also checks what admission costs.
// SPDX-License-Identifier: Apache-2.0
#include "cuda_host/emulated.hpp"
#include "decode/decoding.hpp"
#include "decode/device_search.h"
#include "decode/engine.h"
#include "decode/host_search.h"

namespace {

using namespace xf_test;

// Both searches with the same sentences at the same steps.
class Both {
public:
    explicit Both(const std::shared_ptr<const xf::Model> &model)
        : model_(model), stream_(model->context().device(), model->dtype()), network_(*model, stream_) {
        search_.push_back(std::make_unique<xf::HostSearch>(*model, stream_));
        search_.push_back(std::make_unique<xf::DeviceSearch>(*model, stream_));
    }
    void clear() {
        for (const auto &search : search_) search->clear();
    }
    void add(std::span<const Request *const> requests) {
        std::vector<Ids> sources;
        for (const Request *request : requests) sources.push_back(request->source);
        const Batch batch(sources);
        packed_.load(stream_, model_->config(), batch.view(), xf::PackedBatch::Sides::kSource, false);
        network_.prepare(packed_, xf::PassKind::kInference, false);
        xf::Pass pass{*model_, stream_, call_};
        pass.invariant = true;
        const xf::Num memory = network_.encode(pass, packed_);
        int64_t rows[2];
        for (size_t i = 0; i < 2; ++i) rows[i] = search_[i]->decoder_step().add_sources(packed_.src, memory, call_);
        for (size_t s = 0; s < requests.size(); ++s) {
            const Request &r = *requests[s];
            auto &outcomes = outcomes_.emplace_back(std::make_unique<std::array<xf::SentenceOutcome, 2>>());
            for (size_t i = 0; i < 2; ++i)
                search_[i]->add({static_cast<int64_t>(outcomes_.size()), r.beam, r.min_tokens,
                                 std::ssize(r.source) + r.extra, xf::ForcedPrefix{-1, r.prefix}, r.constraint,
                                 xf::DecoderStep::Source::of(packed_.src, static_cast<int64_t>(s), rows[i]),
                                 &(*outcomes)[i]});
        }
    }
    int64_t active() const { return std::max(search_[0]->active(), search_[1]->active()); }
    void step() {
        for (const auto &search : search_)
            if (search->active() > 0) search->step(call_);
    }
    bool ended(size_t sentence) const { return (*outcomes_[sentence])[0].settled(); }
    void stop(size_t sentence) {
        for (size_t i = 0; i < 2; ++i)
            if (!(*outcomes_[sentence])[i].settled()) search_[i]->stop(&(*outcomes_[sentence])[i]);
    }
    bool same_prefix(size_t sentence) const {
        return same({search_[0]->common_prefix(&(*outcomes_[sentence])[0])},
                    {search_[1]->common_prefix(&(*outcomes_[sentence])[1])});
    }
    void compare(const std::string &where) const {
        for (size_t s = 0; s < outcomes_.size(); ++s)
            if (!same((*outcomes_[s])[0].hypotheses, (*outcomes_[s])[1].hypotheses))
                CHECK_EQ("sentence " + std::to_string(s) + where, "the result of the host");
    }
    size_t begun() const { return outcomes_.size(); }
    xf::Search &device() { return *search_[1]; }

private:
    std::shared_ptr<const xf::Model> model_;
    xf::Call call_;
    xf::Stream stream_;
    xf::Transformer network_;
    xf::PackedBatch packed_;
    std::vector<std::unique_ptr<xf::Search>> search_;  // on the host, on the device
    std::vector<std::unique_ptr<std::array<xf::SentenceOutcome, 2>>> outcomes_;
};

XF_TEST(sentences_begin_and_stop_at_any_step) {
    for (const DeviceName &name :
         {DeviceName{"cuda", "auto", true}, {"cuda", "auto", true, "bf16"}, {"cuda", "auto", true, "fp32", false}}) {
        const auto model = make_reverser(open_device(name, 1));
        const bool many = name.graphs && !name.bf16() && !XF_TEST_SANITIZED;
        const std::vector<Request> requests = random_requests(31, many                                ? 60
                                                                  : XF_TEST_SANITIZED && !name.graphs ? 5
                                                                                                      : 15);
        Both both(model);
        both.clear();
        Draw draw(3);
        size_t stopped = 0, prefixes = 0;
        for (size_t next = 0; next < requests.size() || both.active() > 0;) {
            std::vector<const Request *> begin;
            const int64_t count = both.active() > 12 ? 0 : draw.between(0, 5) / 2;
            for (int64_t i = 0; i < count && next < requests.size(); ++i) begin.push_back(&requests[next++]);
            if (!begin.empty()) both.add(begin);
            both.step();
            for (size_t s = 0; s < both.begun(); ++s) {
                if (both.ended(s)) continue;
                if (s % 3 == 0) {
                    CHECK(both.same_prefix(s));
                    ++prefixes;
                }
                if (draw.between(0, 40) != 0) continue;
                both.stop(s);
                ++stopped;
            }
        }
        both.compare(" on " + name.text());
        CHECK(requests.size() < 15 || (stopped > 0 && prefixes > 20));
    }
}

XF_TEST(a_sentence_that_was_added_may_be_stopped_before_its_first_step) {
    const auto model = make_reverser(open_device({"cuda", "auto", true}, 1));
    const std::vector<Request> requests = random_requests(32, 3);
    Both both(model);
    both.clear();
    for (const Request &request : requests) {
        const Request *const one[] = {&request};
        both.add(one);
    }
    CHECK(both.same_prefix(1));
    both.stop(1);
    while (both.active() > 0) both.step();
    both.compare("");
}

// Beams come and go, and the memory of those that are not used is freed.
XF_TEST(lanes_of_unused_beams_are_removed) {
    const auto context = open_device({"cuda", "auto", true}, 1);
    const auto model = make_reverser(context);
    Both both(model);
    both.clear();
    std::vector<Request> requests = random_requests(33, 1);
    int64_t first = 0;
    for (int64_t beam = 1; beam <= 9; ++beam) {
        for (int round = 0; round < (XF_TEST_SANITIZED ? 1 : 2); ++round) {
            requests[0].beam = {beam, 1, 0.6};
            const Request *const one[] = {requests.data()};
            both.add(one);
            both.step();
        }
        while (both.active() > 0) both.step();
        const xf::DecoderStep::Layout layout = both.device().decoder_step().layout();
        if (beam == 4) first = layout.cells;
        if (beam > 4) CHECK(layout.cells <= first * 4);
    }
    both.compare("");
}

struct Cost {
    int64_t launches = get("launches"), graphs = get("graph_launches"), made = get("graphs_made"),
            copies = get("copies"), waits = get("waits");
    Cost since(const Cost &before) const {
        Cost cost = *this;
        cost.launches -= before.launches;
        cost.graphs -= before.graphs;
        cost.made -= before.made;
        cost.copies -= before.copies;
        cost.waits -= before.waits;
        return cost;
    }
};

// The same arrivals four times: the last ones use only recordings that exist.
XF_TEST(admission_records_no_shape_twice) {
    if (XF_TEST_SANITIZED) return;  // it counts calls, of which a sanitizer changes none
    const auto model = make_reverser(open_device({"cuda", "auto", true}, 1));
    std::vector<Request> requests = random_requests(34, 24);
    for (Request &request : requests) request.constraint = nullptr;
    xf::Engine engine({model}, nullptr,
                      options_of({{"engine.thread", "false"}, {"decode.batch_sentences", "6"}, {"decode.beam", "4"}}));
    for (int round = 0; round < 4; ++round) {
        const Cost before;
        Draw draw(7);
        int64_t steps = 0;
        size_t next = 0;
        for (bool more = true; more || next < requests.size(); ++steps) {
            for (int64_t i = draw.between(0, 2); i > 0 && next < requests.size(); --i, ++next) {
                xf::EngineRequest own;
                own.ids = requests[next].source;
                own.options = requests[next].options();
                own.options->set_i64("decode.beam", 4);
                own.options->set_i64("decode.n_best", 1 + static_cast<int64_t>(next % 4));
                engine.submit(std::move(own));
            }
            more = engine.step();
            xf::EngineEvent event;
            while (engine.next(0, xf::Call(), &event)) CHECK_EQ(event.outcome.status, XF_OK);
        }
        const Cost cost = Cost().since(before);
        if (round > 0) CHECK(cost.graphs > 0);
        if (round == 3) {
            CHECK_EQ(cost.made, 0);
            CHECK(cost.graphs * 10 > steps * 8);
        }
    }
}

// Without constraints the host waits every fourth step, and once for each read in which a sentence has ended.
XF_TEST(a_step_is_one_replay_and_rarely_waits) {
    if (XF_TEST_SANITIZED) return;  // it counts calls, of which a sanitizer changes none
    const auto model = make_reverser(open_device({"cuda", "auto", true}, 1));
    xf::Decoder decoder(model, options_of({{"decode.min_tokens", "40"}, {"decode.max_extra_tokens", "30"}}));
    const std::vector<Ids> sources = {{5, 9, 3, 7, 2, 1}, {4, 1}, {12, 2, 7, 1}};
    for (int i = 0; i < 3; ++i) decode(&decoder, sources);
    const Cost before;
    decode(&decoder, sources);
    const Cost cost = Cost().since(before);
    constexpr int64_t kSteps = 36, kEndings = 3;
    CHECK_EQ(cost.made, 0);
    CHECK(cost.graphs >= kSteps && cost.graphs < kSteps + 4);
    CHECK(cost.waits <= kSteps / 4 + 1 + kEndings + 2);
    CHECK(cost.copies <= cost.waits + 3 * kEndings + 12);
}

// Each allocation of device memory fails in turn.
XF_TEST(no_request_is_lost_without_device_memory) {
    const auto model = make_reverser(open_device({"cuda", "auto", true}, 1));
    std::vector<Request> requests = random_requests(35, 4);
    Answers expected;
    for (const Request &request : requests) expected.push_back(request.alone(model));
    int64_t restarts = 0;
    for (int64_t failing = 1;; ++failing) {
        xf::Engine engine({model}, nullptr, options_of({{"engine.thread", "false"}, {"decode.batch_sentences", "4"}}));
        set("malloc_fail_after", failing);
        const auto submit = [&](size_t i) {
            xf::EngineRequest own;
            own.ids = requests[i].source;
            own.prefix_ids = requests[i].prefix;
            own.options = requests[i].options();
            if (requests[i].constraint != nullptr) own.constraint = *requests[i].constraint;
            engine.submit(std::move(own));
        };
        size_t submitted = 0, ended = 0;
        for (bool more = true; more || submitted < requests.size();) {
            if (submitted < requests.size()) submit(submitted++);
            more = engine.step();
            xf::EngineEvent event;
            while (engine.next(0, xf::Call(), &event)) {
                ++ended;
                if (event.outcome.status != XF_ERROR_NO_MEMORY)
                    CHECK(same(event.outcome.hypotheses, expected[event.id - 1]));
            }
        }
        const bool failed = get("malloc_fail_after") == 0;
        set("malloc_fail_after", 0);
        CHECK_EQ(ended, requests.size());
        restarts += engine.stats().restarts;
        if (!failed) break;
        CHECK(failing < 200);
    }
    CHECK(restarts > 0);
}

}  // namespace
