// One update in detail: the schedule of eq. (3), Adam against fp64 arithmetic, gradients over several batches, and the
// state after an error.
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

std::vector<float> gradient_of(xf::Trainer *trainer) {
    const xf::ParameterTable &table = trainer->model()->table();
    std::vector<float> block(static_cast<size_t>(table.total));
    for (const xf::Parameter &p : table.list) trainer->read_gradient(p, block.data() + p.offset);
    return block;
}

// Compares the optimizer with section 2 of Kingma and Ba, computed in fp64.
XF_TEST(adam_matches_its_equations) {
    on_each_device(2, [](const auto &context, const DeviceName &) {
        for (const bool unusual : {false, true}) {
            Settings settings = kTraining;
            settings["train.warmup_steps"] = "10";  // both branches of the schedule within 20 steps
            if (unusual) {
                settings["train.adam_beta1"] = "0.5";
                settings["train.adam_beta2"] = "0.9";
                settings["train.adam_epsilon"] = "0.001";
            }
            const xf::Options options = options_of(settings);
            const double b1 = options.f64("train.adam_beta1"), b2 = options.f64("train.adam_beta2"),
                         eps = options.f64("train.adam_epsilon");
            const auto trainer = make_trainer(context, settings);
            const std::vector<float> start = params_of(*trainer);
            std::vector<double> x(start.begin(), start.end()), m(x.size()), v(x.size());
            const Task task;
            double longest = 0;
            for (int64_t t = 1; t <= 20; ++t) {
                const Batch batch = task.batch(t);
                trainer->accumulate(batch.view());
                const std::vector<float> gradient = gradient_of(trainer.get());
                const xf::StepStats stats = trainer->update();
                const double rate =
                    1 / std::sqrt(32.0) *
                    std::min(1 / std::sqrt(static_cast<double>(t)), static_cast<double>(t) * std::pow(10.0, -1.5));
                CHECK_NEAR(stats.learning_rate, rate, 1e-15);
                CHECK_EQ(stats.step, t);
                const double a = rate * std::sqrt(1 - std::pow(b2, static_cast<double>(t))) /
                                 (1 - std::pow(b1, static_cast<double>(t)));
                double squares = 0;
                for (size_t i = 0; i < x.size(); ++i) {
                    const double g = gradient[i];
                    squares += g * g;
                    m[i] = b1 * m[i] + (1 - b1) * g;
                    v[i] = b2 * v[i] + (1 - b2) * g * g;
                    x[i] -= a * m[i] / (std::sqrt(v[i]) + eps);
                }
                CHECK_NEAR(stats.gradient_norm / std::sqrt(squares), 1, 1e-6);
                longest += rate;
            }
            const std::vector<float> found = params_of(*trainer);
            double worst = 0, moved = 0;
            for (size_t i = 0; i < x.size(); ++i) {
                worst = std::max(worst, std::fabs(found[i] - x[i]));
                moved = std::max(moved, std::fabs(x[i] - start[i]));
            }
            CHECK(moved > 0.1 * longest);
            CHECK(worst < 1e-6 * longest + 2e-6);
        }
    });
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
        Settings settings = kTraining;
        settings["train.dropout"] = settings["train.attention_dropout"] = "0";
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
    Settings still = kTraining;  // the update changes only the step number
    still["train.learning_rate"] = "0";
    const auto frozen = make_trainer(any_device(), still);
    const xf_batch view = batch.view();
    const double step1 = frozen->step(&view, 1).loss_sum, step2 = frozen->step(&view, 1).loss_sum;
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
        const xf_call defaults = XF_CALL_INIT;
        const xf::Call call(source, defaults);
        source.cancel();
        CHECK_FAILS(hurt->step(mixed, 1, call), XF_ERROR_CANCELLED);
        CHECK_EQ(hurt->steps_done(), 2);
        // A parameter that is not finite makes the loss not finite; nothing else changes.
        xf::Stream stream(context->device());
        float kept = 0;
        const float infinity = std::numeric_limits<float>::infinity();
        float *const at = hurt->model()->params() + hurt->model()->table().decoder.layers[0].ff.norm.weights;
        stream.download(&kept, at, sizeof kept);
        stream.upload(at, &infinity, sizeof infinity);
        stream.sync();  // the trainer uses another stream
        CHECK_FAILS(hurt->step(mixed, 1), XF_ERROR_NONFINITE);
        stream.upload(at, &kept, sizeof kept);
        stream.sync();
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
