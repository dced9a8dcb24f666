// Compares the search on the device with the one on the host, on the same emulated GPU: identical results for every
// kind of request. Also checks the cost of a request: recorded steps, and one wait per step if there is a constraint.
//
// SPDX-License-Identifier: Apache-2.0
#include "cuda_host/emulated.hpp"
#include "decode/decoding.hpp"
#include "decode/device_search.h"
#include "decode/host_search.h"

namespace {

using namespace xf_test;

// Both searches over one group of sentences.
class Group {
public:
    Group(const std::shared_ptr<const xf::Model> &model, const std::vector<Ids> &sources, int64_t extra)
        : model_(model),
          stream_(model->context().device(), model->dtype()),
          network_(*model, stream_),
          device_(*model, stream_),
          host_(*model, stream_) {
        const Batch batch(sources);
        packed_.load(stream_, model->config(), batch.view(), xf::PackedBatch::Sides::kSource, false);
        for (const Ids &source : sources) limits_.push_back(std::ssize(source) + extra);
    }
    std::vector<xf::SearchTask> tasks(const xf::BeamOptions &beam) const {
        std::vector<xf::SearchTask> tasks(limits_.size());
        for (size_t s = 0; s < tasks.size(); ++s) {
            tasks[s].sentence = static_cast<int64_t>(s);
            tasks[s].beam = beam;
            tasks[s].limit = limits_[s];
        }
        return tasks;
    }
    Answers run(bool on_device, std::vector<xf::SearchTask> tasks) {
        network_.prepare(packed_, xf::PassKind::kInference, false);
        xf::Pass pass{*model_, stream_, call_};
        pass.invariant = true;
        const xf::Num memory = network_.encode(pass, packed_);
        xf::Search &search = on_device ? static_cast<xf::Search &>(device_) : host_;
        search.clear();
        const int64_t row = search.decoder_step().add_sources(packed_.src, memory, call_);
        std::vector<xf::SentenceOutcome> outcomes(tasks.size());
        for (size_t s = 0; s < tasks.size(); ++s) {
            tasks[s].source = xf::DecoderStep::Source::of(packed_.src, static_cast<int64_t>(s), row);
            tasks[s].outcome = &outcomes[s];
        }
        for (const xf::SearchTask &task : tasks) search.add(task);
        while (search.active() > 0) search.step(call_);
        Answers answers;
        for (xf::SentenceOutcome &outcome : outcomes) answers.push_back(std::move(outcome.hypotheses));
        return answers;
    }

private:
    std::shared_ptr<const xf::Model> model_;
    xf::Call call_;
    xf::Stream stream_;
    xf::Transformer network_;
    xf::DeviceSearch device_;
    xf::HostSearch host_;
    xf::PackedBatch packed_;
    std::vector<int64_t> limits_;
};

// Chooses the allowed ids at random, depending on all arguments of the constraint; sometimes none.
using Rule = void(const xf::Partial &);
void at_random(const xf::Partial &partial) {
    uint64_t key = static_cast<uint64_t>(partial.sentence) * 1000 + static_cast<uint64_t>(partial.remaining);
    for (const int32_t id : partial.ids) key = key * 31 + static_cast<uint64_t>(id);
    Draw draw(key);
    partial.allowed[0] &= draw.bits() % 40 == 0 ? 0u : draw.bits() | draw.bits();
}
void never_the_end(const xf::Partial &partial) { partial.allowed[0] &= ~(1u << kEndToken); }
void nothing(const xf::Partial &partial) {
    if (partial.ids.size() > 2) partial.allowed[0] = 0;
}
xf::Constraint for_each(Rule *rule) {
    return [rule](std::span<const xf::Partial> partials) {
        for (const xf::Partial &partial : partials) rule(partial);
    };
}

enum class Begin { kNothing, kSome, kAll, kWhole };  // prefixes; whole: as long as the answer may be

struct Case {
    int64_t beam, n_best, min_tokens;
    double alpha;
    Begin begin;
    Rule *rule;
};
constexpr Case kCases[] = {
    {4, 4, 0, 0.6, Begin::kNothing, nullptr},    {4, 2, 3, 0.6, Begin::kNothing, nullptr},
    {1, 1, 5, 1.0, Begin::kNothing, nullptr},    {4, 4, 0, 0.6, Begin::kSome, nullptr},
    {1, 1, 0, 0.6, Begin::kSome, nullptr},       {5, 3, 6, 0.0, Begin::kAll, nullptr},
    {2, 1, 0, 0.6, Begin::kWhole, nullptr},      {4, 4, 0, 0.6, Begin::kNothing, at_random},
    {1, 1, 0, 0.6, Begin::kNothing, at_random},  {4, 4, 4, 1.0, Begin::kSome, at_random},
    {6, 2, 0, 0.6, Begin::kAll, at_random},      {3, 3, 0, 0.6, Begin::kNothing, never_the_end},
    {4, 1, 2, 0.6, Begin::kSome, never_the_end}, {4, 4, 0, 0.6, Begin::kNothing, nothing},
    {1, 1, 0, 0.6, Begin::kAll, nothing},        {12, 12, 0, 0.6, Begin::kSome, at_random},
};

XF_TEST(the_device_search_matches_the_host_search) {
    Draw draw(11);
    for (const DeviceName &name :
         {DeviceName{"cuda", "auto", true}, {"cuda", "auto", true, "bf16"}, {"cuda", "auto", true, "fp32", false}}) {
        const auto model = make_reverser(open_device(name, 2));
        for (const size_t count : {size_t{1}, size_t{5}}) {
            const bool again = name.bf16() || !name.graphs;  // less of the same
            if (again && count == 1) continue;
            std::vector<Ids> sources;
            for (size_t s = 0; s < count; ++s) sources.push_back(sentence(&draw, 1, 9, kReverserIds));
            Group group(model, sources, 4);
            for (const Case &c : kCases) {
                if (again && (&c - kCases) % 3 != 0) continue;
                Ids prefix_ids;
                std::vector<int64_t> offsets{0};
                for (size_t s = 0; s < count && c.begin != Begin::kNothing; ++s) {
                    const auto limit = static_cast<int64_t>(sources[s].size()) + 4;
                    int64_t length = c.begin == Begin::kWhole ? limit : draw.between(1, limit - 1);
                    if (c.begin == Begin::kSome && s % 2 == 1) length = 0;
                    for (int64_t i = 0; i < length; ++i)
                        prefix_ids.push_back(static_cast<int32_t>(draw.between(2, kReverserIds - 1)));
                    offsets.push_back(std::ssize(prefix_ids));
                }
                const xf::Constraint constraint = for_each(c.rule);
                auto tasks = group.tasks({c.beam, c.n_best, c.alpha});
                for (size_t s = 0; s < count; ++s) {
                    tasks[s].min_tokens = c.min_tokens;
                    if (c.begin != Begin::kNothing)
                        tasks[s].prefix.ids = {prefix_ids.data() + offsets[s], prefix_ids.data() + offsets[s + 1]};
                    if (c.rule != nullptr) tasks[s].constraint = &constraint;
                }
                const Answers host = group.run(false, tasks), device = group.run(true, tasks);
                for (size_t s = 0; s < count; ++s)
                    if (!same(host[s], device[s]))
                        CHECK_EQ("case " + std::to_string(&c - kCases) + ", sentence " + std::to_string(s) + " of " +
                                     std::to_string(count) + " on " + name.text(),
                                 "the host's answer");
            }
        }
    }
}

// Each live hypothesis is asked about once a step, and no other.
XF_TEST(a_constraint_is_called_as_often_as_on_the_host) {
    const auto model = make_reverser(open_device({"cuda", "auto", true}, 1));
    Draw draw(5);
    std::vector<Ids> sources;
    for (int s = 0; s < 5; ++s) sources.push_back(sentence(&draw, 1, 9, kReverserIds));
    Group group(model, sources, 3);
    std::multiset<std::pair<int64_t, Ids>> asked[2];
    for (const bool on_device : {false, true}) {
        const xf::Constraint constraint = [&](std::span<const xf::Partial> partials) {
            for (const xf::Partial &partial : partials) {
                asked[on_device].insert({partial.sentence, Ids(partial.ids.begin(), partial.ids.end())});
                at_random(partial);
            }
        };
        auto tasks = group.tasks({4, 2, 0.6});
        for (xf::SearchTask &task : tasks) task.constraint = &constraint;
        group.run(on_device, tasks);
    }
    CHECK(asked[0].size() > 50);
    CHECK(asked[0] == asked[1]);
}

XF_TEST(restricted_steps_are_recorded_and_rarely_wait) {
    const auto model = make_reverser(open_device({"cuda", "auto", true}, 1));
    xf::Decoder decoder(model, options_of({{"decode.beam", "3"}, {"decode.max_extra_tokens", "20"}}));
    const std::vector<Ids> sources = {{5, 9, 3, 7, 2, 1}, {4, 1}, {12, 2, 7, 1}};
    const Ids prefix_ids(36, 7);
    const std::vector<int64_t> offsets = {0, 12, 24, 36};
    xf::DecodeRequest constrained, prefixed;
    constrained.constraint = for_each(never_the_end);
    prefixed.prefix_ids = prefix_ids.data(), prefixed.prefix_offsets = offsets.data();
    const auto cost = [&](const xf::DecodeRequest &request, const char *what) {
        const int64_t before = get(what);
        decode(&decoder, sources, request);
        return get(what) - before;
    };
    for (const xf::DecodeRequest *request : {&constrained, &prefixed}) {
        cost(*request, "waits");  // memory is had
        CHECK(cost(*request, "graph_launches") > 20);
    }
    // 26 steps of the longest, some that look who is left, and the answers at the end.
    CHECK(cost(constrained, "waits") < 26 + 26 / 2 + 16);
    CHECK(cost(prefixed, "waits") < 26 / 2 + 16);
}

// Kernels that are launched while what came before still runs (cuda/dependent.cuh): with device memory out of reach
// until they have waited, a decoding goes through each of them, at head widths and model widths of either kind.
XF_TEST(no_memory_is_accessed_before_earlier_work_has_ended) {
    set("guard", 1);
    for (const char *precision : {"fp32", "bf16"}) {
        const auto context = open_device({"cuda", "auto", true, precision}, 1);
        for (const Settings &widths : {Settings{},
                                       {{"model.d_model", "64"}, {"model.d_k", "64"}, {"model.d_v", "64"}},
                                       {{"model.d_model", "1032"}}}) {
            Settings settings = kTinyModel;
            for (const auto &[key, value] : widths) settings[key] = value;
            xf::Decoder decoder(make_model(context, settings), options_of({{"decode.max_extra_tokens", "2"}}));
            CHECK_EQ(decode(&decoder, {{5, 9, 3, 1}, {4, 1}}).size(), size_t{2});
        }
    }
    set("guard", 0);
}

}  // namespace
