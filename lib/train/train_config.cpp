// SPDX-License-Identifier: Apache-2.0
#include "train/train_config.h"

#include <string_view>

#include "core/error.h"

namespace xf {
namespace {

// The saved state depends on these: dropout masks, moments, moving average.
constexpr std::string_view kFixed[] = {"train.seed", "train.adam_beta1", "train.adam_beta2", "train.adam_epsilon",
                                       "train.ema"};

bool is_fixed(std::string_view key) {
    if (key.starts_with("model.")) return true;
    for (const std::string_view fixed : kFixed)
        if (key == fixed) return true;
    return false;
}

}  // namespace

TrainConfig TrainConfig::from(const Options &options, int64_t d_model) {
    TrainConfig c{};
    c.dropout = options.f64("train.dropout");
    c.attention_dropout = options.f64("train.attention_dropout");
    c.activation_dropout = options.f64("train.activation_dropout");
    c.label_smoothing = options.f64("train.label_smoothing");
    c.smooth_uniform = options.choice<bool>("train.label_smoothing_kind", {{"others", false}, {"uniform", true}});
    const int64_t warmup = options.i64("train.warmup_steps"), total = options.i64("train.total_steps");
    using Kind = Schedule::Kind;
    c.schedule.kind = options.choice<Kind>("train.schedule", {{"inverse_sqrt", Kind::kInverseSqrt},
                                                              {"constant", Kind::kConstant},
                                                              {"linear", Kind::kLinear},
                                                              {"cosine", Kind::kCosine}});
    c.schedule.factor = options.f64("train.learning_rate");
    c.schedule.warmup = warmup;
    c.schedule.d_model = d_model;
    c.schedule.total = total;
    if (c.schedule.kind == Kind::kLinear || c.schedule.kind == Kind::kCosine)
        XF_CHECK(total > warmup, XF_ERROR_INVALID_ARGUMENT,
                 "train.total_steps is %" PRId64 ", expected more than train.warmup_steps, %" PRId64
                 ", for a %s schedule",
                 total, warmup, options.text("train.schedule").c_str());
    c.beta1 = options.f64("train.adam_beta1");
    c.beta2 = options.f64("train.adam_beta2");
    c.epsilon = options.f64("train.adam_epsilon");
    c.weight_decay = options.f64("train.weight_decay");
    c.clip_norm = options.f64("train.clip_norm");
    c.ema = options.f64("train.ema");
    c.accumulate = options.i64("train.accumulate");
    c.shards = options.i64("train.shards");
    c.bf16_sums = options.choice<bool>("train.reduce_precision", {{"fp32", false}, {"bf16", true}});
    c.on_nonfinite = options.choice<OnNonfinite>(
        "train.on_nonfinite",
        {{"stop", OnNonfinite::kStop}, {"skip", OnNonfinite::kSkip}, {"rollback", OnNonfinite::kRollback}});
    c.seed = options.i64("train.seed");
    return c;
}

Options resumed_options(const Options &saved, const Options &changes) {
    for (size_t i = 0; i < option_count(); ++i) {
        const char *key = option(i).key;
        if (!is_fixed(key) || !changes.is_set(key) || changes.text(key) == saved.text(key)) continue;
        // 0 stands for the size of the tokenizer and -1 for its tokens: the saved values.
        const std::string_view name = key;
        if (name == "model.vocab_size" && changes.i64(key) == 0) continue;
        if ((name == "model.start_token" || name == "model.end_token") && changes.i64(key) < 0) continue;
        fail(XF_ERROR_STATE,
             "option '%s' is '%.64s', expected '%.64s' as in the checkpoint: a resumed run cannot change it", key,
             changes.text(key).c_str(), saved.text(key).c_str());
    }
    Options options = saved;
    options.copy_set(changes, "train.");
    return options;
}

}  // namespace xf
