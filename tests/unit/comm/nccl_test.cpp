// Ranks whose GPUs exchange data through NCCL, with emulated GPUs and a fake NCCL, one GPU per rank. The bits are those
// of any other transport, and every failed exchange is XF_ERROR_PEER on every rank within the timeout plus a second.
//
// SPDX-License-Identifier: Apache-2.0
#include "comm/fake_nccl.h"
#include "comm/sharded_runs.hpp"
#include "comm/tree.h"
#include "cuda_host/emulated.hpp"

namespace {

using namespace xf_test;

template <class Function>
Function fake(const char *name) {
    static void *const library = [] {
        void *const file = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
        XF_CHECK(file != nullptr, XF_ERROR_NOT_FOUND, "%s", dlerror());
        set("devices", 4);
        const auto use = reinterpret_cast<decltype(&xf_fake_nccl_use)>(dlsym(file, "xf_fake_nccl_use"));
        XF_CHECK(use != nullptr, XF_ERROR_NOT_FOUND, "libnccl.so.2 is not the fake");
        use(control<int32_t (*)(void *, int32_t (*)(void *), void *)>("xf_cuda_host_external"));
        return file;
    }();
    return reinterpret_cast<Function>(dlsym(library, name));
}

// Injects a fault until the end of the scope.
struct Fault {
    Fault(const char *what, int32_t rank, int64_t after) { set_fault(what, rank, after); }
    ~Fault() { set_fault(nullptr, 0, 0); }
    static void set_fault(const char *what, int32_t rank, int64_t after) {
        fake<decltype(&xf_fake_nccl_fault)>("xf_fake_nccl_fault")(what, rank, after);
    }
};

int64_t bytes_of_fake() { return fake<decltype(&xf_fake_nccl_bytes)>("xf_fake_nccl_bytes")(); }

const Settings kHost = {{"context.device", "cuda:#"}};
const Settings kNccl = {{"context.device", "cuda:#"}, {"context.comm", "nccl"}};

XF_TEST(the_steps_equal_those_through_the_host) {
    bytes_of_fake();
    const int64_t steps = 2;
    const auto total = static_cast<double>(make_trainer(any_device(), kTraining)->model()->table().total);
    for (const bool bf16 : {false, true}) {
        const Settings settings = with(kFull, {{"train.reduce_precision", bf16 ? "bf16" : "fp32"}});
        for (const auto &[shards, ranks] : {std::pair{4, 2}, {4, 4}, {6, 2}}) {
            const Run one = run(1, settings, shards, 1, steps, kHost);
            CHECK_EQ(bytes_of_fake(), 0);
            check_same(one, run(ranks, settings, shards, 1, steps, kNccl), xf::format("%d on %d", shards, ranks));
            // All gradients and parameters are sent through NCCL; see docs/guide/ranks.md.
            const size_t nodes = xf::ShardTree(shards, shards).cover(xf::even_chunk(shards, 0, ranks)).size();
            const double each_step = static_cast<double>(nodes) * (bf16 ? 2 : 4) + 4;
            const double want = (ranks - 1) * total * (static_cast<double>(steps) * each_step + 4);  // plus the average
            CHECK_EQ(static_cast<double>(bytes_of_fake()), want);
            if (ranks != 4) continue;
            for (const Settings &place : {kHost, kNccl})
                check_same(one, run({4, 2}, settings, shards, 1, steps, place), "two machines of two ranks");
            CHECK(bytes_of_fake() > 0);
        }
        // The machines have different numbers of nodes.
        check_same(run(1, settings, 6, 1, steps, kHost), run({4, 2}, settings, 6, 1, steps, kNccl),
                   "6 on two machines");
        CHECK(bytes_of_fake() > 0);
    }
    check_same(run(2, kFull, 4, 1, 1, kHost), run(2, kFull, 4, 1, 1, kNccl), "by the host");
    check_nothing_lives("at the end");
}

// Runs two ranks or more, one with a fault, with a timeout of one second. Returns how they ended.
std::vector<Ended> run_with(const char *what, int32_t rank, int64_t after, int64_t leaves_at = -1,
                            const Ranks &ranks = 2) {
    constexpr double kTimeout = 1, kStep = 1;  // kStep: time to compute a step on a busy machine
    const Fault fault(what, rank, after);
    const std::string shards = std::to_string(ranks.count);
    std::vector<double> seconds(static_cast<size_t>(ranks.count));
    std::vector<int64_t> completed(seconds.size());
    const auto ended = on_ranks(ranks.count, [&](xf_comm comm) {
        comm.ranks_per_machine = ranks.per_machine;
        const auto context = context_of(comm, 1, "1", kNccl);
        const auto trainer = make_trainer(context, with(kTraining, {{"train.shards", shards}}));
        auto began = std::chrono::steady_clock::now();
        try {
            for (int64_t i = 0; i < 4; ++i) {
                if (comm.rank == rank && i == leaves_at) return;
                began = std::chrono::steady_clock::now();
                step_own(trainer.get(), comm, ranks.count);
                ++completed[static_cast<size_t>(comm.rank)];
            }
        } catch (const xf::Error &) {
            const auto end = std::chrono::steady_clock::now();
            seconds[static_cast<size_t>(comm.rank)] = std::chrono::duration<double>(end - began).count();
            throw;
        }
    });
    // Damaged data is used by no rank, so all fail in the same step.
    if (what == std::string_view("flip"))
        for (const int64_t steps : completed) CHECK_EQ(steps, completed[0]);
    for (const double waited : seconds)
        if (waited > kTimeout + 1 + kStep) record(__FILE__, __LINE__, xf::format("%s: after %.2f s", what, waited));
    std::printf("%s: %.2f s, %.2f s; %s; %s\n", what, seconds[0], seconds[1], ended[0].message.c_str(),
                ended[1].message.c_str());
    return ended;
}

bool says(const Ended &ended, const char *word) { return ended.message.find(word) != std::string::npos; }

XF_TEST(failures_are_errors_on_every_rank_in_time) {
    for (const int64_t after : {0, 1, 2}) check_all(run_with("silent", 1, after), XF_ERROR_PEER);
    for (const int64_t after : {0, 3}) {
        const auto ended = run_with("flip", 1, after);
        check_all(ended, XF_ERROR_PEER);
        CHECK(says(ended[1], "differs from what it sent"));
    }
    // Of two machines: a rank that has received damaged data sends it to another rank, in one of the four exchanges of
    // a step. No rank completes that step.
    for (const int64_t after : {4, 5, 6, 7}) check_all(run_with("flip", 1, after, -1, {4, 2}), XF_ERROR_PEER);
    const auto async = run_with("async", 0, 1);
    check_all(async, XF_ERROR_PEER);
    CHECK(says(async[0], "network error"));
    check_all(run_with("refuse", 1, 2), XF_ERROR_PEER);
    const auto left = run_with("leaves", 1, 0, 2);
    check_all(left, XF_ERROR_PEER, 1);
    check_nothing_lives("after faults");
}

// NCCL could not connect the ranks: the rank with the fault returns its error, and the next call may try again.
XF_TEST(ranks_that_nccl_cannot_connect) {
    const auto usage = run_with("usage", 1, 0);
    CHECK_EQ(usage[1].status, XF_ERROR_BACKEND);
    CHECK_EQ(usage[0].status, XF_ERROR_PEER);
    CHECK(says(usage[1], "invalid usage"));
    const auto id = run_with("id", 0, 0);
    CHECK_EQ(id[0].status, XF_ERROR_BACKEND);
    CHECK(id[1].status == XF_ERROR_PEER && says(id[1], "rank 0: "));
    check_all(run_with("init", 1, 0), XF_ERROR_PEER);
    check_nothing_lives("after faults");
}

XF_TEST(options_that_do_not_fit) {
    const auto context_with = [](const Settings &place) {
        return on_ranks(2, [&](const xf_comm &comm) { context_of(comm, 1, "5", place); });
    };
    const auto cpu = context_with({{"context.comm", "nccl"}});
    check_all(cpu, XF_ERROR_INVALID_ARGUMENT);
    CHECK(says(cpu[0], "transfers memory of cuda devices"));
    const auto absent = context_with(with(kNccl, {{"context.backend_path", XF_TEST_NCCL_ABSENT}}));
    check_all(absent, XF_ERROR_NOT_FOUND);
    CHECK(says(absent[0], "cannot open NCCL: "));
    std::printf("%s\n", absent[0].message.c_str());
    check_ranks(1, XF_OK, [](const xf_comm &comm) { context_of(comm, 1, "5", {{"context.comm", "nccl"}}); });
    const auto odd = check_ranks(2, XF_ERROR_DESYNC, [](const xf_comm &comm) {
        const auto trainer = make_trainer(context_of(comm, 1, "5", comm.rank == 0 ? kNccl : kHost), kTraining);
        step_own(trainer.get(), comm, 2);
    });
    CHECK(says(odd[0], "context.comm"));
}

// Must be the last test, because it leaves work on a stream. Freeing the trainer and its context does not wait.
XF_TEST(an_abort_that_hangs_blocks_no_other_rank) {
    const auto began = std::chrono::steady_clock::now();
    check_all(run_with("stuck", 1, 1), XF_ERROR_PEER);
    CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(6));
}

}  // namespace
