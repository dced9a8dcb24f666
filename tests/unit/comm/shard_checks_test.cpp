// Checks of sharded steps: ranks that make different steps get an error, each batch of a step has its own dropout
// masks, and every low-precision copy of the parameters is updated.
//
// SPDX-License-Identifier: Apache-2.0
#include "comm/sharded_runs.hpp"

namespace {

using namespace xf_test;

// Returns the first batches of an epoch.
std::vector<Batch> batches_of(size_t pairs, size_t count) {
    std::vector<Batch> batches;
    const auto batcher = make_batcher(pairs);
    for (xf::Batch gathered; batches.size() < count && batcher->next(&gathered);) {
        const xf_batch view = gathered.view();
        Pairs copy;
        for (int64_t i = 0; i < view.sentences; ++i) {
            copy.src.emplace_back(view.src_ids + view.src_offsets[i], view.src_ids + view.src_offsets[i + 1]);
            copy.tgt.emplace_back(view.tgt_ids + view.tgt_offsets[i], view.tgt_ids + view.tgt_offsets[i + 1]);
        }
        batches.emplace_back(copy);
    }
    return batches;
}

// The losses of the first step precede any update, so they depend only on the dropout masks.
XF_TEST(each_batch_of_a_step_has_its_own_dropout) {
    constexpr size_t kBatches = 8;
    const auto first_step = [&](const char *shards, const char *each) {
        const auto trainer =
            make_trainer(any_device(), with(kFull, {{"train.shards", shards}, {"train.accumulate", each}}));
        xf::StepStats stats;
        trainer->next(make_batcher(150).get(), &stats);
        CHECK(stats.tgt_tokens > 100);
        return stats.nll_sum;
    };
    const double plain = first_step("1", "8");
    CHECK_NEAR(first_step("8", "1"), plain, 1e-9 * plain);
    CHECK_NEAR(first_step("4", "2"), plain, 1e-9 * plain);
    CHECK_NEAR(first_step("2", "4"), plain, 1e-9 * plain);
    CHECK(std::fabs(first_step("8", "1") - first_step("1", "7")) > 1e-3 * plain);

    const std::vector<Batch> batches = batches_of(150, kBatches);
    std::vector<xf_batch> views;
    for (const Batch &batch : batches) views.push_back(batch.view());
    for (const char *shards : {"1", "2", "8"}) {
        const auto trainer = make_trainer(any_device(), with(kFull, {{"train.shards", shards}}));
        CHECK_NEAR(trainer->step(views.data(), views.size()).nll_sum, plain, 1e-9 * plain);
    }
}

// The batches of the ranks are equal, so only the exchanged information differs.
XF_TEST(ranks_that_make_different_steps_are_reported) {
    // Two trainers in one context, of which the ranks step different ones.
    auto ended = on_ranks(2, [](const xf_comm &comm) {
        const auto context = context_of(comm, 1);
        const auto one = make_trainer(context, kTraining), other = make_trainer(context, kTraining);
        step_own(one.get(), Task(), 2, comm.rank, 2, 1);
        step_own(other.get(), Task(), 2, comm.rank, 2, 1);
        step_own(other.get(), Task(), 2, comm.rank, 2, 1);
        step_own((comm.rank == 0 ? one : other).get(), Task(), 2, comm.rank, 2, 1);
    });
    check_all(ended, XF_ERROR_DESYNC);
    CHECK_EQ(ended[0].message, std::string("rank 1 has step 2, rank 0 has 1, expected the same on all ranks"));

    ended = on_ranks(2, [](const xf_comm &comm) {
        const auto trainer = make_trainer(context_of(comm, 1), kTraining);
        step_own(trainer.get(), Task(), 2, comm.rank, 2, 1 + comm.rank);
    });
    check_all(ended, XF_ERROR_DESYNC);
    CHECK_EQ(ended[1].message,
             std::string("rank 0 has batches per shard 1, rank 1 has 2, expected the same on all ranks"));

    // One rank passes batches, the other a batcher.
    ended = on_ranks(2, [](const xf_comm &comm) {
        const auto trainer = make_trainer(context_of(comm, 1), with(kTraining, {{"train.accumulate", "1"}}));
        xf::StepStats stats;
        if (comm.rank == 0) trainer->next(make_batcher(3).get(), &stats);
        if (comm.rank == 1) step_own(trainer.get(), Task(), 2, comm.rank, 2, 1);
    });
    check_all(ended, XF_ERROR_DESYNC);
}

// With bf16, products use a copy of the matrices, which every rank creates from all slices.
XF_TEST(copies_of_the_parameters_have_the_new_values) {
    const Settings bf16 = {{"context.precision", "bf16"}, {"context.device", "cpu:openblas"}};
    const Run alone = run(1, kFull, 4, 1, 6, bf16);
    for (const int ranks : {2, 4}) check_same(alone, run(ranks, kFull, 4, 1, 6, bf16), xf::format("on %d", ranks));
    CHECK(alone.file != run(1, kFull, 4, 1, 6).file);
}

}  // namespace
