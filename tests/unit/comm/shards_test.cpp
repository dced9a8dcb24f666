// Sharded training as documented in train.h: the bits of a step depend on the number of shards and not on the number of
// ranks. Compares loss curves and checkpoints for different numbers of ranks and threads, at the ends of epochs, and
// after a resume with other ranks. Also tests the errors of all ranks if one rank fails, differs, or exits.
//
// SPDX-License-Identifier: Apache-2.0
#include <cinttypes>

#include "comm/sharded_runs.hpp"
#include "ranks/slices.h"

namespace {

using namespace xf_test;

// With train.reduce_precision=bf16, too, where the gradients are other ones.
XF_TEST(any_number_of_ranks_computes_the_same_steps) {
    std::set<std::string> curves;
    for (const char *precision : {"fp32", "bf16"}) {
        const Settings reduce = {{"train.reduce_precision", precision}};
        const Settings full = with(kFull, reduce), plain = with(kTraining, reduce);
        const Run eight = run(1, full, 8, 1, 6);
        for (const int ranks : XF_TEST_SANITIZED ? std::vector{3, 8} : std::vector{2, 3, 4, 5, 7, 8})
            check_same(eight, run(ranks, full, 8, 1, 6), xf::format("8 on %d", ranks));
        const Run six = run(1, plain, 6, 2, 4);
        for (const int ranks : XF_TEST_SANITIZED ? std::vector{5} : std::vector{2, 3, 4, 5, 6})
            check_same(six, run(ranks, plain, 6, 2, 4), xf::format("6 on %d", ranks));
        curves.insert({eight.curve, six.curve, run(1, plain, 12, 1, 4).curve});
    }
    CHECK_EQ(curves.size(), 6u);
}

// The ranks of a machine exchange their sums first. Each slice is sent once to another machine.
XF_TEST(machines_change_nothing) {
    for (const char *precision : {"fp32", "bf16"}) {
        const Settings full = with(kFull, {{"train.reduce_precision", precision}});
        const Run alone = run(1, full, 8, 1, 6);
        for (const auto &[ranks, per_machine] : {std::pair{4, 2}, {6, 2}, {6, 3}, {8, 2}, {8, 4}, {4, 4}, {4, 1}}) {
            if (XF_TEST_SANITIZED && ranks != 6) continue;
            check_same(alone, run({ranks, per_machine}, full, 8, 1, 6),
                       xf::format("%d ranks, %d per machine", ranks, per_machine));
        }
    }
}

XF_TEST(machines_are_checked) {
    for (const auto &[per_machine, status] :
         {std::pair{-1, XF_ERROR_OUT_OF_RANGE}, {3, XF_ERROR_OUT_OF_RANGE}, {8, XF_ERROR_OUT_OF_RANGE}})
        check_ranks(4, status, [&, wrong = per_machine](xf_comm comm) {
            comm.ranks_per_machine = wrong;
            try {
                context_of(comm, 1);
            } catch (...) {
                comm.close(comm.user);
                throw;
            }
        });
    const auto ended = check_ranks(4, XF_ERROR_DESYNC, [&](xf_comm comm) {
        comm.ranks_per_machine = comm.rank == 3 ? 0 : 2;
        step_own(make_trainer(context_of(comm, 1), kTraining).get(), comm, 4);
    });
    CHECK_EQ(ended[0].message, "rank 3 has a different number of ranks per machine than rank 0");
}

Run run_alone(const std::shared_ptr<xf::Context> &context, int64_t shards, int64_t steps) {
    const TempFolder folder;
    const auto trainer = make_trainer(context, with(kFull, {{"train.shards", std::to_string(shards)}}));
    std::string curve;
    for (int64_t i = 0; i < steps; ++i) curve += step_own(trainer.get(), kAlone, shards);
    save(trainer.get(), folder / "final");
    return {curve, bytes_of(folder / "final"), params_of(*trainer->average())};
}

// A comm of one rank is the same as none. Shards give the same bits as with ranks, and nearly the parameters of an
// unsharded step.
XF_TEST(shards_without_ranks) {
    check_same(run(1, kFull, 1, 1, 3), run_alone(any_device(), 1, 3), "a comm of one");
    check_same(run(4, kFull, 8, 1, 6), run_alone(any_device(3), 8, 6), "no comm");

    const Settings still = with(kTraining, {{"train.dropout", "0"}, {"train.attention_dropout", "0"}});
    const auto plain = make_trainer(any_device(), still);
    const auto cut = make_trainer(any_device(), with(still, {{"train.shards", "5"}}));
    step_own(plain.get(), kAlone, 1, 5);
    step_own(cut.get(), kAlone, 5);
    const std::vector<float> a = params_of(*plain), b = params_of(*cut);
    for (size_t i = 0; i < a.size(); ++i)
        if (std::abs(a[i] - b[i]) > 2e-5f) return record(__FILE__, __LINE__, xf::format("%zu: %a %a", i, a[i], b[i]));
    CHECK_FAILS(cut->accumulate(Task().batch(0).view()), XF_ERROR_STATE);
}

XF_TEST(epochs_end_together_and_resume_with_other_ranks) {
    const Run alone = run_epochs(1, 1, "4", "2");
    CHECK(alone.curve.find("end of epoch") != std::string::npos);
    check_same(alone, run_epochs(2, 4, "4", "2"), "2, then 4");
    check_same(alone, run_epochs(4, 1, "4", "2"), "4, then 1");
    check_same(alone, run_epochs(3, 2, "4", "2"), "3, then 2");
    check_same(run_epochs(1, 3, "6", "1"), run_epochs(3, 2, "6", "1"), "6 shards");
    check_same(run_epochs(1, 5, "6", "1"), run_epochs(4, 5, "6", "1"), "6 shards, uneven");
}

// The last step of an epoch may have only one shard. Its gradient is not summed and must not be rounded when it is
// sent. If it has only shards of the first machine, their sum is the root before it is sent to other machines.
XF_TEST(epochs_end_together_and_resume_with_other_ranks_in_bf16) {
    const Settings bf16 = {{"train.reduce_precision", "bf16"}};
    for (const size_t left : {1, 3}) {
        size_t pairs = 150;
        while (make_batcher(pairs)->batches_in_epoch() % 8 != static_cast<int64_t>(left)) ++pairs;
        const Run alone = run_epochs(1, 1, "8", "1", bf16, pairs);
        CHECK(alone.curve.find("end of epoch") != std::string::npos);
        for (const auto &[before, after] : std::vector<std::pair<Ranks, Ranks>>{
                 {2, 4}, {8, 1}, {4, 8}, {3, 7}, {{4, 2}, {6, 2}}, {{6, 3}, {8, 4}}, {1, {8, 2}}})
            check_same(alone, run_epochs(before, after, "8", "1", bf16, pairs),
                       xf::format("%zu left: %d, then %d", left, before.count, after.count));
    }
}

XF_TEST(ranks_that_differ_are_rejected) {
    for (const auto &[key, value] : Settings{{"model.seed", "5"}, {"train.seed", "5"}, {"train.learning_rate", "2"}}) {
        const Settings odd = with(kTraining, {{key, value}});
        const auto ended = check_ranks(3, XF_ERROR_DESYNC, [&](const xf_comm &comm) {
            step_own(make_trainer(context_of(comm, 1), comm.rank == 1 ? odd : kTraining).get(), comm, 3);
        });
        CHECK(ended[0].message.find("rank 1 has different ") == 0);
    }
    CHECK_FAILS(make_trainer(any_device(), with(kTraining, {{"train.shards", "70000"}})), XF_ERROR_OUT_OF_RANGE);
    check_ranks(2, XF_ERROR_INVALID_ARGUMENT, [](const xf_comm &comm) {
        make_trainer(context_of(comm, 1), with(kTraining, {{"train.shards", "1"}}));
    });
    // A different corpus on one rank.
    check_ranks(2, XF_ERROR_DESYNC, [](const xf_comm &comm) {
        const auto trainer = make_trainer(context_of(comm, 1), kTraining);
        xf::StepStats stats;
        trainer->next(make_batcher(100, comm.rank == 1 ? 4 : 3).get(), &stats);
    });
}

// The ranks resume from different checkpoints, so their slices must not be saved to one file, or averaged.
XF_TEST(ranks_at_different_positions_do_not_save) {
    const TempFolder folder;
    const auto ended = check_ranks(2, XF_ERROR_DESYNC, [&](const xf_comm &comm) {
        const auto context = context_of(comm, 1);
        const auto trainer = make_trainer(context, kFull);
        for (int i = 0; i < 2; ++i) {
            step_own(trainer.get(), comm, 2);
            save(trainer.get(), folder / std::to_string(i));
        }
        const auto resumed = resume(context, folder / std::to_string(comm.rank));
        CHECK_FAILS(resumed->average(), XF_ERROR_DESYNC);
        save(resumed.get(), folder / "1");
    });
    CHECK(ended[0].message == "rank 1 has a different step than rank 0");
    CHECK_EQ(xf::ModelFile(folder / "1").require("step"), "2");
}

XF_TEST(a_flipped_bit_of_one_rank_is_detected) {
    const auto ended = check_ranks(3, XF_ERROR_DESYNC, [](const xf_comm &comm) {
        const auto trainer = make_trainer(context_of(comm, 1), kTraining);
        trainer->set_compare_steps(4);
        for (int64_t i = 0; i < 8; ++i) {
            step_own(trainer.get(), comm, 3);
            if (i == 7 && comm.rank == 2) reinterpret_cast<uint32_t *>(trainer->model()->params())[20] ^= 1;
        }
        step_own(trainer.get(), comm, 3);
    });
    CHECK(ended[0].message == "rank 2 has different parameters than rank 0");
}

// The other ranks get the error at once, nothing has changed, and the next step succeeds.
XF_TEST(an_error_of_one_rank_is_reported_by_all_and_nothing_is_lost) {
    const Run good = run(3, kTraining, 3, 1, 4);
    Run with_errors;
    const TempFolder folder;
    check_ranks(3, XF_OK, [&](const xf_comm &comm) {
        const auto trainer = make_trainer(context_of(comm, 1), kTraining);
        std::string curve;
        for (int64_t i = 0; i < 4; ++i) {
            Pairs pairs = reversal_pairs(1, 3, 2, 8, 40);
            if (comm.rank == 1) pairs.tgt[0][0] = 4711;
            const std::vector<Batch> bad = {Batch(pairs)};
            const auto began = std::chrono::steady_clock::now();
            CHECK_REFUSED(step(trainer.get(), bad), comm.rank == 1 ? XF_ERROR_OUT_OF_RANGE : XF_ERROR_PEER, "4711");
            CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(20));
            CHECK_EQ(trainer->steps_done(), i);
            curve += step_own(trainer.get(), comm, 3);
        }
        save(trainer.get(), folder / "final");
        if (comm.rank == 0) with_errors.curve = curve;
    });
    with_errors.file = bytes_of(folder / "final");
    check_same(good, with_errors, "after errors");
}

// A wrong number of batches on one rank is an error on both. A save that fails on rank 0 fails on all ranks.
XF_TEST(wrong_arguments_and_a_full_disk) {
    check_ranks(2, XF_OK, [](const xf_comm &comm) {
        const auto trainer = make_trainer(context_of(comm, 1), with(kTraining, {{"train.shards", "4"}}));
        CHECK_FAILS(step(trainer.get(), Task().batches(0, comm.rank == 0 ? 2 : 3)),
                    comm.rank == 1 ? XF_ERROR_INVALID_ARGUMENT : XF_ERROR_PEER);
        CHECK_FAILS(save(trainer.get(), "/no/such/folder/file"), comm.rank == 0 ? XF_ERROR_NOT_FOUND : XF_ERROR_PEER);
        step_own(trainer.get(), comm, 4);
        CHECK_EQ(trainer->steps_done(), 1);
    });
}

// A step that is not finite has the same outcome on all ranks, for each policy.
XF_TEST(policies_for_values_that_are_not_finite) {
    const auto spoil = [](const xf_comm &comm, xf::Trainer *trainer) {
        if (comm.rank == 1) trainer->model()->params()[3] = 1e30f;
    };
    const auto ended = check_ranks(2, XF_ERROR_NONFINITE, [&](const xf_comm &comm) {
        const auto trainer = make_trainer(context_of(comm, 1), kTraining);
        step_own(trainer.get(), comm, 2);
        spoil(comm, trainer.get());
        step_own(trainer.get(), comm, 2);
    });
    const TempFolder folder;
    check_ranks(2, XF_OK, [&](const xf_comm &comm) {
        const auto trainer = make_trainer(context_of(comm, 1), with(kTraining, {{"train.on_nonfinite", "rollback"}}));
        const std::string first = step_own(trainer.get(), comm, 2);
        save(trainer.get(), folder / "file");
        const std::string second = step_own(trainer.get(), comm, 2);
        spoil(comm, trainer.get());
        const std::vector<Batch> batch = Task().batches(0, 1);
        CHECK(step(trainer.get(), batch).outcome == XF_STEP_ROLLED_BACK);
        CHECK_EQ(step_own(trainer.get(), comm, 2), second);
        // Parameters that were read from a file are compared before the next step.
        spoil(comm, trainer.get());
        step(trainer.get(), batch);
        if (comm.rank == 1) trainer->model()->params()[3] += 1;
        CHECK_FAILS(step(trainer.get(), batch), XF_ERROR_DESYNC);
    });
}

// After a skipped step, the batchers of all ranks have advanced by the same number of batches.
XF_TEST(a_skipped_step_leaves_all_batchers_at_the_same_position) {
    check_ranks(2, XF_OK, [](const xf_comm &comm) {
        const auto trainer = make_trainer(context_of(comm, 1), with(kTraining, {{"train.on_nonfinite", "skip"}}));
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
    });
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
            Tapped mortal(table, [&](const Exchange &exchange) {
                if (calls_left == 0 && silent)
                    std::this_thread::sleep_for(std::chrono::duration<double>(1.5 * exchange.timeout));
                return calls_left-- != 0;
            });
            const xf_comm comm = mortal.table();
            const auto trainer = make_trainer(context_of(comm, 1, "0.3"), kTraining);
            const TempFolder folder;
            const std::string path = folder / "file";
            for (int64_t i = 0; i < 3; ++i) {
                step_own(trainer.get(), comm, 3);
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
    check_ranks(2, XF_OK, [](const xf_comm &table) {
        int left = 1 << 30;
        Tapped last(table, [&](const Exchange &) { return left-- > 0; });
        const xf_comm comm = last.table();
        const auto trainer = make_trainer(context_of(comm, 1, "60"), kTraining);
        step_own(trainer.get(), comm, 2);
        const std::vector<float> before = params_of(*trainer);
        left = 3;  // statuses, gradients, norms; not the parameters
        CHECK_FAILS(step_own(trainer.get(), comm, 2), XF_ERROR_PEER);
        CHECK(params_of(*trainer) == before);
        const TempFolder folder;
        CHECK_FAILS(save(trainer.get(), folder / "file"), XF_ERROR_STATE);
        CHECK_EQ(trainer->steps_done(), 1);
    });
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
        check_ranks(2, XF_OK, [&](const xf_comm &table) {
            int64_t bytes = 0;
            Tapped counted(table, [&](const Exchange &exchange) {
                return bytes += static_cast<int64_t>(bytes_in(exchange.sends)), true;
            });
            const xf_comm comm = counted.table();
            const auto context = context_of(comm, 1);
            const Bytes own =
                after_a_step(context.get(), make_trainer(context, cut), static_cast<size_t>(S / R), &bytes);
            // Moments, average, parameter slice, receive buffer, and partial sums; everything else
            // is equal.
            const int64_t of_rank = 8 * P / R + 4 * P / R + 4 * P / R + 4 * P / R + 4 * P * (levels - 1);
            const int64_t of_one = 8 * P + 4 * P + 4 * P * levels;
            const int64_t held = alone.held - own.held - (of_one - of_rank);
            const int64_t sent = own.sent - 2 * (4 * P * (R - 1) / R);
            std::printf("%" PRId64 " shards: %" PRId64 " of %" PRId64 " bytes held, %" PRId64 " sent; off by %" PRId64
                        " and %" PRId64 "\n",
                        S, own.held, alone.held, own.sent, held, sent);
            CHECK(std::abs(held) < kSlack);
            CHECK(sent > 0 && sent < kSlack);
        });
    }
}

// Of four ranks, two on each of two machines, each sends half as much to the other machine as without this knowledge.
XF_TEST(machines_send_each_sum_once) {
    const Settings settings =
        with(kTraining, {{"model.vocab_size", "4000"}, {"train.shards", "4"}, {"train.ema", "0.9"}});
    constexpr int64_t kSlack = 64 << 10;
    int64_t P = 0;
    for (const int per_machine : {0, 2}) {
        std::atomic<int64_t> within{0}, between{0};
        check_ranks(4, XF_OK, [&](xf_comm table) {
            table.ranks_per_machine = per_machine;
            int64_t near = 0, far = 0;
            Tapped counted(table, [&](const Exchange &exchange) {
                for (const xf_comm_part &part : exchange.sends)
                    (part.rank / 2 == table.rank / 2 ? near : far) += static_cast<int64_t>(part.size);
                return true;
            });
            const xf_comm comm = counted.table();
            const auto context = context_of(comm, 1);
            const auto trainer = make_trainer(context, settings);
            const int64_t total = trainer->model()->table().total;
            step_own(trainer.get(), comm, 4);
            near = far = 0;
            step_own(trainer.get(), comm, 4);
            within += near, between += far;
            if (comm.rank == 0) P = total;
        });
        // Of gradients and parameters, 4 P each. Between machines, half of them in each direction, per rank or machine.
        const int64_t near = 2 * 4 * P, far = 2 * 4 * P * (per_machine == 0 ? 2 : 1);
        std::printf("%d per machine: %" PRId64 " bytes within machines, %" PRId64 " between them\n", per_machine,
                    within.load(), between.load());
        CHECK(between - far > 0 && between - far < kSlack);
        CHECK(per_machine == 0 || (within - 2 * near > 0 && within - 2 * near < kSlack));
    }
}

// Every number of a block is in exactly one piece, and slices concatenate the pieces of a rank.
XF_TEST(slices_partition_a_block) {
    for (const int64_t total : {16, 1000, 16384, 22272, 4912128, 213000000})
        for (const auto &[ranks, per_machine] :
             {std::pair{1, 1}, {2, 1}, {3, 1}, {8, 1}, {8, 2}, {8, 4}, {12, 3}, {512, 1}, {512, 8}}) {
            const xf::Slices slices(total, ranks, per_machine);
            int64_t at = 0, packed = 0, longest = 0;
            for (int64_t b = 0; b < slices.buckets(); ++b)
                for (int place = 0; place < ranks; ++place) {
                    const int r = slices.rank_at(place);
                    const xf::Range segment = slices.segment(b, r), joint = slices.joint_segment(b, r);
                    CHECK(slices.place(r) == place && r % per_machine == place / (ranks / per_machine));
                    CHECK(segment.begin == at && segment.end >= at && at % slices.chunk() == 0);
                    CHECK(joint.begin <= segment.begin && joint.end >= segment.end);
                    // The segments of the counterparts, and no others.
                    int64_t joined = 0;
                    for (int other = r % per_machine; other < ranks; other += per_machine)
                        joined += slices.segment(b, other).count();
                    CHECK_EQ(joint.count(), joined);
                    at = segment.end;
                    longest = std::max(longest, segment.count());
                }
            CHECK(at == total);
            for (int place = 0; place < ranks; ++place) {
                const int r = slices.rank_at(place);
                const xf::Range slice = slices.slice(r), joint = slices.joint_slice(r);
                CHECK(joint.begin <= slice.begin && joint.end >= slice.end);
                CHECK(place % (ranks / per_machine) != 0 || joint.begin == packed);
                CHECK(slice.begin == packed && slices.packed_offset(0, r) == packed);
                packed = slice.end;
            }
            CHECK(packed == total);
            CHECK(ranks == 1 || longest <= (1 << 20) + slices.chunk() ||
                  slices.buckets() * ranks > slices.chunks() / 2);
        }
}

}  // namespace
