// Steps that are not finite: the effect of each policy, the files that must not be overwritten, and the checks of a
// file before a rollback. A step is made to diverge by an infinite parameter.
//
// SPDX-License-Identifier: Apache-2.0
#include "train/training.hpp"

namespace {

using namespace xf_test;

xf::StepStats step_of(xf::Trainer *trainer, int64_t batch) { return step(trainer, {Task().batch(batch)}); }

Settings policy(const char *name) { return with(kTraining, {{"train.on_nonfinite", name}, {"train.ema", "0.5"}}); }

XF_TEST(a_skipped_step_changes_nothing_and_nothing_is_saved_after_it) {
    const TempFolder folder;
    on_each_device(2, [&](const auto &context, const DeviceName &) {
        const auto clean = make_trainer(context, policy("stop")), hurt = make_trainer(context, policy("skip"));
        for (int64_t i = 0; i < 2; ++i) step_of(clean.get(), i), step_of(hurt.get(), i);
        const std::string path = folder / "run";
        save(hurt.get(), path);
        const std::string good = bytes_of(path);
        const float kept = poke(*hurt, kInfinity);
        for (int i = 0; i < 9; ++i) {
            const xf::StepStats stats = step_of(hurt.get(), i);
            CHECK(stats.outcome == XF_STEP_SKIPPED);
            CHECK_EQ(stats.step, 2);
            CHECK(stats.tgt_tokens > 0);
            CHECK_FAILS(save(hurt.get(), path), XF_ERROR_NONFINITE);
        }
        CHECK_FAILS(step_of(hurt.get(), 0), XF_ERROR_NONFINITE);  // the tenth in a row
        CHECK_FAILS(save(hurt.get(), path), XF_ERROR_NONFINITE);
        CHECK(bytes_of(path) == good);
        poke(*hurt, kept);
        CHECK(step_of(hurt.get(), 2).outcome == XF_STEP_UPDATED);
        step_of(clean.get(), 2);
        CHECK(params_of(*clean) == params_of(*hurt));
        save(hurt.get(), path);
        poke(*hurt, kInfinity);  // the count of skipped steps was reset
        CHECK(step_of(hurt.get(), 3).outcome == XF_STEP_SKIPPED);
    });
}

XF_TEST(a_rolled_back_trainer_is_the_one_that_was_saved) {
    const TempFolder folder;
    on_each_device(2, [&](const auto &context, const DeviceName &) {
        const std::string path = folder / "run";
        const auto clean = make_trainer(context, policy("stop"));
        auto hurt = make_trainer(context, policy("rollback"));
        poke(*hurt, kInfinity);
        CHECK_FAILS(step_of(hurt.get(), 0), XF_ERROR_NONFINITE);  // without a checkpoint, as stop
        hurt = make_trainer(context, policy("rollback"));
        for (int64_t i = 0; i < 3; ++i) step_of(clean.get(), i), step_of(hurt.get(), i);
        save(hurt.get(), path);
        for (int64_t i = 3; i < 5; ++i) step_of(hurt.get(), i);
        poke(*hurt, kInfinity);
        const xf::StepStats stats = step_of(hurt.get(), 5);
        CHECK(stats.outcome == XF_STEP_ROLLED_BACK);
        CHECK_EQ(stats.step, 3);
        CHECK_EQ(hurt->steps_done(), 3);
        CHECK_FAILS(save(hurt.get(), folder / "other"), XF_ERROR_NONFINITE);
        step_of(clean.get(), 7);
        step_of(hurt.get(), 7);
        CHECK(params_of(*clean) == params_of(*hurt));
        save(clean.get(), folder / "clean");
        save(hurt.get(), folder / "hurt");
        const auto a = resume(context, folder / "clean"), b = resume(context, folder / "hurt");
        CHECK_EQ(train_to(a.get(), Task(), 6), train_to(b.get(), Task(), 6));  // the moments are equal, too
        poke(*b, kInfinity);                                                   // a resumed trainer returns to its file
        CHECK(step_of(b.get(), 9).outcome == XF_STEP_ROLLED_BACK);
        CHECK_EQ(b->steps_done(), 4);
    });
}

XF_TEST(a_rollback_rejects_a_changed_file) {
    const TempFolder folder;
    const auto context = any_device();
    const std::string path = folder / "run";
    const auto trainer = make_trainer(context, policy("rollback"));
    step_of(trainer.get(), 0);
    save(trainer.get(), path);
    const std::string good = bytes_of(path);
    const auto other = make_trainer(context, policy("skip"));
    save(other.get(), folder / "other");
    step_of(trainer.get(), 1);
    const float kept = poke(*trainer, kInfinity);
    const std::vector<float> before = params_of(*trainer);
    std::string flipped = good;
    flipped[flipped.size() - 100] = static_cast<char>(flipped[flipped.size() - 100] ^ 1);
    for (const std::string &bytes : {flipped, bytes_of(folder / "other")}) {
        std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
        CHECK_FAILS(step_of(trainer.get(), 1), XF_ERROR_CORRUPT);
        CHECK(params_of(*trainer) == before);
    }
    std::filesystem::remove(path);
    CHECK_FAILS(step_of(trainer.get(), 1), XF_ERROR_NOT_FOUND);
    CHECK(params_of(*trainer) == before);
    poke(*trainer, kept);
    CHECK_EQ(step_of(trainer.get(), 1).step, 3);
}

// The two halves of a step ignore train.on_nonfinite; the caller handles the error.
XF_TEST(halves_of_a_step_report_the_error) {
    const auto context = any_device();
    const auto trainer = make_trainer(context, policy("skip"));
    const Batch batch = Task().batch(0);
    const float kept = poke(*trainer, kInfinity);
    CHECK_FAILS(trainer->accumulate(batch.view()), XF_ERROR_NONFINITE);
    trainer->drop_gradients();
    poke(*trainer, kept);
    trainer->accumulate(batch.view());
    CHECK_EQ(trainer->update().step, 1);
}

XF_TEST(a_checkpoint_records_backend_and_precision) {
    const TempFolder folder;
    const std::string path = folder / "run";
    std::string first;
    std::string said;
    xf_host host = XF_HOST_INIT;
    host.log_user = &said;
    host.log_level = XF_LOG_WARNING;
    host.log = [](void *user, const xf_log_line *line) {
        *static_cast<std::string *>(user) += std::string(line->component) + ": " + line->message + "\n";
    };
    on_each_device(1, [&](const auto &silent, const DeviceName &name) {
        const auto context = open_device(name, 1, &host);
        CHECK(silent->description() == context->description());
        said.clear();
        if (first.empty()) {
            save(make_trainer(context, kTraining).get(), path);
            first = name.device;
            resume(context, path);
            CHECK_EQ(said, "");
        } else {
            resume(context, path);
            CHECK_EQ(said.find("train: '" + path + "' was computed with "), size_t{0});
            CHECK(name.bf16() == (said.find("precision 'fp32', this context has 'bf16'") != std::string::npos));
        }
    });
}

}  // namespace
