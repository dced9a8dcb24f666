// Sharded training as documented in train.h: the bits of a step depend on the number of shards and not on the number of
// ranks. Compares loss curves and checkpoints for different numbers of ranks and threads, at the ends of epochs, and
// after a resume with other ranks. Also tests the errors of all ranks if one rank fails, differs, or exits.
//
// SPDX-License-Identifier: Apache-2.0
#include "comm/sharded_runs.hpp"
#include "ranks/slices.h"

namespace {

using namespace xf_test;

XF_TEST(any_number_of_ranks_computes_the_same_steps) {
    const Run eight = run(1, kFull, 8, 1, 6);
    for (const int ranks : {2, 4, 8}) check_same(eight, run(ranks, kFull, 8, 1, 6), xf::format("8 on %d", ranks));
    const Run six = run(1, kTraining, 6, 2, 4);
    for (const int ranks : {2, 3, 6}) check_same(six, run(ranks, kTraining, 6, 2, 4), xf::format("6 on %d", ranks));
    CHECK(six.curve != run(1, kTraining, 12, 1, 4).curve);
}

// One shard, with a comm of one rank and without a comm, is the same as an unsharded step.
XF_TEST(one_shard_equals_a_single_step) {
    const Run one = run(1, kFull, 1, 1, 3);
    const TempFolder folder;
    const auto trainer = make_trainer(any_device(), with(kFull, {{"train.shards", "1"}}));
    std::string curve;
    for (int i = 0; i < 3; ++i) curve += step_own(trainer.get(), Task(), 1, 0, 1, 1);
    save(trainer.get(), folder / "final");
    check_same(one, {curve, bytes_of(folder / "final"), params_of(*trainer->average())}, "a comm of one");
}

// Without a comm, shards give the same bits as with ranks, and nearly the parameters of an unsharded step.
XF_TEST(shards_without_ranks) {
    const TempFolder folder;
    const auto trainer = make_trainer(any_device(3), with(kFull, {{"train.shards", "8"}}));
    std::string curve;
    for (int i = 0; i < 6; ++i) curve += step_own(trainer.get(), Task(), 8, 0, 1, 1);
    save(trainer.get(), folder / "final");
    check_same(run(4, kFull, 8, 1, 6), {curve, bytes_of(folder / "final"), params_of(*trainer->average())}, "no comm");

    const auto plain =
        make_trainer(any_device(), with(kTraining, {{"train.dropout", "0"}, {"train.attention_dropout", "0"}}));
    const auto cut = make_trainer(
        any_device(),
        with(kTraining, {{"train.dropout", "0"}, {"train.attention_dropout", "0"}, {"train.shards", "5"}}));
    step_own(plain.get(), Task(), 1, 0, 1, 5);
    step_own(cut.get(), Task(), 5, 0, 1, 1);
    const std::vector<float> a = params_of(*plain), b = params_of(*cut);
    for (size_t i = 0; i < a.size(); ++i)
        if (std::abs(a[i] - b[i]) > 2e-5f) return record(__FILE__, __LINE__, xf::format("%zu: %a %a", i, a[i], b[i]));
    Batch batch = Task().batch(0);
    CHECK_FAILS(cut->accumulate(batch.view()), XF_ERROR_STATE);
}

XF_TEST(epochs_end_together_and_resume_with_other_ranks) {
    const Run alone = run_epochs(1, 1, "4", "2");
    CHECK(alone.curve.find("end of epoch") != std::string::npos);
    check_same(alone, run_epochs(2, 4, "4", "2"), "2, then 4");
    check_same(alone, run_epochs(4, 1, "4", "2"), "4, then 1");
    check_same(run_epochs(1, 3, "6", "1"), run_epochs(3, 2, "6", "1"), "6 shards");
}

XF_TEST(ranks_that_differ_are_rejected) {
    const auto start = [](const Settings &odd, int64_t steps_before) {
        return on_ranks(3, [&](const xf_comm &comm) {
            const auto trainer = make_trainer(context_of(comm, 1), comm.rank == 1 ? odd : kTraining);
            for (int64_t i = 0; i < 1 + (comm.rank == 1 ? steps_before : 0); ++i)
                step_own(trainer.get(), Task(), 3, comm.rank, 3, 1);
        });
    };
    for (const auto &[key, value] : Settings{{"model.seed", "5"}, {"train.seed", "5"}, {"train.learning_rate", "2"}}) {
        const auto ended = start(with(kTraining, {{key, value}}), 0);
        check_all(ended, XF_ERROR_DESYNC);
        CHECK(ended[0].message.find("rank 1 has different ") == 0);
    }
    CHECK_FAILS(make_trainer(any_device(), with(kTraining, {{"train.shards", "70000"}})), XF_ERROR_OUT_OF_RANGE);
    check_all(on_ranks(2,
                       [](const xf_comm &comm) {
                           make_trainer(context_of(comm, 1), with(kTraining, {{"train.shards", "3"}}));
                       }),
              XF_ERROR_INVALID_ARGUMENT);
    // A different corpus on one rank.
    const auto ended = on_ranks(2, [](const xf_comm &comm) {
        const auto trainer = make_trainer(context_of(comm, 1), kTraining);
        const auto batcher = make_batcher(100, comm.rank == 1 ? 4 : 3);
        xf::StepStats stats;
        trainer->next(batcher.get(), &stats);
    });
    check_all(ended, XF_ERROR_DESYNC);
}

// The ranks resume from different checkpoints, so their slices must not be saved to one file, or averaged.
XF_TEST(ranks_at_different_positions_do_not_save) {
    const TempFolder folder;
    const auto ended = on_ranks(2, [&](const xf_comm &comm) {
        const auto context = context_of(comm, 1);
        const auto trainer = make_trainer(context, kFull);
        for (int i = 0; i < 2; ++i) {
            step_own(trainer.get(), Task(), 2, comm.rank, 2, 1);
            save(trainer.get(), folder / std::to_string(i));
        }
        const auto resumed = resume(context, folder / std::to_string(comm.rank));
        CHECK_FAILS(resumed->average(), XF_ERROR_DESYNC);
        save(resumed.get(), folder / "1");
    });
    check_all(ended, XF_ERROR_DESYNC);
    CHECK(ended[0].message == "rank 1 has a different step than rank 0");
    CHECK_EQ(xf::ModelFile(folder / "1").require("step"), "2");
}

XF_TEST(a_flipped_bit_of_one_rank_is_detected) {
    const auto ended = on_ranks(3, [](const xf_comm &comm) {
        const auto trainer = make_trainer(context_of(comm, 1), kTraining);
        trainer->set_compare_steps(4);
        for (int64_t i = 0; i < 8; ++i) {
            step_own(trainer.get(), Task(), 3, comm.rank, 3, 1);
            if (i == 7 && comm.rank == 2) reinterpret_cast<uint32_t *>(trainer->model()->params())[20] ^= 1;
        }
        step_own(trainer.get(), Task(), 3, comm.rank, 3, 1);
    });
    check_all(ended, XF_ERROR_DESYNC);
    CHECK(ended[0].message == "rank 2 has different parameters than rank 0");
}

// The other ranks get the error at once, nothing has changed, and the next step succeeds.
XF_TEST(an_error_of_one_rank_is_reported_by_all_and_nothing_is_lost) {
    const Run good = run(3, kTraining, 3, 1, 4);
    Run with_errors;
    const TempFolder folder;
    check_all(on_ranks(3,
                       [&](const xf_comm &comm) {
                           const auto trainer = make_trainer(context_of(comm, 1), kTraining);
                           std::string curve;
                           for (int64_t i = 0; i < 4; ++i) {
                               Pairs pairs = reversal_pairs(1, 3, 2, 8, 40);
                               if (comm.rank == 1) pairs.tgt[0][0] = 4711;
                               const Batch bad(pairs);
                               const xf_batch view = bad.view();
                               const auto began = std::chrono::steady_clock::now();
                               CHECK_REFUSED(trainer->step(&view, 1),
                                             comm.rank == 1 ? XF_ERROR_OUT_OF_RANGE : XF_ERROR_PEER, "4711");
                               CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(20));
                               CHECK_EQ(trainer->steps_done(), i);
                               curve += step_own(trainer.get(), Task(), 3, comm.rank, 3, 1);
                           }
                           save(trainer.get(), folder / "final");
                           if (comm.rank == 0) with_errors.curve = curve;
                       }),
              XF_OK);
    with_errors.file = bytes_of(folder / "final");
    check_same(good, with_errors, "after errors");
}

// A wrong number of batches on one rank is an error on both. A save that fails on rank 0 fails on all ranks.
XF_TEST(wrong_arguments_and_a_full_disk) {
    check_all(
        on_ranks(2,
                 [](const xf_comm &comm) {
                     const auto trainer = make_trainer(context_of(comm, 1), with(kTraining, {{"train.shards", "4"}}));
                     const Batch one = Task().batch(0);
                     const xf_batch views[] = {one.view(), one.view(), one.view()};
                     CHECK_FAILS(trainer->step(views, comm.rank == 0 ? 2 : 3),
                                 comm.rank == 1 ? XF_ERROR_INVALID_ARGUMENT : XF_ERROR_PEER);
                     CHECK_FAILS(save(trainer.get(), "/no/such/folder/file"),
                                 comm.rank == 0 ? XF_ERROR_NOT_FOUND : XF_ERROR_PEER);
                     step_own(trainer.get(), Task(), 4, comm.rank, 2, 1);
                     CHECK_EQ(trainer->steps_done(), 1);
                 }),
        XF_OK);
}

// A step that is not finite has the same outcome on all ranks, for each policy.
XF_TEST(policies_for_values_that_are_not_finite) {
    const auto spoil = [](const xf_comm &comm, xf::Trainer *trainer) {
        if (comm.rank == 1) trainer->model()->params()[3] = 1e30f;
    };
    const auto ended = on_ranks(2, [&](const xf_comm &comm) {
        const auto trainer = make_trainer(context_of(comm, 1), kTraining);
        step_own(trainer.get(), Task(), 2, comm.rank, 2, 1);
        spoil(comm, trainer.get());
        step_own(trainer.get(), Task(), 2, comm.rank, 2, 1);
    });
    check_all(ended, XF_ERROR_NONFINITE);
    const TempFolder folder;
    check_all(on_ranks(2,
                       [&](const xf_comm &comm) {
                           const auto trainer =
                               make_trainer(context_of(comm, 1), with(kTraining, {{"train.on_nonfinite", "rollback"}}));
                           const std::string first = step_own(trainer.get(), Task(), 2, comm.rank, 2, 1);
                           save(trainer.get(), folder / "file");
                           const std::string second = step_own(trainer.get(), Task(), 2, comm.rank, 2, 1);
                           spoil(comm, trainer.get());
                           const Batch batch = Task().batch(0);
                           const xf_batch view = batch.view();
                           CHECK(trainer->step(&view, 1).outcome == XF_STEP_ROLLED_BACK);
                           CHECK_EQ(step_own(trainer.get(), Task(), 2, comm.rank, 2, 1), second);
                           // Parameters that were read from a file are compared before the next step.
                           spoil(comm, trainer.get());
                           trainer->step(&view, 1);
                           if (comm.rank == 1) trainer->model()->params()[3] += 1;
                           CHECK_FAILS(trainer->step(&view, 1), XF_ERROR_DESYNC);
                       }),
              XF_OK);
}

// After a skipped step, the batchers of all ranks have advanced by the same number of batches.
XF_TEST(a_skipped_step_leaves_all_batchers_at_the_same_position) {
    check_all(on_ranks(2,
                       [](const xf_comm &comm) {
                           const auto trainer =
                               make_trainer(context_of(comm, 1), with(kTraining, {{"train.on_nonfinite", "skip"}}));
                           const auto batcher = make_batcher(100);
                           const auto next = [&] {
                               xf::StepStats stats;
                               CHECK(trainer->next(batcher.get(), &stats));
                               return stats.outcome;
                           };
                           CHECK(next() == XF_STEP_UPDATED);
                           const int64_t per_step = batcher->position().batch;
                           float &parameter = trainer->model()->params()[3];
                           const float good = parameter;
                           if (comm.rank == 1) parameter = 1e30f;
                           CHECK(next() == XF_STEP_SKIPPED);
                           CHECK_EQ(batcher->position().batch, 2 * per_step);
                           parameter = good;
                           CHECK(next() == XF_STEP_UPDATED);
                       }),
              XF_OK);
}

// One rank stops responding or exits, at each exchange in turn: the others fail with XF_ERROR_PEER within the timeout.
XF_TEST(a_rank_that_dies_at_any_point_is_an_error_on_the_others) {
    int calls = 0;
    for (int at = 0; at < 60; ++at) {
        const bool silent = at % 4 == 0;
        int made = 0;
        const auto began = std::chrono::steady_clock::now();
        const auto ended = on_ranks(3, [&](const xf_comm &table) {
            int calls_left = table.rank == 1 ? at : -1;
            Tapped mortal(table, [&](auto, double timeout) {
                if (calls_left == 0 && silent)
                    std::this_thread::sleep_for(std::chrono::duration<double>(1.5 * timeout));
                return calls_left-- != 0;
            });
            const xf_comm comm = mortal.table();
            const auto trainer = make_trainer(context_of(comm, 1, "0.3"), kTraining);
            const TempFolder folder;
            const std::string path = folder / "file";
            for (int64_t i = 0; i < 3; ++i) {
                step_own(trainer.get(), Task(), 3, comm.rank, 3, 1);
                save(trainer.get(), path);
            }
            if (table.rank == 1) made = at - calls_left;
        });
        if (ended[1].status == XF_OK) {  // it finished before exchange `at`
            check_all(ended, XF_OK);
            calls = made;
            break;
        }
        check_all(ended, XF_ERROR_PEER);
        CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(8));
    }
    CHECK(calls > 12);
    std::printf("%d calls\n", calls);
}

// A step that fails while parameters are exchanged keeps those of the previous step, and the trainer refuses to save.
XF_TEST(a_step_that_fails_during_the_parameter_exchange) {
    check_all(on_ranks(2,
                       [](const xf_comm &table) {
                           int left = 1 << 30;
                           Tapped last(table, [&](auto, double) { return left-- > 0; });
                           const xf_comm comm = last.table();
                           const auto trainer = make_trainer(context_of(comm, 1, "0.3"), kTraining);
                           step_own(trainer.get(), Task(), 2, comm.rank, 2, 1);
                           const std::vector<float> before = params_of(*trainer);
                           left = 3;  // statuses, gradients, norms; not the parameters
                           CHECK_FAILS(step_own(trainer.get(), Task(), 2, comm.rank, 2, 1), XF_ERROR_PEER);
                           CHECK(params_of(*trainer) == before);
                           const TempFolder folder;
                           CHECK_FAILS(save(trainer.get(), folder / "file"), XF_ERROR_STATE);
                           CHECK_EQ(trainer->steps_done(), 1);
                       }),
              XF_OK);
}

// The formulas of docs/guide/ranks.md for the bytes that a rank holds, and sends in a step. Every shard has the same
// batch, so that activations have the same size.
struct Bytes {
    int64_t P = 0, held = 0, sent = 0;
};

Bytes after_a_step(xf::Context *context, const std::unique_ptr<xf::Trainer> &trainer, size_t batches,
                   int64_t *sent = nullptr) {
    const Batch batch = Task().batch(0);
    const std::vector<xf_batch> views(batches, batch.view());
    trainer->step(views.data(), views.size());
    if (sent != nullptr) *sent = 0;
    trainer->step(views.data(), views.size());
    return {trainer->model()->table().total, context->heap().current(), sent != nullptr ? *sent : 0};
}

XF_TEST(memory_and_messages_are_those_of_the_guide) {
    const Settings settings = with(kTraining, {{"model.vocab_size", "4000"}, {"train.ema", "0.9"}});
    constexpr int64_t kSlack = 64 << 10;
    for (const int shards : {2, 4}) {
        const Settings cut = with(settings, {{"train.shards", std::to_string(shards)}});
        const auto alone_in = any_device(1);
        const Bytes alone = after_a_step(alone_in.get(), make_trainer(alone_in, cut), static_cast<size_t>(shards));
        const int64_t S = shards, R = 2, P = alone.P, levels = S == 4 ? 2 : 1;
        check_all(on_ranks(2,
                           [&](const xf_comm &table) {
                               int64_t bytes = 0;
                               Tapped counted(table, [&](auto sends, double) {
                                   return bytes += static_cast<int64_t>(bytes_in(sends)), true;
                               });
                               const xf_comm comm = counted.table();
                               const auto context = context_of(comm, 1);
                               const Bytes own = after_a_step(context.get(), make_trainer(context, cut),
                                                              static_cast<size_t>(S / R), &bytes);
                               // Moments, average, parameter slice, receive buffer, and partial sums; everything else
                               // is equal.
                               const int64_t of_rank =
                                   8 * P / R + 4 * P / R + 4 * P / R + 4 * P / R + 4 * P * (levels - 1);
                               const int64_t of_one = 8 * P + 4 * P + 4 * P * levels;
                               const int64_t held = alone.held - own.held - (of_one - of_rank);
                               const int64_t sent = own.sent - 2 * (4 * P * (R - 1) / R);
                               std::printf("%lld shards: %lld of %lld bytes held, %lld sent; off by %lld and %lld\n",
                                           static_cast<long long>(S), static_cast<long long>(own.held),
                                           static_cast<long long>(alone.held), static_cast<long long>(own.sent),
                                           static_cast<long long>(held), static_cast<long long>(sent));
                               CHECK(std::abs(held) < kSlack);
                               CHECK(sent > 0 && sent < kSlack);
                           }),
                  XF_OK);
    }
}

// Every number of a block is in exactly one piece, and slices concatenate the pieces of a rank.
XF_TEST(slices_partition_a_block) {
    for (const int64_t total : {16, 1000, 16384, 22272, 4912128, 213000000})
        for (const int ranks : {1, 2, 3, 8, 512}) {
            const xf::Slices slices(total, ranks);
            int64_t at = 0, packed = 0, longest = 0;
            for (int64_t b = 0; b < slices.buckets(); ++b)
                for (int r = 0; r < ranks; ++r) {
                    const xf::Range segment = slices.segment(b, r);
                    CHECK(segment.begin == at && segment.end >= at && at % slices.chunk() == 0);
                    at = segment.end;
                    longest = std::max(longest, segment.count());
                }
            CHECK(at == total);
            for (int r = 0; r < ranks; ++r) {
                const xf::Range slice = slices.slice(r);
                CHECK(slice.begin == packed && slices.packed_offset(0, r) == packed);
                packed = slice.end;
            }
            CHECK(packed == total && longest == slices.longest_segment());
            CHECK(ranks == 1 || longest <= (1 << 20) + slices.chunk() ||
                  slices.buckets() * ranks > slices.chunks() / 2);
        }
}

}  // namespace
