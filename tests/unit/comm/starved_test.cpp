// Fails each allocation of one rank in turn, only that one or also all later ones, during each collective call of two
// ranks. Both ranks must return the documented errors within seconds, although the timeout is a minute, and repeating
// the call must give the same bits as an undisturbed call. With XF_TEST_EVERY every allocation fails in turn, otherwise
// some.
//
// SPDX-License-Identifier: Apache-2.0
#include "comm/sharded_runs.hpp"
#include "core/failing_new.hpp"
#include "core/hash.h"

namespace {

using namespace xf_test;

// The calls of a rank. `call` returns a description of the result, which is compared.
struct Called {
    std::function<void(xf::Trainer *, xf::Batcher *, const std::string &path)> before;       // allocations succeed
    std::function<std::string(xf::Trainer *, xf::Batcher *, const std::string &path)> call;  // allocations fail
};

std::string hex_of(const std::vector<float> &values) {
    return std::to_string(xf::hash64(values.data(), values.size() * sizeof(float)));
}

std::string state_of(const xf::Trainer &trainer, const xf::Batcher &batcher) {
    const xf::Batcher::Position at = batcher.position();
    return xf::format("step %lld, batch %lld of epoch %lld, ", static_cast<long long>(trainer.steps_done()),
                      static_cast<long long>(at.batch), static_cast<long long>(at.epoch)) +
           hex_of(params_of(trainer));
}

class Starving {
public:
    Starving(const char *what, Called called, const Settings &settings = {})
        : what_(what), called_(std::move(called)), settings_(with(base(), settings)) {}

    // Fails every stride'th allocation of each rank. Checks that at least `least` failed and returns their number.
    int run(int stride, int least = 1) {
        attempt(-1, 0, false);
        for (const bool lasts : {false, true})
            for (int victim = 0; victim < 2; ++victim)
                for (int n = victim; attempt(victim, n, lasts); n += n < 8 ? 1 : stride) ++points_;
        std::printf("%-34s %5d allocations failed, %d of them coped with\n", what_, points_, coped_);
        CHECK(points_ >= least);
        return points_;
    }

private:
    static Settings base() {
        return with(kFull, {{"train.shards", "4"}, {"train.accumulate", "1"}, {"train.on_nonfinite", "rollback"}});
    }

    // Fails allocation n. Returns false if the rank made fewer allocations.
    bool attempt(int victim, int64_t n, bool lasts) {
        constexpr auto kMoment = std::chrono::seconds(5);
        const TempFolder folder;
        const std::string path = folder / "the file of the ranks that train here";
        bool starved = false;
        xf_status said[2] = {XF_OK, XF_OK};
        std::string why[2], first[2], found[2];
        const auto ended = on_ranks(2, [&](const xf_comm &comm) {
            const auto trainer = make_trainer(context_of(comm, 1), settings_);
            const auto batcher = make_batcher(60);
            if (called_.before) called_.before(trainer.get(), batcher.get(), path);
            const auto r = static_cast<size_t>(comm.rank);
            const auto call = [&](const NewPlan &plan) -> xf_status {
                const auto began = std::chrono::steady_clock::now();
                xf_status status = XF_OK;
                try {
                    new_plan = plan;
                    found[r] = called_.call(trainer.get(), batcher.get(), path);
                    if (new_plan.failed) starved = true;
                    new_plan = {};
                } catch (const std::exception &error) {
                    if (new_plan.failed) starved = true;
                    new_plan = {};
                    const auto *const own = dynamic_cast<const xf::Error *>(&error);
                    status = own != nullptr ? own->status() : XF_ERROR_NO_MEMORY;
                    why[r] = error.what();
                }
                CHECK(std::chrono::steady_clock::now() - began < kMoment);
                return status;
            };
            said[r] = call(comm.rank == victim ? NewPlan{n, SIZE_MAX, false, lasts} : NewPlan{});
            if (said[r] == XF_OK) return;
            first[r] = why[r];
            const xf_status again = call({});
            if (why[r].find("resume from the last checkpoint") != std::string::npos)
                found[r] = expected_[r];  // a partly read file requires a resume on all ranks
            else if (again != XF_OK)
                complain(victim, n, xf::format("rank %zu, again: %s: %s", r, xf_status_name(again), why[r].c_str()));
        });
        check_all(ended, XF_OK);
        if (victim < 0) {
            expected_[0] = found[0], expected_[1] = found[1];
            return true;
        }
        const auto v = static_cast<size_t>(victim);
        if (said[0] == XF_OK && said[1] == XF_OK)
            coped_ += starved ? 1 : 0;
        else if (said[v] != XF_ERROR_NO_MEMORY || said[1 - v] != XF_ERROR_PEER ||
                 first[1 - v] != xf::format("rank %d: out of memory", victim))
            complain(victim, n,
                     xf::format("%s: %s; %s: %s", xf_status_name(said[0]), first[0].c_str(), xf_status_name(said[1]),
                                first[1].c_str()));
        for (size_t r = 0; r < 2; ++r)
            if (found[r] != expected_[r])
                complain(victim, n,
                         xf::format("rank %zu came to %s, not %s", r, found[r].c_str(), expected_[r].c_str()));
        return starved;
    }

    void complain(int victim, int64_t n, const std::string &text) {
        record(
            __FILE__, __LINE__,
            xf::format("%s, allocation %lld of rank %d: %s", what_, static_cast<long long>(n), victim, text.c_str()));
    }

    const char *what_;
    Called called_;
    Settings settings_;
    std::string expected_[2];
    int points_ = 0, coped_ = 0;
};

// The calls of a training job.
std::string next_of(xf::Trainer *trainer, xf::Batcher *batcher, const std::string &) {
    xf::StepStats stats;
    const bool more = trainer->next(batcher, &stats);
    new_plan.fail_at = -1;  // later allocations are those of the test
    return (more ? line(stats) : "the epoch is over, ") + state_of(*trainer, *batcher);
}

void one_step(xf::Trainer *trainer, xf::Batcher *batcher, const std::string &path) { next_of(trainer, batcher, path); }

std::string save_of(xf::Trainer *trainer, xf::Batcher *batcher, const std::string &path) {
    const NewPlan plan = std::exchange(new_plan, {});  // the arguments are allocated by the test
    const std::string tokenizer = "a tokenizer, in words";
    const auto position = xf::DataPosition::of(*batcher);
    const auto target = target_of(path);
    new_plan = plan;
    trainer->save(target, tokenizer, position);
    new_plan.fail_at = -1;
    return state_of(*trainer, *batcher) + std::to_string(bytes_of(path).size());
}

std::string average_of(xf::Trainer *trainer, xf::Batcher *, const std::string &) {
    const auto model = trainer->average();
    new_plan.fail_at = -1;
    return hex_of(params_of(*model));
}

// Sanitizers are slow, so they fail fewer allocations.
int stride(int usual) { return std::getenv("XF_TEST_EVERY") != nullptr ? 1 : usual * (XF_TEST_SANITIZED ? 3 : 1); }

XF_TEST(a_first_step) { Starving("the first step", {{}, next_of}).run(stride(11)); }

XF_TEST(a_later_step) {
    Starving("the second step", {one_step, next_of}).run(stride(2), 0);  // the steady state allocates nothing
    const auto then_compare = [](xf::Trainer *trainer, xf::Batcher *batcher, const std::string &path) {
        one_step(trainer, batcher, path);
        trainer->set_compare_steps(1);
    };
    Starving("a step that compares", {then_compare, next_of}).run(stride(5));
    Starving("a step in bf16", {{}, next_of}, {{"train.reduce_precision", "bf16"}}).run(stride(29));
}

XF_TEST(the_end_of_an_epoch) {
    const auto to_its_end = [](xf::Trainer *trainer, xf::Batcher *batcher, const std::string &path) {
        while (batcher->position().batch < batcher->batches_in_epoch()) one_step(trainer, batcher, path);
    };
    Starving("the end of an epoch", {to_its_end, next_of}).run(stride(3));
}

XF_TEST(saving) {
    Starving("a save before the first step", {{}, save_of}).run(stride(97));
    Starving("a save", {one_step, save_of}).run(stride(97));
}

XF_TEST(averages) {
    Starving("an average before the first step", {{}, average_of}).run(stride(11));
    Starving("an average", {one_step, average_of}).run(stride(11));
}

// An error before the file is read changes nothing; an error while it is read requires a resume.
XF_TEST(rollback_to_a_checkpoint) {
    const auto diverge = [](xf::Trainer *trainer, xf::Batcher *batcher, const std::string &path) {
        one_step(trainer, batcher, path);
        save_of(trainer, batcher, path);
        trainer->model()->params()[3] = 1e30f;
    };
    const auto back = [](xf::Trainer *trainer, xf::Batcher *batcher, const std::string &path) {
        return next_of(trainer, batcher, path).substr(0, 2);
    };
    Starving("a return to a checkpoint", {diverge, back}).run(stride(307));
}

}  // namespace
