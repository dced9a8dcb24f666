// Checks of sharded steps: ranks that make different steps get an error, each batch of a step has its own dropout
// masks, every low-precision copy of the parameters is updated, and gradients in bf16 (train.reduce_precision, see
// ranks/shard_sums.h) take half of the bytes and give nearly the same losses.
//
// SPDX-License-Identifier: Apache-2.0
#include "comm/sharded_runs.hpp"
#include "comm/tree.h"
#include "decode/decoder.h"

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
    for (const char *shards : {"1", "2", "8"}) {
        const auto trainer = make_trainer(any_device(), with(kFull, {{"train.shards", shards}}));
        CHECK_NEAR(step(trainer.get(), batches).nll_sum, plain, 1e-9 * plain);
    }
}

// The batches of the ranks are equal, so only the exchanged information differs.
XF_TEST(ranks_that_make_different_steps_are_reported) {
    // Two trainers in one context, of which the ranks step different ones.
    auto ended = check_ranks(2, XF_ERROR_DESYNC, [](const xf_comm &comm) {
        const auto context = context_of(comm, 1);
        const auto one = make_trainer(context, kTraining), other = make_trainer(context, kTraining);
        step_own(one.get(), comm, 2);
        step_own(other.get(), comm, 2);
        step_own(other.get(), comm, 2);
        step_own((comm.rank == 0 ? one : other).get(), comm, 2);
    });
    CHECK_EQ(ended[0].message, std::string("rank 1 has step 2, rank 0 has 1, expected the same on all ranks"));

    ended = check_ranks(2, XF_ERROR_DESYNC, [](const xf_comm &comm) {
        const auto trainer = make_trainer(context_of(comm, 1), kTraining);
        step_own(trainer.get(), comm, 2, 1 + comm.rank);
    });
    CHECK_EQ(ended[1].message,
             std::string("rank 0 has batches per shard 1, rank 1 has 2, expected the same on all ranks"));

    // One rank passes batches, the other a batcher.
    ended = check_ranks(2, XF_ERROR_DESYNC, [](const xf_comm &comm) {
        const auto trainer = make_trainer(context_of(comm, 1), with(kTraining, {{"train.accumulate", "1"}}));
        xf::StepStats stats;
        if (comm.rank == 0) trainer->next(make_batcher(3).get(), &stats);
        if (comm.rank == 1) step_own(trainer.get(), comm, 2);
    });
}

// With bf16, products use a copy of the matrices, which every rank creates from all slices.
XF_TEST(copies_of_the_parameters_have_the_new_values) {
    const Settings bf16 = {{"context.precision", "bf16"}, {"context.device", "cpu:openblas"}};
    const Run alone = run(1, kFull, 4, 1, 6, bf16);
    for (const int ranks : {2, 4}) check_same(alone, run(ranks, kFull, 4, 1, 6, bf16), xf::format("on %d", ranks));
    CHECK(alone.file != run(1, kFull, 4, 1, 6).file);
}

// Evaluates on ranks and returns the bits of the result; *largest: the bytes of the largest message of each rank.
std::string evaluated(int ranks, size_t pairs, const char *divided, std::vector<size_t> *largest) {
    std::vector<std::string> found(static_cast<size_t>(ranks));
    largest->assign(found.size(), 0);
    check_ranks(ranks, XF_OK, [&](const xf_comm &table) {
        const auto r = static_cast<size_t>(table.rank);
        Tapped tapped(table, [&](const Exchange &exchange) {
            for (const xf_comm_part &part : exchange.sends) (*largest)[r] = std::max((*largest)[r], part.size);
            return true;
        });
        const auto trainer = make_trainer(context_of(tapped.table(), 1), kTraining);
        const auto batcher = make_batcher(pairs);
        xf::Options options = options_of({{"decode.divide_evaluation", divided}});
        xf::Decoder decoder(trainer->model(), options);
        const xf::EvalStats stats = decoder.evaluate(batcher.get());
        found[r] = xf::format("%lld %lld %a %a", static_cast<long long>(stats.sentences),
                              static_cast<long long>(stats.tgt_tokens), stats.loss_sum, stats.nll_sum);
        CHECK_EQ(batcher->position().batch, 0);
    });
    for (const std::string &one : found) CHECK_EQ(one, found[0]);
    return found[0];
}

// Each rank sends the losses of the sentences that it has evaluated.
XF_TEST(evaluation_is_divided_among_the_ranks) {
    constexpr size_t kPairs = 1000, kBytes = sizeof(xf::Decoder::SentenceLoss);
    std::vector<size_t> largest;
    for (const size_t pairs : {size_t{1}, kPairs}) {
        const std::string alone = evaluated(1, pairs, "true", &largest);
        CHECK_EQ(evaluated(2, pairs, "false", &largest), alone);
        CHECK_EQ(largest[0] + largest[1], 0u);
        for (const int ranks : {2, 3, 5, 8}) {
            CHECK_EQ(evaluated(ranks, pairs, "true", &largest), alone);
            if (pairs == 1) continue;
            CHECK_EQ(std::accumulate(largest.begin(), largest.end(), size_t{0}), kPairs * kBytes);
            for (const size_t bytes : largest) CHECK(bytes < 2 * kPairs * kBytes / static_cast<size_t>(ranks));
        }
    }
}

XF_TEST(an_error_in_a_divided_evaluation_reaches_all_ranks) {
    check_ranks(3, XF_OK, [](const xf_comm &comm) {
        const auto trainer = make_trainer(context_of(comm, 1), kTraining);
        xf::Options options = options_of({{"decode.divide_evaluation", "true"}});
        xf::Decoder decoder(trainer->model(), options);
        const int32_t flag = 1;
        xf_call call = XF_CALL_INIT;
        call.cancelled = &flag;
        const xf::CancelSource source;
        const xf::Call cancelled(source, call), plain;
        CHECK_REFUSED(decoder.evaluate(make_batcher(50).get(), comm.rank == 1 ? cancelled : plain),
                      comm.rank == 1 ? XF_ERROR_CANCELLED : XF_ERROR_PEER, comm.rank == 1 ? "" : "rank 1: ");
        CHECK_REFUSED(decoder.evaluate(make_batcher(50, comm.rank == 2 ? 4 : 3).get()), XF_ERROR_DESYNC,
                      "rank 2 evaluates other data");
        decoder.evaluate(make_batcher(50).get());
    });
}

const Settings kBf16 = {{"train.reduce_precision", "bf16"}};

// Returns the number of bytes that rank 0 sends in three steps.
size_t bytes_sent(int ranks, int64_t shards, const Settings &settings) {
    std::vector<size_t> sent(static_cast<size_t>(ranks));
    check_ranks(ranks, XF_OK, [&](const xf_comm &table) {
        size_t &bytes = sent[static_cast<size_t>(table.rank)];
        Tapped tapped(table, [&](const Exchange &exchange) { return bytes += bytes_in(exchange.sends), true; });
        const xf_comm comm = tapped.table();
        const auto trainer =
            make_trainer(context_of(comm, 1), with(settings, {{"train.shards", std::to_string(shards)}}));
        for (int i = 0; i < 3; ++i) step_own(trainer.get(), comm, shards);
    });
    return sent[0];
}

// The formula of docs/guide/ranks.md: half of 4P (R - 1) / R for each tree node of a rank.
XF_TEST(gradients_take_half_the_bytes) {
    const auto total = static_cast<double>(make_trainer(any_device(), kTraining)->model()->table().total);
    for (const auto &[ranks, shards] : {std::pair{2, 8}, {4, 4}, {2, 6}}) {
        const size_t nodes = xf::ShardTree(shards, shards).cover(xf::even_chunk(shards, 0, ranks)).size();
        const double saved = static_cast<double>(bytes_sent(ranks, shards, kTraining)) -
                             static_cast<double>(bytes_sent(ranks, shards, with(kTraining, kBf16)));
        const double want = 3 * 2 * total * (ranks - 1) / ranks * static_cast<double>(nodes);
        if (std::abs(saved - want) > 0.01 * want)
            record(__FILE__, __LINE__, xf::format("%d ranks save %g bytes, expected %g", ranks, saved, want));
    }
}

// The last losses are within 2% of those with fp32, and well below the first.
XF_TEST(bf16_gradients_reach_the_same_loss) {
    if (XF_TEST_SANITIZED) return;  // it compares numbers
    const auto losses = [](const Settings &settings) {
        const auto trainer = make_trainer(any_device(), with(settings, {{"train.shards", "4"}}));
        std::vector<double> all;
        for (int i = 0; i < 120; ++i) {
            const xf::StepStats stats = step(trainer.get(), Task().batches(i % 10 * 4, 4));
            all.push_back(stats.loss_sum / static_cast<double>(stats.tgt_tokens));
        }
        return all;
    };
    const auto mean_of_last = [](const std::vector<double> &all) {
        return std::accumulate(all.end() - 10, all.end(), 0.0) / 10;
    };
    const std::vector<double> fp32 = losses(kTraining), bf16 = losses(with(kTraining, kBf16));
    std::printf("%.4f, after 120 steps %.4f; in bf16 %.4f\n", fp32.front(), mean_of_last(fp32), mean_of_last(bf16));
    CHECK(mean_of_last(fp32) < 0.9 * fp32.front());
    CHECK(std::abs(mean_of_last(bf16) - mean_of_last(fp32)) < 0.02 * mean_of_last(fp32));
}

}  // namespace
