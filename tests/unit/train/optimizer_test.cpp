// The update, compared with fp64 arithmetic: schedules, Adam, clipping, AdamW weight decay, and the moving average;
// gradients over several batches; and the state after an error. A resumed run that uses all options has the same bits
// as an uninterrupted one.
//
// SPDX-License-Identifier: Apache-2.0
#include <numbers>

#include "train/training.hpp"

namespace {

using namespace xf_test;
using Kind = xf::Schedule::Kind;

std::vector<float> average_of(xf::Trainer &trainer) { return params_of(*trainer.average()); }

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
        CHECK_EQ(hurt->steps_done(), 2);
        train_to(hurt.get(), task, 3);
        CHECK(params_of(*clean) == params_of(*hurt));
        hurt->accumulate(good.view());
        CHECK_FAILS(hurt->step(mixed, 1), XF_ERROR_STATE);
        CHECK_FAILS(save(hurt.get(), "unused"), XF_ERROR_STATE);
        hurt->update();
        CHECK_EQ(hurt->steps_done(), 4);
    });
}

XF_TEST(schedules_increase_linearly_and_end_at_0) {
    for (const double factor : {1.0, 3e-4}) {
        const xf::Schedule linear{Kind::kLinear, factor, 10, 512, 110}, cosine{Kind::kCosine, factor, 10, 512, 110};
        for (int64_t step = 1; step <= 300; ++step) {
            const double s = static_cast<double>(step), x = (s - 10) / 100;
            CHECK_NEAR(linear.rate(step), step <= 10 ? factor * s / 10 : step >= 110 ? 0 : factor * (1 - x), 1e-15);
            const double wave = 0.5 * (1 + std::cos(x * std::numbers::pi));
            CHECK_NEAR(cosine.rate(step), step <= 10 ? factor * s / 10 : step >= 110 ? 0 : factor * wave, 1e-15);
        }
        CHECK_EQ(cosine.rate(int64_t{1} << 53), 0.0);
    }
    Settings settings = kTraining;
    settings["train.warmup_steps"] = settings["train.total_steps"] = "50";
    for (const char *schedule : {"linear", "cosine"}) {
        settings["train.schedule"] = schedule;
        CHECK_FAILS(xf::TrainConfig::from(options_of(settings), 32), XF_ERROR_INVALID_ARGUMENT);
    }
    settings["train.schedule"] = "constant";  // does not need train.total_steps
    xf::TrainConfig::from(options_of(settings), 32);
}

// Compares updates with algorithm 2 of Loshchilov and Hutter, which is Adam (Kingma and Ba, section 2) without decay,
// with clipping and a moving average, computed in fp64.
void compare_with_doubles(const std::shared_ptr<xf::Context> &context, const Settings &changes, bool clips,
                          int64_t steps = 5) {
    const Settings settings = with(kTraining, changes);
    const xf::Options options = options_of(settings);
    const double b1 = options.f64("train.adam_beta1"), b2 = options.f64("train.adam_beta2"),
                 eps = options.f64("train.adam_epsilon"), decay = options.f64("train.weight_decay"),
                 clip = options.f64("train.clip_norm"), ema = options.f64("train.ema");
    const xf::Schedule schedule = xf::TrainConfig::from(options, 32).schedule;
    const auto trainer = make_trainer(context, settings);
    const std::vector<float> start = params_of(*trainer);
    std::vector<double> x(start.begin(), start.end()), average = x, m(x.size()), v(x.size());
    std::vector<bool> decays(x.size());
    size_t matrices = 0;
    for (const xf::Parameter &p : trainer->model()->table().list) {
        const bool matrix = p.name.ends_with("weight") && !p.name.ends_with("norm.weight");
        matrices += matrix ? 1 : 0;
        for (int64_t i = 0; i < p.size(); ++i) decays[static_cast<size_t>(p.offset + i)] = matrix;
    }
    CHECK(matrices > 10 && matrices < trainer->model()->table().list.size());
    double longest = 0;
    const Task task;
    for (int64_t t = 1; t <= steps; ++t) {
        trainer->accumulate(task.batch(t).view());
        const std::vector<float> gradient = gradient_of(trainer.get());
        const xf::StepStats stats = trainer->update();
        double squares = 0;
        for (const float g : gradient) squares += double{g} * g;
        CHECK_NEAR(stats.gradient_norm / std::sqrt(squares), 1, 1e-6);  // before clipping
        const bool clipped = clip > 0 && std::sqrt(squares) > clip;
        CHECK_EQ(clipped, clips);
        const double factor = clipped ? clip / std::sqrt(squares) : 1, n = static_cast<double>(t);
        const double rate = stats.learning_rate;
        CHECK_NEAR(rate, schedule.rate(t), 1e-15);
        CHECK_EQ(stats.step, t);
        for (size_t i = 0; i < x.size(); ++i) {
            const double g = factor * gradient[i];
            m[i] = b1 * m[i] + (1 - b1) * g;
            v[i] = b2 * v[i] + (1 - b2) * g * g;
            const double move = rate * std::sqrt(1 - std::pow(b2, n)) / (1 - std::pow(b1, n)) * m[i];
            x[i] = x[i] - (decays[i] ? rate * decay * x[i] : 0) - move / (std::sqrt(v[i]) + eps);
            average[i] = ema * average[i] + (1 - ema) * x[i];
        }
        longest += rate;
    }
    const std::vector<float> found = params_of(*trainer);
    double worst = 0, worst_average = 0, moved = 0;
    const std::vector<float> found_average = ema > 0 ? average_of(*trainer) : found;
    for (size_t i = 0; i < x.size(); ++i) {
        worst = std::max(worst, std::fabs(found[i] - x[i]));
        moved = std::max(moved, std::fabs(x[i] - start[i]));
        if (ema > 0) worst_average = std::max(worst_average, std::fabs(found_average[i] - average[i]));
    }
    CHECK(moved > 0.1 * longest);
    CHECK(worst < 1e-6 * longest + 2e-6);
    CHECK(worst_average < 1e-5 * longest + 1e-6);
    if (ema == 0) CHECK_FAILS(trainer->average(), XF_ERROR_STATE);
}

XF_TEST(adam_clipping_decay_and_average_match_their_formulas) {
    const Settings eq3 = {{"train.warmup_steps", "10"}};  // both branches of eq. (3) within 20 steps
    const Settings adam = {{"train.adam_beta1", "0.5"}, {"train.adam_beta2", "0.9"}, {"train.adam_epsilon", "0.001"}};
    const Settings fast =
        "train.schedule=cosine train.learning_rate=0.01 train.warmup_steps=2 train.total_steps=8 "
        "train.label_smoothing=0.05"_set;
    on_each_device(2, [&](const auto &context, const DeviceName &) {
        compare_with_doubles(context, eq3, false, 20);
        compare_with_doubles(context, with(eq3, adam), false, 20);
        compare_with_doubles(context, with(fast, {{"train.weight_decay", "5"}}), false);
        compare_with_doubles(context, with(fast, {{"train.clip_norm", "0.125"}}), true);
        compare_with_doubles(context, with(fast, {{"train.clip_norm", "1e6"}, {"train.ema", "0.75"}}), false);
        compare_with_doubles(
            context, with(fast, {{"train.weight_decay", "2"}, {"train.clip_norm", "0.25"}, {"train.ema", "0.5"}}),
            true);
    });
}

// Options whose values have no effect give the same bits as plain Adam.
XF_TEST(options_without_effect_change_no_bit) {
    on_each_device(2, [](const auto &context, const DeviceName &) {
        Settings idle =
            with(kTraining, {{"train.clip_norm", "1e9"}, {"train.ema", "0.9"}, {"train.on_nonfinite", "skip"}});
        const auto plain = make_trainer(context, kTraining), other = make_trainer(context, idle);
        CHECK_EQ(train_to(plain.get(), Task(), 4), train_to(other.get(), Task(), 4));
        CHECK(params_of(*plain) == params_of(*other));
    });
}

XF_TEST(a_resumed_run_keeps_average_decay_and_schedule) {
    const TempFolder folder;
    Settings settings =
        with(kTraining,
             "train.schedule=linear train.total_steps=200 train.learning_rate=0.003 train.weight_decay=0.1 "
             "train.clip_norm=0.5 train.ema=0.9"_set);
    on_each_device(2, [&](const auto &context, const DeviceName &) {
        const auto whole = make_trainer(context, settings), first = make_trainer(context, settings);
        CHECK(average_of(*first) == params_of(*first));  // before the first update
        save(first.get(), folder / "0");
        CHECK(average_of(*resume(context, folder / "0")) == params_of(*first));
        train_to(whole.get(), Task(), 9);
        train_to(first.get(), Task(), 5);
        save(first.get(), folder / "5");
        const auto second = resume(context, folder / "5");
        CHECK(average_of(*second) == average_of(*first));
        CHECK(average_of(*second) != params_of(*first));
        train_to(second.get(), Task(), 9);
        CHECK(params_of(*whole) == params_of(*second));
        CHECK(average_of(*whole) == average_of(*second));
        save(whole.get(), folder / "whole");
        save(second.get(), folder / "second");
        CHECK(bytes_of(folder / "whole") == bytes_of(folder / "second"));
    });
    CHECK(bytes_of(folder / "5").find("\"ema.embedding.weight\"") != std::string::npos);
}

XF_TEST(options_that_a_resumed_run_may_change) {
    const TempFolder folder;
    const auto context = any_device();
    Settings settings = with(kTraining, {{"train.ema", "0.9"}});
    const auto trainer = make_trainer(context, settings);
    train_to(trainer.get(), Task(), 2);
    const std::string path = folder / "run";
    save(trainer.get(), path);
    const auto resumed = [&](const Settings &changes) {
        return xf::Trainer::resume(context, xf::ModelFile(path), options_of(changes));
    };
    const auto changed = resumed(
        "train.schedule=constant train.learning_rate=0.125 train.warmup_steps=1 train.clip_norm=2 "
        "train.dropout=0.25 decode.beam=7 model.vocab_size=0 train.seed=1 train.ema=0.9"_set);
    CHECK_EQ(changed->options().text("train.clip_norm"), "2");
    CHECK_EQ(changed->options().text("train.dropout"), "0.25");
    CHECK_EQ(changed->options().text("train.attention_dropout"), "0.1");  // not set, so it is the saved value
    CHECK(params_of(*changed) == params_of(*trainer));
    CHECK_EQ(step(changed.get(), {Task().batch(2)}).learning_rate, 0.125);
    for (const auto &setting :
         "train.seed=2 train.adam_beta1=0.8 train.adam_beta2=0.9 train.adam_epsilon=1e-8 train.ema=0 "
         "model.d_model=64 model.norm=pre"_set)
        CHECK_REFUSED((resumed({{setting.first, setting.second}})), XF_ERROR_STATE, setting.first);
    CHECK_FAILS(resumed({{"train.schedule", "cosine"}, {"train.total_steps", "50"}}), XF_ERROR_INVALID_ARGUMENT);
}

}  // namespace
