// Runs of sharded steps that can be compared bit by bit, by loss curve and checkpoint, for different numbers of ranks
// and threads and for different devices.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/ranks.hpp"
#include "data/batcher.h"
#include "train/training.hpp"

namespace xf_test {

// place: options that replace those of the best CPU device; "cuda:#" selects one GPU per rank.
inline std::shared_ptr<xf::Context> context_of(const xf_comm &comm, int threads, const char *timeout = "60",
                                               const Settings &place = {}) {
    xf_host host = XF_HOST_INIT;
    host.comm = &comm;
    const Settings options = {
        {"context.device", "cpu"}, {"context.threads", std::to_string(threads)}, {"context.comm_timeout", timeout}};
    Settings all = with(options, place);
    std::string &device = all.at("context.device");
    if (device.back() == '#') device.replace(device.size() - 1, 1, std::to_string(comm.rank));
    auto context = std::make_shared<xf::Context>(options_of(all), &host);
    context->take_ownership();
    return context;
}

inline std::string line(const xf::StepStats &s) {
    return xf::format("%lld %lld %lld %a %a %a\n", static_cast<long long>(s.step), static_cast<long long>(s.sentences),
                      static_cast<long long>(s.tgt_tokens), s.loss_sum, s.nll_sum, s.gradient_norm);
}

// A process without a comm.
inline constexpr xf_comm kAlone = {sizeof(xf_comm), nullptr, 0, 1, nullptr, nullptr, nullptr, 0, 0};

// How many ranks there are, and how many of them share a machine; 0: unknown.
struct Ranks {
    int count, per_machine = 0;
    Ranks(int ranks, int ranks_per_machine = 0) : count(ranks), per_machine(ranks_per_machine) {}
};

// Makes a step with the batches of one rank's shards, `each` per shard.
inline std::string step_own(xf::Trainer *trainer, const xf_comm &comm, int64_t shards, int64_t each = 1) {
    const xf::Range own = xf::even_chunk(shards, comm.rank, comm.size);
    const int64_t first = (trainer->steps_done() * shards + own.begin) * each;
    return line(step(trainer, Task().batches(first, own.count() * each)));
}

inline Run run(const Ranks &ranks, const Settings &settings, int64_t shards, int64_t each, int64_t steps,
               const Settings &place = {}) {
    const TempFolder folder;
    Run result;
    check_ranks(ranks.count, XF_OK, [&](xf_comm comm) {
        comm.ranks_per_machine = ranks.per_machine;
        const auto context = context_of(comm, 1 + comm.rank % 3, "60", place);
        const auto trainer = make_trainer(context, with(settings, {{"train.shards", std::to_string(shards)}}));
        std::string curve;
        for (int64_t i = 0; i < steps; ++i) curve += step_own(trainer.get(), comm, shards, each);
        save(trainer.get(), folder / "final");
        if (comm.rank == 0) result.curve = curve;
        if (!settings.contains("train.ema")) return;
        const auto average = params_of(*trainer->average());
        if (comm.rank == ranks.count - 1) result.average = average;
    });
    result.file = bytes_of(folder / "final");
    CHECK(!result.file.empty());
    return result;
}

inline const Settings kFull =
    with(kTraining, {{"train.ema", "0.9"}, {"train.clip_norm", "0.5"}, {"train.weight_decay", "0.01"}});

// A batcher of a corpus of random ids.
inline std::unique_ptr<xf::Batcher> make_batcher(size_t pairs, uint64_t seed = 3) {
    const Batch all(reversal_pairs(5, pairs, 1, 8, 40));
    const xf_batch view = all.view();
    xf::BatcherOptions options;
    options.batch_tokens = 40;
    options.seed = seed;
    return xf::Batcher::create(xf::Corpus::from_ids(view, nullptr), {}, options, nullptr, {}, {});
}

// Trains two and a half epochs with batchers whose epochs end within a step. Saves after 7 steps and resumes with a
// different number of ranks.
inline Run run_epochs(const Ranks &ranks, const Ranks &ranks_after, const std::string &shards, const std::string &each,
                      const Settings &changes = {}, size_t pairs = 150, const Settings &place = {}) {
    const TempFolder folder;
    Run result;
    const Settings settings = with(with(kFull, changes), {{"train.shards", shards}, {"train.accumulate", each}});
    const auto go = [&](xf::Trainer *trainer, xf::Batcher *batcher, int64_t last, const xf_comm &comm) {
        std::string curve;
        trainer->set_compare_steps(3);
        while (trainer->steps_done() < last) {
            xf::StepStats stats;
            curve += trainer->next(batcher, &stats) ? line(stats) : "end of epoch\n";
        }
        save(trainer, folder / "file", xf::DataPosition::of(*batcher));
        if (comm.rank == 0) result.curve += curve;
    };
    check_ranks(ranks.count, XF_OK, [&](xf_comm comm) {
        comm.ranks_per_machine = ranks.per_machine;
        const auto trainer = make_trainer(context_of(comm, 1, "60", place), settings);
        go(trainer.get(), make_batcher(pairs).get(), 7, comm);
    });
    check_ranks(ranks_after.count, XF_OK, [&](xf_comm comm) {
        comm.ranks_per_machine = ranks_after.per_machine;
        const auto trainer = resume(context_of(comm, 2, "60", place), folder / "file");
        const auto batcher = make_batcher(pairs);
        trainer->seek(batcher.get());
        go(trainer.get(), batcher.get(), 16, comm);
    });
    result.file = bytes_of(folder / "file");
    return result;
}

}  // namespace xf_test
