// Threads: exceptions of each thread, and ranks.
//
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <fstream>
#include <thread>

#include "check.hpp"
#include "world.hpp"

namespace {

// An exception in the log function of a thread is thrown from the call of that thread.
TEST(each_thread_gets_its_own_exception) {
    xformer::Host host;
    host.log = [](const xf_log_line &line) { throw std::string(line.message); };
    const xformer::Context context(small_config(), std::move(host));
    const Folder folder;
    std::atomic<int> right{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            const std::string name = "thread" + std::to_string(t);
            const auto path = folder / name.c_str();
            std::ofstream(path) << "bad\na\tb\n";
            for (int i = 0; i < 50; ++i) try {
                    xformer::Corpus::open(context, path);
                } catch (const std::string &thrown) {
                    if (thrown.find(name) != std::string::npos) ++right;
                }
        });
    for (std::thread &thread : threads) thread.join();
    CHECK(right == 200);
}

// A model trained by two ranks is that of one; what a context took it closes, what none took is closed with its Comm.
TEST(ranks_are_threads) {
    World w;
    const auto config = small_config().set("train.shards", 2);
    const auto train = [&](xformer::Comm *comm) {
        xformer::Host host;
        if (comm != nullptr) host.comm = *comm;
        const xformer::Context context(config, host);
        const bool alone = comm == nullptr;
        CHECK(alone || !*comm);
        const auto corpus = xformer::Corpus::from_pairs(context, kPairs, config);
        xformer::Batcher batcher(corpus, w.tokenizer, config);
        const xformer::Model model(context, config, w.tokenizer);
        xformer::Trainer trainer(model, config);
        xf_step_stats stats = XF_STEP_STATS_INIT;
        for (int i = 0; i < 5;) i += trainer.next(batcher, stats) ? 1 : 0;
        std::vector<std::int64_t> expected{10};
        if (!alone) expected.push_back(11);
        CHECK(context.info().rank_count == static_cast<std::int32_t>(expected.size()));
        CHECK(xformer::all_gather(context, 10 + context.info().rank) == expected);
        return stats.loss;
    };
    std::vector<xformer::Comm> ranks = xformer::Comm::loopback(2);
    CHECK(ranks.size() == 2 && ranks[1].get().rank == 1 && ranks[1].get().size == 2);
    std::vector<double> losses(2);
    std::vector<std::thread> threads;
    for (std::size_t r = 0; r < 2; ++r) threads.emplace_back([&, r] { losses[r] = train(&ranks[r]); });
    for (std::thread &thread : threads) thread.join();
    const double alone = train(nullptr);
    CHECK(alone > 0 && losses[0] == alone && losses[1] == alone);

    int closed = 0;
    xf_comm table = XF_COMM_INIT;
    table.user = &closed;
    table.size = 2;  // and no function that moves messages
    table.close = [](void *count) { ++*static_cast<int *>(count); };
    {
        xformer::Comm first(table), second(std::move(first));
        xformer::Host host;
        host.comm = second;
        CHECK_THROWS(XF_ERROR_INVALID_ARGUMENT, xformer::Context(config, host));
        CHECK(closed == 0);
        first = std::move(second);
        CHECK(closed == 0);
    }
    CHECK(closed == 1);
    CHECK_THROWS(XF_ERROR_OUT_OF_RANGE, xformer::Comm::loopback(0));
    CHECK_THROWS(XF_ERROR_OUT_OF_RANGE, xformer::Comm::loopback(1025));
}

}  // namespace
