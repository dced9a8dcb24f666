// Recorded calls on the emulated GPU: when calls are recorded, which recordings give way, and that batches of sentences
// as they are in a corpus share few of them.
//
// SPDX-License-Identifier: Apache-2.0
#include "backend/graph_cache.h"

#include <random>

#include "cuda_host/emulated.hpp"
#include "data/batcher.h"
#include "nn/fixture.hpp"

namespace {

using namespace xf_test;

constexpr DeviceName kCuda = {"cuda", "auto", true};

// Sixteen bytes of the device, and a call that clears them.
struct Work {
    explicit Work(const std::shared_ptr<xf::Context> &context)
        : held(context), stream(context->device()), bytes(context->device(), 16) {}
    void run(int64_t key) {
        cache.run(stream, key, [&] {
            ++calls;
            stream.zero(bytes.data(), 16);
        });
    }
    std::shared_ptr<xf::Context> held;
    xf::Stream stream;
    xf::Buffer bytes;
    xf::GraphCache<int64_t> cache;
    int64_t calls = 0;
};

XF_TEST(calls_are_recorded_at_the_third_use) {
    Work work(open_device(kCuda, 1));
    const int64_t launches = get("graph_launches");
    for (int use = 1; use <= 6; ++use) {
        work.run(7);
        CHECK_EQ(work.calls, std::min(use, 3));
        CHECK_EQ(get("graph_launches") - launches, std::max(0, use - 2));
        CHECK_EQ(get("live_graphs"), use >= 3 ? 1 : 0);
    }
}

// A budget that has no room for a graph: the calls are made one by one.
XF_TEST(without_memory_for_a_graph_work_continues) {
    const auto plenty = open_device(kCuda, 1);
    {
        Work work(plenty);
        work.run(7);
    }
    const xf::Options options = options_of(
        {{"context.device", "cuda"}, {"context.memory_budget", std::to_string(plenty->heap().peak() + 4096)}});
    Work work(std::make_shared<xf::Context>(options, nullptr));
    for (int use = 1; use <= 6; ++use) {
        work.run(7);
        CHECK_EQ(work.calls, use == 3 ? 4 : use > 3 ? use + 1 : use);  // recorded once in vain
        CHECK_EQ(get("live_graphs"), 0);
    }
    work.stream.sync();
}

// A library or a driver that cannot be recorded: one attempt for each key and one warning, then the calls one by one.
XF_TEST(calls_that_cannot_be_recorded_are_made_one_by_one) {
    std::vector<std::pair<int32_t, std::string>> lines;
    xf_host host = XF_HOST_INIT;
    host.log_user = &lines, host.log_level = XF_LOG_WARNING;
    host.log = [](void *user, const xf_log_line *line) {
        static_cast<decltype(lines) *>(user)->emplace_back(line->level, line->message);
    };
    Work work(open_device(kCuda, 1, &host));
    const int64_t launches = get("graph_launches");
    for (const int64_t key : {7, 8}) {
        work.calls = 0;
        for (int use = 1; use <= 6; ++use) {
            set("capture_fail_after", use == 3 ? 1 : 0);
            work.run(key);
            CHECK_EQ(work.calls, use < 3 ? use : use + 1);  // recorded once in vain
        }
    }
    set("capture_fail_after", 0);
    work.stream.sync();
    CHECK_EQ(get("live_graphs"), 0);
    CHECK_EQ(get("graph_launches"), launches);
    CHECK_EQ(lines.size(), size_t{1});
    if (lines.empty()) return;
    CHECK_EQ(lines[0].first, int32_t{XF_LOG_WARNING});
    CHECK(lines[0].second.find("cannot be recorded") != std::string::npos);
    for (int use = 1; use <= 3; ++use) work.run(9);  // what can be recorded still is
    CHECK_EQ(get("live_graphs"), 1);
}

// A call that is cancelled while it is recorded does not run a second time.
XF_TEST(a_cancelled_recording_ends_the_call) {
    Work work(open_device(kCuda, 1));
    const auto cancelled = [&] {
        ++work.calls;
        throw xf::Error(XF_ERROR_CANCELLED, "cancelled");
    };
    for (int use = 1; use <= 2; ++use) work.run(7);
    CHECK_FAILS(work.cache.run(work.stream, 7, cancelled), XF_ERROR_CANCELLED);
    CHECK_EQ(work.calls, 3);
    work.run(7);
    CHECK_EQ(get("live_graphs"), 1);
}

XF_TEST(the_least_recently_used_recording_is_replaced) {
    constexpr auto kMost = static_cast<int64_t>(xf::GraphCache<int64_t>::kMaxKeys);
    {
        Work work(open_device(kCuda, 1));
        for (int64_t key = 0; key < kMost; ++key)
            for (int use = 0; use < 3; ++use) work.run(key);
        CHECK_EQ(get("live_graphs"), kMost);
        work.run(0);  // 1 is the oldest now
        for (int64_t key = kMost; key < kMost + 100; ++key) {
            work.run(key);
            work.run(0);
        }
        CHECK_EQ(get("live_graphs"), kMost - 100);
        work.calls = 0;
        work.run(0);
        for (int64_t key = 101; key < kMost; ++key) work.run(key);
        CHECK_EQ(work.calls, 0);
        work.run(100);
        CHECK_EQ(work.calls, 1);
    }
    CHECK_EQ(get("live_graphs"), 0);
}

// Lengths are drawn as those of an English-German corpus are spread in pieces of 37,000 (mean 13.8, one pair in 13,600
// above 128). Real ones give 82 shapes where these give about as many.
std::shared_ptr<xf::EncodedCorpus> corpus(int64_t pairs, int32_t V) {
    auto made = std::make_shared<xf::EncodedCorpus>();
    std::mt19937 random(5);
    const auto normal = [&] {  // std::normal_distribution differs between libraries
        double sum = -6;
        for (int i = 0; i < 12; ++i) sum += static_cast<double>(random()) / 4294967296.0;
        return sum;
    };
    for (int64_t i = 0; i < pairs; ++i) {
        const double src = std::exp(2.36 + 0.7 * normal()), tgt = src * std::exp(0.07 + 0.19 * normal());
        for (int side = 0; side < 2; ++side) {
            auto &ids = side == 0 ? made->src_ids : made->tgt_ids;
            const auto length = static_cast<size_t>(std::clamp(side == 0 ? src : tgt, 2.0, 200.0));
            for (size_t j = 1; j < length; ++j)
                ids.push_back(static_cast<int32_t>(random() % static_cast<uint32_t>(V)));
            ids.push_back(1);
            (side == 0 ? made->src_offsets : made->tgt_offsets).push_back(static_cast<int64_t>(ids.size()));
        }
        made->corpus_index.push_back(i);
    }
    return made;
}

XF_TEST(batches_of_real_lengths_share_few_recordings) {
    constexpr int32_t kVocabulary = 5000;
    const auto pairs = corpus(150000, kVocabulary);
    const xf::ModelConfig config =
        xf::ModelConfig::from(options_of({{"model.vocab_size", std::to_string(kVocabulary)}}));
    struct Want {
        int64_t batch_tokens;
        bool recorded;
    };
    for (const Want want : {Want{4096, true}, Want{25000, false}}) {
        xf::BatcherOptions options;
        options.batch_tokens = want.batch_tokens;
        xf::Batcher batcher(pairs, options);
        const auto context = open_device(kCuda, 1);
        xf::Stream stream(context->device());
        xf::PackedBatch packed;
        xf::GraphCache<xf::PackedBatch::Shape> cache;
        std::set<xf::PackedBatch::Shape> shapes;
        xf::Batch b;
        int64_t batches = 0, calls = 0, sentences = 0, padded = 0, tokens = 0, rows = 0;
        for (int epoch = 0; epoch < (want.recorded ? 3 : 1); ++epoch)
            for (; batcher.next(&b); ++batches) {
                packed.load(stream, config,
                            {sizeof(xf_batch), b.size(), b.src_ids.data(), b.src_offsets.data(), b.tgt_ids.data(),
                             b.tgt_offsets.data(), b.pair_index.data(), nullptr, 0},
                            xf::PackedBatch::Sides::kBoth, true);
                CHECK_EQ(packed.recordable(), want.recorded);
                sentences += packed.sentences, padded += packed.B;
                tokens += packed.src.tokens + packed.tgt.tokens, rows += packed.src.rows + packed.tgt.rows;
                if (!want.recorded) continue;
                shapes.insert(packed.shape());
                cache.run(stream, packed.shape(), [&] { ++calls; });
            }
        const double replayed = 1 - static_cast<double>(calls) / static_cast<double>(batches);
        std::printf(
            "%lld tokens: %lld batches, %zu shapes, %.1f %% replayed, %.2f times the sentences, %.2f %% more rows\n",
            static_cast<long long>(want.batch_tokens), static_cast<long long>(batches), shapes.size(),
            want.recorded ? 100 * replayed : 0, static_cast<double>(padded) / static_cast<double>(sentences),
            100 * (static_cast<double>(rows) / static_cast<double>(tokens) - 1));
        CHECK(rows * 1000 <= tokens * (want.recorded ? 1025 : 1008));
        CHECK(padded <= sentences * (want.recorded ? 3 : 2));
        if (!want.recorded) continue;
        CHECK(shapes.size() <= 113);
        CHECK(replayed >= 0.8);
    }
}

}  // namespace
