// train.h of the public headers.
//
// SPDX-License-Identifier: Apache-2.0
#include "xformer/train.h"

#include <optional>

#include "api/io.h"
#include "api/model_handle.h"
#include "train/trainer.h"
#include "xformer/experimental.h"

using namespace xf;

namespace {

void put_stats(xf_step_stats *out, const StepStats &s) {
    if (out == nullptr) return;
    put_struct(out, xf_step_stats{0, s.step, s.sentences, s.src_tokens, s.tgt_tokens, s.loss_sum / s.tgt_tokens,
                                  s.nll_sum / s.tgt_tokens, s.learning_rate, s.gradient_norm, s.outcome, 0});
}

void check_stats(const xf_step_stats *stats) {
    if (stats != nullptr) check_struct(stats, "stats");
}

// The objects that a step uses: a call that can be cancelled, and write access to the parameters of the model.
struct StepUse {
    StepUse(const xf_trainer &trainer, const xf_call *params)
        : call(begin_call(*trainer.context, params)), model(*trainer.trainer->model(), true) {}

    Call call;
    ModelUse model;
};

// Runs the checks of a call that all ranks make together. If they fail on one rank, the call fails on every rank.
template <class Checks>
void check_on_all_ranks(const xf_trainer &trainer, Collective call, const Checks &checks) {
    try {
        checks();
    } catch (...) {
        trainer.trainer->report_failure(call);
        throw;
    }
}

std::unique_ptr<xf_trainer> make_handle(std::unique_ptr<Trainer> trainer, std::shared_ptr<const Tokenizer> tokenizer) {
    auto handle = std::make_unique<xf_trainer>();
    handle->context = trainer->model()->context_ptr();
    handle->model.reset(make_handle(trainer->model(), std::move(tokenizer)).release());
    handle->model->borrowed = true;
    handle->config.reset(new xf_config);
    handle->config->borrowed = true;
    handle->config->options = trainer->options();
    handle->trainer = std::move(trainer);
    return handle;
}

}  // namespace

extern "C" {

xf_status xf_trainer_create(xf_model *model, const xf_config *config, xf_trainer **out, xf_error *err) {
    return guard(err, [&] {
        const auto use = exclusive(model, "model");
        check_pointer(out, "out");
        *out = make_handle(std::make_unique<Trainer>(use->model, *OptionsOf(config)), tokenizer_of(*use)).release();
    });
}

void xf_trainer_free(xf_trainer *trainer) { free_handle(trainer); }

xf_status xf_train_step(xf_trainer *trainer, const xf_batch *batches, size_t count, const xf_call *call,
                        xf_step_stats *stats, xf_error *err) {
    return guard(err, [&] {
        const auto use = exclusive(trainer, "trainer");
        std::optional<StepUse> step;
        check_on_all_ranks(*use, Collective::kStep, [&] {
            step.emplace(*use, call);
            check_stats(stats);
            check_pointer(batches, "batches");
            XF_CHECK(count > 0, XF_ERROR_INVALID_ARGUMENT, "count is 0, expected at least 1");
            use->batches.clear();
            for (size_t i = 0; i < count; ++i) use->batches.push_back(get_batch(element(batches, i, "batches")));
        });
        put_stats(stats, use->trainer->step(use->batches.data(), count, step->call));
    });
}

xf_status xf_train_next(xf_trainer *trainer, xf_batcher *batcher, const xf_call *call, xf_step_stats *stats,
                        xf_error *err) {
    return guard(err, [&] {
        const auto use = exclusive(trainer, "trainer");
        std::optional<StepUse> step;
        std::optional<Use<xf_batcher>> data;
        check_on_all_ranks(*use, Collective::kStep, [&] {
            step.emplace(*use, call);
            data.emplace(batcher, "batcher", true);
            check_stats(stats);
        });
        StepStats made;
        if (!use->trainer->next((*data)->batcher.get(), &made, step->call)) return XF_DONE;
        put_stats(stats, made);
        return XF_OK;
    });
}

xf_status xf_train_accumulate(xf_trainer *trainer, const xf_batch *batch, const xf_call *call, xf_step_stats *stats,
                              xf_error *err) {
    return guard(err, [&] {
        const auto use = exclusive(trainer, "trainer");
        const StepUse step(*use, call);
        try {
            check_stats(stats);
            put_stats(stats, use->trainer->accumulate(get_batch(batch), step.call));
        } catch (...) {  // also after a wrong argument, so that a caller that repeats the group counts no batch twice
            use->trainer->drop_gradients();
            throw;
        }
    });
}

xf_status xf_train_update(xf_trainer *trainer, xf_step_stats *stats, xf_error *err) {
    return guard(err, [&] {
        const auto use = exclusive(trainer, "trainer");
        const ModelUse model(*use->trainer->model(), true);
        check_stats(stats);
        put_stats(stats, use->trainer->update());
    });
}

xf_status xf_trainer_read_gradient(xf_trainer *trainer, size_t index, float *values, size_t count, xf_error *err) {
    return guard(err, [&] {
        const auto use = exclusive(trainer, "trainer");
        check_pointer(values, "values");
        const auto &list = trainer->trainer->model()->table().list;
        XF_CHECK(index < list.size(), XF_ERROR_OUT_OF_RANGE, "parameter %zu, expected 0 to %zu", index,
                 list.size() - 1);
        XF_CHECK(std::cmp_equal(count, list[index].size()), XF_ERROR_INVALID_ARGUMENT,
                 "count is %zu, expected %" PRId64 " for '%s'", count, list[index].size(), list[index].name.c_str());
        trainer->trainer->read_gradient(list[index], values);
    });
}

int64_t xf_trainer_step_count(const xf_trainer *trainer) {
    return is_handle(trainer) ? trainer->trainer->steps_done() : -1;
}

xf_model *xf_trainer_model(xf_trainer *trainer) { return is_handle(trainer) ? trainer->model.get() : nullptr; }

xf_status xf_trainer_save(xf_trainer *trainer, const xf_batcher *batcher, const xf_call *call, const xf_sink *sink,
                          xf_error *err) {
    return guard(err, [&] {
        const auto use = exclusive(trainer, "trainer");
        DataPosition position;
        std::optional<ModelUse> parameters;
        std::optional<Sink> to;
        std::optional<Call> own;
        std::string tokenizer;
        CheckpointTarget target;
        check_on_all_ranks(*use, Collective::kSave, [&] {
            to.emplace(sink);
            target = {to->name(), to->path(), [&](const CheckpointTarget::Write &write) { to->save(write); }};
            own.emplace(use->context->cancel_source(), get_call(call));
            if (batcher != nullptr) {
                const auto data = shared(batcher, "batcher");
                position = DataPosition::of(*data->batcher);
            }
            parameters.emplace(*use->trainer->model(), false);
            tokenizer = tokenizer_json_of(*use->model);
        });
        use->trainer->save(target, tokenizer, position, *own);
    });
}

xf_status xf_trainer_copy_average(const xf_trainer *trainer, const xf_call *call, xf_model **out, xf_error *err) {
    return guard(err, [&] {
        // Ranks exchange their slices, which two calls at a time would mix up.
        const bool has_ranks = is_handle(trainer) && trainer->context->communicator().size() > 1;
        const Use<const xf_trainer> use(trainer, "trainer", has_ranks);
        std::optional<ModelUse> parameters;
        std::unique_ptr<xf_model> handle;
        check_on_all_ranks(*use, Collective::kSave, [&] {
            check_pointer(out, "out");
            begin_call(*use->context, call).check();
            parameters.emplace(*use->trainer->model(), false);
        });
        use->trainer->average(
            [&](const std::shared_ptr<Model> &model) { handle = make_handle(model, tokenizer_of(*use->model)); });
        *out = handle.release();
    });
}

xf_status xf_trainer_resume(xf_context *context, const xf_source *source, const xf_config *config, const xf_call *call,
                            xf_trainer **out, xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(context, "context");
        auto input = open_source(source);
        check_pointer(out, "out");
        const Call own = begin_call(*use->context, call);
        const ModelFile file(std::move(input));
        auto tokenizer = parse_tokenizer(file.contents().tokenizer);
        *out =
            make_handle(Trainer::resume(use->context, file, *OptionsOf(config), own), std::move(tokenizer)).release();
    });
}

const xf_config *xf_trainer_config(const xf_trainer *trainer) {
    return is_handle(trainer) ? trainer->config.get() : nullptr;
}

}  // extern "C"
