// One update in detail: the schedule of eq. (3), gradients over several batches, and the state after an error.
// update_options_test.cpp compares Adam with fp64 arithmetic.
//
// SPDX-License-Identifier: Apache-2.0
#include "train/training.hpp"

namespace {

using namespace xf_test;

XF_TEST(the_schedule_is_equation_3) {
    const xf::Schedule base{xf::Schedule::Kind::kInverseSqrt, 1, 4000, 512};
    CHECK_NEAR(base.rate(4000), 6.9877e-4, 1e-8);  // the peak: (512 x 4000)^-0.5
    CHECK_NEAR(base.rate(1), 1.7469e-7, 1e-11);
    CHECK_NEAR(base.rate(2000), base.rate(4000) / 2, 1e-12);
    CHECK_NEAR(base.rate(16000), base.rate(4000) / 2, 1e-12);
    CHECK_NEAR(base.rate(100000), 1.39754e-4, 1e-9);
    for (int64_t step = 1; step < 5000; ++step)
        CHECK(step < 4000 ? base.rate(step) < base.rate(step + 1) : base.rate(step) > base.rate(step + 1));
    const xf::Schedule half{xf::Schedule::Kind::kInverseSqrt, 0.5, 4000, 512};
    CHECK_NEAR(half.rate(777), base.rate(777) / 2, 1e-15);
    const xf::Schedule constant{xf::Schedule::Kind::kConstant, 3e-4, 10, 512};
    CHECK_NEAR(constant.rate(1), 3e-5, 1e-12);
    CHECK_EQ(constant.rate(10), 3e-4);
    CHECK_EQ(constant.rate(1000000000), 3e-4);
}

XF_TEST(accumulate_and_update_equal_a_step) {
    on_each_device(2, [](const auto &context, const DeviceName &) {
        const Task task;
        const Batch a = task.batch(1), b = task.batch(2);
        const xf_batch both[] = {a.view(), b.view()};
        const auto one = make_trainer(context, kTraining), other = make_trainer(context, kTraining);
        for (int i = 0; i < 3; ++i) {
            const xf::StepStats whole = one->step(both, 2);
            const xf::StepStats first = other->accumulate(both[0]), second = other->accumulate(both[1]);
            const xf::StepStats halves = other->update();
            CHECK_EQ(first.loss_sum + second.loss_sum, halves.loss_sum);
            CHECK_EQ(first.tgt_tokens + second.tgt_tokens, halves.tgt_tokens);
            CHECK_EQ(whole.loss_sum, halves.loss_sum);
            CHECK_EQ(whole.gradient_norm, halves.gradient_norm);
            CHECK_EQ(whole.sentences, int64_t{24});
        }
        CHECK(params_of(*one) == params_of(*other));
    });
}

XF_TEST(a_pending_gradient_is_that_of_the_mean_loss) {
    on_each_device(2, [](const auto &context, const DeviceName &) {
        const Settings settings = with(kTraining, {{"train.dropout", "0"}, {"train.attention_dropout", "0"}});
        const Pairs a = reversal_pairs(5, 6, 1, 9, 40), b = reversal_pairs(6, 9, 1, 4, 40);
        Net net(context, settings);
        std::vector<float> sum = net.gradient(a);
        const std::vector<float> more = net.gradient(b);
        int64_t tokens = 0;
        for (const Pairs *pairs : {&a, &b})
            for (const Ids &ids : pairs->tgt) tokens += static_cast<int64_t>(ids.size());
        const auto trainer = make_trainer(context, settings);
        trainer->accumulate(Batch(a).view());
        trainer->accumulate(Batch(b).view());
        const std::vector<float> found = gradient_of(trainer.get());
        for (size_t i = 0; i < found.size(); ++i)
            CHECK_NEAR(found[i], (double{sum[i]} + more[i]) / static_cast<double>(tokens), 1e-6);
        const double loss = (net.loss(a) + net.loss(b)) / static_cast<double>(tokens);
        const xf::StepStats stats = trainer->update();
        CHECK_NEAR(stats.loss_sum / static_cast<double>(stats.tgt_tokens), loss, 1e-6);
        CHECK_EQ(stats.tgt_tokens, tokens);
    });
}

// Two batches of one update have different masks, and so has one batch in two updates.
XF_TEST(dropout_masks_change_with_batch_and_step) {
    const auto trainer = make_trainer(any_device(), kTraining);
    const Batch batch = Task().batch(3);
    const double first = trainer->accumulate(batch.view()).loss_sum,
                 second = trainer->accumulate(batch.view()).loss_sum;
    CHECK(first != second);
    // The update changes only the step number.
    const auto frozen = make_trainer(any_device(), with(kTraining, {{"train.learning_rate", "0"}}));
    const double step1 = step(frozen.get(), {batch}).loss_sum, step2 = step(frozen.get(), {batch}).loss_sum;
    CHECK_EQ(step1, first);
    CHECK(step1 != step2);
}

XF_TEST(after_an_error_everything_is_as_before) {
    on_each_device(2, [](const auto &context, const DeviceName &) {
        const Task task;
        const auto clean = make_trainer(context, kTraining), hurt = make_trainer(context, kTraining);
        const Batch good = task.batch(1), bad({{2, 1}}, {{40, 1}});
        const xf_batch mixed[] = {good.view(), bad.view()};
        train_to(clean.get(), task, 3);
        train_to(hurt.get(), task, 2);
        CHECK_FAILS(hurt->step(mixed, 2), XF_ERROR_OUT_OF_RANGE);
        CHECK_FAILS(hurt->update(), XF_ERROR_STATE);
        CHECK_FAILS(hurt->read_gradient(hurt->model()->table().list[0], nullptr), XF_ERROR_STATE);
        xf::CancelSource source;
        const xf::Call call(source, XF_CALL_INIT);
        source.cancel();
        CHECK_FAILS(hurt->step(mixed, 1, call), XF_ERROR_CANCELLED);
        CHECK_EQ(hurt->steps_done(), 2);
        // A parameter that is not finite makes the loss not finite; nothing else changes.
        const float kept = poke(*hurt, kInfinity);
        CHECK_FAILS(hurt->step(mixed, 1), XF_ERROR_NONFINITE);
        poke(*hurt, kept);
        train_to(hurt.get(), task, 3);
        CHECK(params_of(*clean) == params_of(*hurt));
        hurt->accumulate(good.view());
        CHECK_FAILS(hurt->step(mixed, 1), XF_ERROR_STATE);
        CHECK_FAILS(save(hurt.get(), "unused"), XF_ERROR_STATE);
        hurt->update();
        CHECK_EQ(hurt->steps_done(), 4);
    });
}

}  // namespace
