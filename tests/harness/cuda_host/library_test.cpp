// The library on a GPU that runs out of memory, fails, or exceeds the budget: errors, unchanged objects, and freed
// memory. Uses the emulated GPU, whose faults can be requested.
//
// SPDX-License-Identifier: Apache-2.0
#include "cuda_host/emulated.hpp"
#include "decode/decoding.hpp"
#include "nn/summary.h"
#include "train/training.hpp"

namespace {

using namespace xf_test;

constexpr DeviceName kFp32 = {"cuda", "auto", true}, kBf16 = {"cuda", "auto", true, "bf16"};
constexpr int32_t kIllegalAddress = 700;

std::shared_ptr<xf::Context> open_with(const Settings &changes) {
    return std::make_shared<xf::Context>(options_of(with({{"context.device", "cuda"}}, changes)), nullptr);
}

void step_with(xf::Trainer *trainer, const Batch &batch) {
    const xf_batch view = batch.view();
    trainer->step(&view, 1);
}

// Everything a program does, in a row; little of it, as it is done once for each allocation.
void journey(const DeviceName &name) {
    Task task;
    task.sentences = 3;
    const auto trainer = make_trainer(open_device(name, 1), kTraining);
    train_to(trainer.get(), task, 3);
    xf::Decoder decoder(trainer->model(), options_of({{"decode.max_extra_tokens", "9"}}));
    CHECK_EQ(decode(&decoder, {{5, 6, 1}, {7, 1}, {9, 8, 7, 6, 5, 1}}).size(), size_t{3});
    CHECK_EQ(score(&decoder, {{{5, 6, 1}}, {{7, 1}}}).size(), size_t{1});
}

// The first, second, third ... allocation fails, until none is left to fail; under a sanitizer each third.
XF_TEST(each_allocation_may_fail_and_nothing_leaks) {
    for (const DeviceName &name : {kFp32, kBf16}) {
        constexpr int64_t step = XF_TEST_SANITIZED ? 3 : 1;
        int64_t failures = 0;
        for (int64_t n = 1; n < 500; n += step) {
            set("malloc_fail_after", n);
            try {
                journey(name);
                set("malloc_fail_after", 0);
                break;
            } catch (const xf::Error &error) {
                set("malloc_fail_after", 0);
                // A device without enough memory to be opened exists but is unavailable.
                CHECK(error.status() == XF_ERROR_NO_MEMORY);
                ++failures;
            }
            check_nothing_lives("after allocation " + std::to_string(n) + " failed");
        }
        CHECK(failures > 10 / step && failures < 400);
        check_nothing_lives("at the end");
    }
}

XF_TEST(a_step_without_memory_changes_nothing) {
    const Task task;
    Task large = task;
    large.sentences = 200;
    for (const DeviceName &name : {kFp32, kBf16}) {
        const auto context = open_device(name, 1);
        const auto clean = make_trainer(context, kTraining), hurt = make_trainer(context, kTraining);
        train_to(clean.get(), task, 4);
        train_to(hurt.get(), task, 2);
        for (const int64_t n : {1, 2, 1}) {  // the batch, the workspace after it, the workspace again
            set("malloc_fail_after", n);
            CHECK_FAILS(step_with(hurt.get(), large.batch(7)), XF_ERROR_NO_MEMORY);
            set("malloc_fail_after", 0);
            CHECK_EQ(hurt->steps_done(), 2);
        }
        train_to(hurt.get(), task, 4);
        CHECK(params_of(*clean) == params_of(*hurt));
    }
    check_nothing_lives("at the end");
}

XF_TEST(a_gpu_fault_is_a_status_and_affects_nothing_else) {
    const Task task;
    const TempFolder folder;
    const auto cpu = any_device();
    const auto expected = make_trainer(cpu, kTraining);
    train_to(expected.get(), task, 2);
    {
        const auto context = open_device(kFp32, 1), other = open_device(kBf16, 1);
        const auto trainer = make_trainer(context, kTraining);
        train_to(trainer.get(), task, 2);
        save(trainer.get(), folder / "saved");
        const std::string before = bytes_of(folder / "saved");
        set("launch_fault_after", 40);
        for (int again = 0; again < 3; ++again) {
            try {
                step_with(trainer.get(), task.batch(2));
                record(__FILE__, __LINE__, "a step on a broken GPU was made");
            } catch (const xf::Error &error) {
                CHECK(error.status() == XF_ERROR_BACKEND);
                CHECK_EQ(error.native_code(), kIllegalAddress);
            }
        }
        CHECK_EQ(trainer->steps_done(), 2);
        CHECK_FAILS(save(trainer.get(), folder / "saved"), XF_ERROR_BACKEND);  // and the file is the old one
        CHECK(bytes_of(folder / "saved") == before);
        CHECK_FAILS(make_trainer(other, kTraining), XF_ERROR_BACKEND);
        // The CPU continues, also from the file of the GPU.
        const auto rescued = resume(cpu, folder / "saved");
        train_to(rescued.get(), task, 4);
        CHECK_EQ(rescued->steps_done(), 4);
    }
    set("launch_fault_after", 0);  // clears it: another process, so to say
    check_nothing_lives("after a fault");
    journey(kFp32);
    check_nothing_lives("at the end");
}

XF_TEST(the_budget_covers_the_gpu) {
    const Task task;
    int64_t needed = 0;
    {
        const auto context = open_with({});
        const auto trainer = make_trainer(context, kTraining);
        train_to(trainer.get(), task, 3);
        needed = context->heap().peak();
        CHECK(context->heap().current() >= get("live_bytes") + get("live_pinned"));
        CHECK(get("live_bytes") > 0);
    }
    const auto context = open_with({{"context.memory_budget", std::to_string(needed - 1000)}});
    const int64_t base = context->heap().current();
    CHECK_REFUSED(train_to(make_trainer(context, kTraining).get(), task, 3), XF_ERROR_NO_MEMORY,
                  "context.memory_budget");
    CHECK_EQ(context->heap().current(), base);
    CHECK(context->heap().peak() <= needed - 1000);
}

// With a batch whose loss takes more than all the rest. Without what cuBLASLt takes, which is not there.
XF_TEST(the_estimate_of_training_covers_the_loss) {
    if (XF_TEST_SANITIZED) return;  // figures, of many calls of kernels that the other tests run
    Task task;
    task.sentences = 64, task.shortest = task.longest = 60;
    const std::string tokens = std::to_string(task.sentences * 61);  // with the end symbol
    const Settings settings = with(
        kTraining,
        {{"model.d_model", "16"}, {"model.d_ff", "16"}, {"model.vocab_size", "4000"}, {"data.batch_tokens", tokens}});
    const TempFolder folder;
    for (const DeviceName &name : {kFp32, kBf16}) {
        const auto context = open_device(name, 1);
        int64_t told = 0;
        {
            const auto trainer = make_trainer(context, settings);
            save(trainer.get(), folder / "model");
            told = xf::summarize(xf::ModelFile(folder / "model"), *context, options_of(settings)).train_bytes;
            step_with(trainer.get(), task.batch(0));
        }
        const int64_t peak = context->heap().peak(), library = int64_t{64} << 20;
        CHECK(peak > int64_t{60} << 20);
        CHECK(told - library >= peak && told - library <= peak + peak / 4);
    }
}

XF_TEST(the_steady_state_replays_without_allocations) {
    if (XF_TEST_SANITIZED) return;  // it counts calls, of which a sanitizer changes none
    const Task task;
    for (const DeviceName &name : {kFp32, kBf16}) {
        const auto context = open_device(name, 1);
        const auto trainer = make_trainer(context, kTraining);
        xf::Decoder decoder(trainer->model(), options_of({{"decode.max_extra_tokens", "12"}}));
        const auto round = [&](int64_t i) {
            step_with(trainer.get(), task.batch(i % 4));
            decode(&decoder, {{5, 6, 7, 8, 1}, {7, 9, 1}});
        };
        for (int64_t i = 0; i < 16; ++i) round(i);
        const int64_t allocations = context->heap().allocations(), live = get("live_allocations"),
                      replays = get("graph_launches");
        for (int64_t i = 0; i < 12; ++i) round(i);
        CHECK_EQ(context->heap().allocations(), allocations);
        CHECK_EQ(get("live_allocations"), live);
        const int64_t made = get("graph_launches") - replays;
        std::printf("%lld replays\n", static_cast<long long>(made));
        CHECK(made >= 12 + 12 * 4);  // each step of training, each of a search
    }
    const int64_t replays = get("graph_launches");
    DeviceName unrecorded = kFp32;
    unrecorded.graphs = false;
    journey(unrecorded);
    CHECK_EQ(get("graph_launches"), replays);
}

// With device memory out of reach of host code: nothing of the library may touch it.
XF_TEST(the_host_does_not_access_device_memory) {
    if (XF_TEST_SANITIZED) return;  // the pages tell, in any build; what is called here the other tests call
    const TempFolder folder;
    set("guard", 1);
    for (const DeviceName &name : {kFp32, kBf16}) {
        journey(name);
        const auto trainer = make_trainer(open_device(name, 1), kTraining);
        train_to(trainer.get(), Task(), 2);
        save(trainer.get(), folder / "model");
        resume(open_device(name, 1), folder / "model");
    }
    set("guard", 0);
    check_nothing_lives("at the end");
}

}  // namespace
