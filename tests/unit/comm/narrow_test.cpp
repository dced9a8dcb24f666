// Gradients in bf16 (train.reduce_precision): the same bits for any number of ranks, half of the bytes, and nearly the
// same losses. See ranks/shard_sums.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "comm/sharded_runs.hpp"
#include "comm/tree.h"

namespace {

using namespace xf_test;

const Settings kNarrow = {{"train.reduce_precision", "bf16"}};

XF_TEST(any_number_of_ranks_computes_the_same_steps) {
    const Settings full = with(kFull, kNarrow), plain = with(kTraining, kNarrow);
    const Run eight = run(1, full, 8, 1, 5);
    for (const int ranks : {2, 4, 8}) check_same(eight, run(ranks, full, 8, 1, 5), xf::format("8 on %d", ranks));
    const Run six = run(1, plain, 6, 2, 4);
    for (const int ranks : {2, 3, 6}) check_same(six, run(ranks, plain, 6, 2, 4), xf::format("6 on %d", ranks));
    CHECK(eight.curve != run(1, kFull, 8, 1, 5).curve);
}

// The last step of an epoch may have only one shard. Its gradient is not summed and must not be rounded when it is
// sent.
XF_TEST(epochs_end_together_and_resume_with_other_ranks_in_bf16) {
    size_t pairs = 150;
    while (make_batcher(pairs)->batches_in_epoch() % 8 != 1) ++pairs;
    const Run alone = run_epochs(1, 1, "8", "1", kNarrow, pairs);
    CHECK(alone.curve.find("end of epoch") != std::string::npos);
    for (const auto &[before, after] : {std::pair{2, 4}, {8, 1}, {4, 8}})
        check_same(alone, run_epochs(before, after, "8", "1", kNarrow, pairs),
                   xf::format("%d, then %d", before, after));
}

// Returns the number of bytes that rank 0 sends in three steps.
size_t bytes_sent(int ranks, int64_t shards, const Settings &settings) {
    std::vector<size_t> sent(static_cast<size_t>(ranks));
    check_all(on_ranks(ranks,
                       [&](const xf_comm &table) {
                           size_t &bytes = sent[static_cast<size_t>(table.rank)];
                           Tapped tapped(table, [&](auto sends, double) { return bytes += bytes_in(sends), true; });
                           const xf_comm comm = tapped.table();
                           const auto trainer = make_trainer(
                               context_of(comm, 1), with(settings, {{"train.shards", std::to_string(shards)}}));
                           for (int i = 0; i < 3; ++i) step_own(trainer.get(), Task(), shards, comm.rank, ranks, 1);
                       }),
              XF_OK);
    return sent[0];
}

// The formula of docs/guide/ranks.md: half of 4P (R - 1) / R for each tree node of a rank.
XF_TEST(gradients_take_half_the_bytes) {
    const auto total = static_cast<double>(make_trainer(any_device(), kTraining)->model()->table().total);
    for (const auto &[ranks, shards] : {std::pair{2, 8}, {4, 4}, {2, 6}}) {
        const size_t nodes = xf::ShardTree(shards, shards).cover(xf::even_chunk(shards, 0, ranks)).size();
        const double saved = static_cast<double>(bytes_sent(ranks, shards, kTraining)) -
                             static_cast<double>(bytes_sent(ranks, shards, with(kTraining, kNarrow)));
        const double want = 3 * 2 * total * (ranks - 1) / ranks * static_cast<double>(nodes);
        if (std::abs(saved - want) > 0.01 * want)
            record(__FILE__, __LINE__, xf::format("%d ranks save %g bytes, expected %g", ranks, saved, want));
    }
}

// The last losses are within 2% of those with fp32, and well below the first.
XF_TEST(bf16_gradients_reach_the_same_loss) {
    const auto losses = [](const Settings &settings) {
        const auto trainer = make_trainer(any_device(), with(settings, {{"train.shards", "4"}}));
        std::vector<double> all;
        for (int i = 0; i < 120; ++i) {
            std::vector<Batch> batches;
            std::vector<xf_batch> views;
            for (int64_t j = 0; j < 4; ++j) batches.push_back(Task().batch(i % 10 * 4 + j));
            for (const Batch &batch : batches) views.push_back(batch.view());
            const xf::StepStats stats = trainer->step(views.data(), views.size());
            all.push_back(stats.loss_sum / static_cast<double>(stats.tgt_tokens));
        }
        return all;
    };
    const auto mean_of_last = [](const std::vector<double> &all) {
        return std::accumulate(all.end() - 10, all.end(), 0.0) / 10;
    };
    const std::vector<double> wide = losses(kTraining), narrow = losses(with(kTraining, kNarrow));
    std::printf("%.4f, after 120 steps %.4f; in bf16 %.4f\n", wide.front(), mean_of_last(wide), mean_of_last(narrow));
    CHECK(mean_of_last(wide) < 0.9 * wide.front());
    CHECK(std::abs(mean_of_last(narrow) - mean_of_last(wide)) < 0.02 * mean_of_last(wide));
}

}  // namespace
