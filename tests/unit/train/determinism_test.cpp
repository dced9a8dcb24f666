// Determinism as documented in train.h: the same seed gives the same bits for any number of threads, and with AVX2 and
// AVX-512. Compares the loss curve of 200 steps with dropout, and the bytes of the checkpoint, on every backend.
//
// SPDX-License-Identifier: Apache-2.0
#include "train/training.hpp"

namespace {

using namespace xf_test;

Run run(const DeviceName &device, int threads, const Settings &settings, const Task &task, int64_t steps) {
    const TempFolder folder;
    const auto context = open_device(device, threads);
    const auto trainer = make_trainer(context, settings);
    const std::string curve = train_to(trainer.get(), task, steps);
    save(trainer.get(), folder / "final");
    return {curve, bytes_of(folder / "final")};
}

// Repeats a run and compares: on the CPU with more threads, on a GPU once unchanged and once without CUDA graphs. Steps
// of an emulated GPU take a second.
void check_repeats(const DeviceName &device, const Settings &settings, const Task &task, int64_t steps) {
    const Run one = run(device, 1, settings, task, steps);
    CHECK_EQ(std::count(one.curve.begin(), one.curve.end(), '\n'), steps);
    if (device.cuda()) {
        check_same(one, run(device, 1, settings, task, steps), device.text() + " once more");
        DeviceName unrecorded = device;
        unrecorded.graphs = false;
        check_same(one, run(unrecorded, 1, settings, task, steps), device.text() + " unrecorded");
        return;
    }
    for (const int threads : {2, 3, 8})
        check_same(one, run(device, threads, settings, task, steps),
                   device.text() + xf::format(" with %d threads", threads));
}

XF_TEST(two_hundred_steps_are_the_same_with_one_two_and_three_threads) {
    on_each_device(1, [](const auto &, const DeviceName &device) {
        check_repeats(device, kTraining, Task(), device.cuda() ? 10 : 200);
    });
}

// Tensors of many tiles, so that every operation has work for every thread. No width is a multiple of a tile.
const Settings kWide =
    with(kTraining,
         "model.d_model=66 model.d_ff=130 model.heads=3 model.d_k=21 model.d_v=27 model.vocab_size=301 "
         "model.positions=learned model.norm=pre"_set);

Task long_sentences(size_t sentences) { return {.sentences = sentences, .longest = 50, .V = 301}; }

XF_TEST(wide_batches_are_the_same_with_any_number_of_threads) {
    on_each_device(1, [](const auto &, const DeviceName &device) {
        const int64_t steps = device.cuda() ? 3 : device.fast() ? 6 : 2;
        check_repeats(device, kWide, long_sentences(device.cuda() ? 10 : 30), steps);
    });
}

// With bf16, "auto" uses the bf16 instructions of AVX-512 if the CPU has them.
XF_TEST(avx2_and_avx512_are_bit_identical) {
    if (has_run_on_cpu()) return;
    for (const char *precision : {"fp32", "bf16"}) {
        const DeviceName avx2{"cpu:openblas", "avx2", false, precision};
        if (open_device({"cpu:openblas", "avx512", false}, 1) == nullptr) return;
        const Run steps = run(avx2, 1, kTraining, Task(), 50), batches = run(avx2, 2, kWide, long_sentences(30), 6);
        for (const char *isa : {"avx512", "auto"}) {
            const DeviceName other{"cpu:openblas", isa, false, precision};
            check_same(steps, run(other, 2, kTraining, Task(), 50), other.text() + ", 50 steps");
            check_same(batches, run(other, 1, kWide, long_sentences(30), 6), other.text() + ", wide");
        }
    }
}

// Shows that the test above can fail.
XF_TEST(another_seed_or_instruction_set_is_detected) {
    const Task task;
    const Run base = run(kDevices[0], 1, kTraining, task, 5);
    for (const char *key : {"model.seed", "train.seed"}) {
        const Run other = run(kDevices[0], 1, with(kTraining, {{key, "2"}}), task, 5);
        CHECK(other.curve != base.curve);
        CHECK(other.file != base.file);
    }
    if (open_device(kDevices[1], 1) == nullptr) return;
    const Run fp32 = run(kDevices[1], 1, kTraining, task, 5);
    CHECK(fp32.file != base.file);
    CHECK(run({"cpu:openblas", "base", true, "bf16"}, 1, kTraining, task, 5).curve != fp32.curve);
}

// Backends and instruction sets differ in rounding only.
XF_TEST(loss_curves_of_all_devices_are_close) {
    const auto losses = [](const DeviceName &device, int64_t steps) {
        std::vector<double> curve;
        const auto trainer = make_trainer(open_device(device, 2), kTraining);
        const Task task;
        for (int64_t i = 0; i < steps; ++i) {
            const xf::StepStats s = step(trainer.get(), {task.batch(i)});
            curve.push_back(s.loss_sum / static_cast<double>(s.tgt_tokens));
        }
        return curve;
    };
    const std::vector<double> reference = losses(kDevices[0], 30);
    on_each_device(1, [&](const auto &, const DeviceName &device) {
        const std::vector<double> curve = losses(device, device.cuda() ? 10 : 30);
        for (size_t i = 0; i < curve.size(); ++i) {
            const double near = device.bf16() ? 1e-2 : 1e-5 * static_cast<double>(i + 1);
            CHECK_NEAR(curve[i], reference[i], near);
        }
    });
}

}  // namespace
