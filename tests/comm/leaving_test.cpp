// Gradients that leave bucket by bucket, while the backward pass goes on: the same bits for any number of buckets and
// ranks, with and without a thread to carry them; and what becomes of a step that breaks off in between. See
// train/shards.h.
//
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <set>

#include "comm/sharded_runs.hpp"
#include "train/slices.h"

namespace {

using namespace xf_test;

Settings in(int buckets) { return {{"context.comm_buckets", std::to_string(buckets)}}; }

XF_TEST(any_number_of_buckets_makes_the_same_steps) {
    const Settings narrow = with(kFull, {{"train.reduce_precision", "bf16"}});
    for (const Settings &settings : {kFull, narrow}) {
        const Run alone = run(1, settings, 8, 1, 5);
        for (const auto &[ranks, buckets] : {std::pair{2, 1}, {2, 7}, {4, 3}, {8, 1000}})
            check_same(alone, run(ranks, settings, 8, 1, 5, in(buckets)),
                       xf::format("%d ranks, %d buckets", ranks, buckets));
    }
    // Several batches for each shard, parts of the tree that are no neighbours, steps with absent shards.
    check_same(run(1, kTraining, 6, 2, 4), run(2, kTraining, 6, 2, 4, in(4)), "6 shards");
    const Run epochs = run_epochs(1, 1, "4", "2");
    check_same(epochs, run_epochs(2, 4, "4", "2", {}, 150, in(5)), "2, then 4");
    check_same(epochs, run_epochs(4, 1, "4", "2", {}, 150, in(2)), "4, then 1");
}

// Every number is in one piece; what leaves first lies at the end.
XF_TEST(slices_are_all_of_a_block) {
    for (const int64_t total : {16, 1000, 16384, 22272, 4912128, 213000000})
        for (const int ranks : {1, 2, 3, 8, 512})
            for (const int64_t buckets : {0, 1, 4, 1000}) {
                const xf::Slices slices(total, ranks, buckets);
                int64_t at = 0, packed = 0, longest = 0;
                for (int64_t b = 0; b < slices.buckets(); ++b)
                    for (int r = 0; r < ranks; ++r) {
                        const xf::Range piece = slices.piece(b, r);
                        CHECK(piece.begin == at && piece.end >= at && at % slices.chunk() == 0);
                        at = piece.end;
                        longest = std::max(longest, piece.count());
                    }
                CHECK(at == total);
                for (int r = 0; r < ranks; ++r) {
                    const xf::Range slice = slices.slice(r);
                    CHECK(slice.begin == packed && slices.packed_at(0, r) == packed);
                    packed = slice.end;
                }
                CHECK(packed == total && longest == slices.longest_piece());
                CHECK(ranks == 1 || longest <= (1 << 20) + slices.chunk() ||
                      slices.buckets() * ranks > slices.chunks() / 2);
            }
    CHECK(xf::Slices(4912128, 2, 0).buckets() > 1 && xf::Slices(22272, 2, 0).buckets() == 1);
}

// By a thread, unless the host has an executor: then it has all threads, and gets the same bits.
XF_TEST(a_thread_carries_them_unless_the_host_has_an_executor) {
    const auto threads_that_send = [](bool hosted, std::string *curve) {
        std::atomic<size_t> seen{0};
        check_all(on_ranks(2,
                           [&](const xf_comm &table) {
                               std::set<std::thread::id> ids;
                               Tapped tapped(table, [&](auto, double) {
                                   ids.insert(std::this_thread::get_id());
                                   return true;
                               });
                               const auto trainer =
                                   make_trainer(context_of(tapped.table(), 2, "60", in(4), hosted), kTraining);
                               std::string lines;
                               for (int i = 0; i < 3; ++i)
                                   lines += step_own(trainer.get(), Task(), 2, table.rank, 2, 1);
                               if (table.rank == 0) *curve = lines;
                               seen += ids.size();
                           }),
                  XF_OK);
        return seen.load();
    };
    std::string by_thread, by_host;
    CHECK_EQ(threads_that_send(false, &by_thread), size_t{4});
    CHECK_EQ(threads_that_send(true, &by_host), size_t{2});
    CHECK(!by_thread.empty());
    CHECK_EQ(by_thread, by_host);
}

// Before the ranks agree on a step it is an error of all, and nothing was done. From then on it comes too late.
XF_TEST(a_cancel_ends_a_step_of_all_or_none) {
    for (const bool late : {false, true})
        check_all(on_ranks(2,
                           [&](const xf_comm &table) {
                               const auto own = std::this_thread::get_id();
                               xf::Context *context = nullptr;
                               Tapped tapped(table, [&](auto, double) {
                                   if (context != nullptr && std::this_thread::get_id() == own) context->cancel();
                                   return true;
                               });
                               const auto made = context_of(tapped.table(), 1, "60", in(4));
                               const auto trainer = make_trainer(made, kTraining);
                               const Batch batch = Task().batch(table.rank);
                               const xf_batch view = batch.view();
                               trainer->step(&view, 1);
                               const xf::Call call = made->call();
                               if (table.rank == 1 && late) context = made.get();  // in what tells the others
                               if (table.rank == 1 && !late) made->cancel();
                               try {
                                   trainer->step(&view, 1, call);
                                   CHECK(late);
                               } catch (const xf::Error &error) {
                                   CHECK(!late);
                                   CHECK_EQ(error.status(), table.rank == 1 ? XF_ERROR_CANCELLED : XF_ERROR_PEER);
                               }
                               CHECK_EQ(trainer->steps_done(), late ? 2 : 1);
                               trainer->step(&view, 1);
                               CHECK_EQ(trainer->steps_done(), late ? 3 : 2);
                               if (table.rank == 1) CHECK_FAILS(call.check(), XF_ERROR_CANCELLED);
                           }),
                  XF_OK);
}

// What the trainer does, by hand: a gradient of ones and of twos.
XF_TEST(a_step_that_breaks_off_is_the_end_of_the_ranks) {
    for (const bool breaks : {false, true})
        for (const bool hosted : {false, true}) {
            const auto ended = on_ranks(2, [&](const xf_comm &comm) {
                constexpr int64_t kTotal = 4096;
                const auto context = context_of(comm, 1, "0.5", in(4), hosted);
                xf::Shards shards(context, 2, kTotal, false);
                xf::Stream stream(context->device());
                std::vector<float> grads(kTotal, static_cast<float>(comm.rank + 1));
                shards.begin(2);
                shards.agree({}, {{}});
                shards.add_while_made(stream, grads.data());
                shards.done(stream, kTotal / 2);
                if (breaks && comm.rank == 1) {
                    shards.break_off();
                    shards.break_off();  // there is nothing to break off any more
                } else {
                    shards.reduce(stream, grads.data());
                }
                CHECK_EQ(shards.squares(stream), 9.0 * kTotal);
            });
            check_all(ended, breaks ? XF_ERROR_PEER : XF_OK);
        }
}

}  // namespace
