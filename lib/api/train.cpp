// train.h of the public headers.
//
// SPDX-License-Identifier: Apache-2.0
#include "xformer/train.h"

#include <optional>

#include "api/guard.h"
#include "api/io.h"
#include "api/model_handle.h"
#include "xformer/experimental.h"

using namespace xf;

namespace {

void put_stats(xf_step_stats *out, const StepStats &s) {
    if (out == nullptr) return;
    const auto tokens = static_cast<double>(s.tgt_tokens);
    put_struct(
        out, xf_step_stats{0, s.step, s.sentences, s.src_tokens, s.tgt_tokens, s.loss_sum / tokens, s.nll_sum / tokens,
                           s.learning_rate, s.gradient_norm, static_cast<int32_t>(s.outcome) + XF_STEP_UPDATED, 0});
}

void check_stats(const xf_step_stats *stats) {
    if (stats != nullptr) check_struct(stats, "stats");
}

// A trainer and its model for themselves, for the time of a call that can be cancelled. checks(): what else the call
// needs. Where ranks make it together, each hears of what one has not.
struct TrainerUse {
    template <class Checks>
    TrainerUse(xf_trainer *trainer, const xf_call *params, const Checks &checks) : handle(trainer, "trainer", true) {
        try {
            call.emplace(handle->context->cancel_source(), get_call(params));
            model.emplace(*handle->trainer->model(), true);
            checks();
        } catch (...) {
            handle->trainer->report_failure(Collective::kStep);
            throw;
        }
    }
    // For a call that ranks don't make.
    TrainerUse(xf_trainer *trainer, const xf_call *params) : handle(trainer, "trainer", true) {
        call.emplace(handle->context->cancel_source(), get_call(params));
        model.emplace(*handle->trainer->model(), true);
    }

    Use<xf_trainer> handle;
    std::optional<ModelUse> model;
    std::optional<Call> call;
};

std::unique_ptr<xf_trainer> make_handle(std::unique_ptr<Trainer> trainer, std::shared_ptr<const Tokenizer> tokenizer) {
    auto handle = std::make_unique<xf_trainer>();
    handle->context = trainer->model()->context_ptr();
    handle->model.reset(new xf_model);
    handle->model->borrowed = true;
    fill_model_handle(handle->model.get(), trainer->model(), std::move(tokenizer));
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
        auto trainer = std::make_unique<Trainer>(use->model, *OptionsOf(config));
        *out =
            make_handle(std::move(trainer), use->tokenizer != nullptr ? use->tokenizer->tokenizer : nullptr).release();
    });
}

void xf_trainer_free(xf_trainer *trainer) { free_handle(trainer); }

xf_status xf_train_step(xf_trainer *trainer, const xf_batch *batches, size_t count, const xf_call *call,
                        xf_step_stats *stats, xf_error *err) {
    return guard(err, [&] {
        const TrainerUse use(trainer, call, [&] {
            check_stats(stats);
            check_pointer(batches, "batches");
            XF_CHECK(count > 0, XF_ERROR_INVALID_ARGUMENT, "count is 0, expected at least 1");
            get_batches(batches, count, &trainer->batches);
        });
        put_stats(stats, trainer->trainer->step(trainer->batches.data(), count, *use.call));
    });
}

xf_status xf_train_next(xf_trainer *trainer, xf_batcher *batcher, const xf_call *call, xf_step_stats *stats,
                        xf_error *err) {
    return guard(err, [&] {
        std::optional<Use<xf_batcher>> data;
        const TrainerUse use(trainer, call, [&] {
            data.emplace(batcher, "batcher", true);
            check_stats(stats);
        });
        StepStats made;
        if (!trainer->trainer->next((*data)->batcher.get(), &made, *use.call)) return XF_DONE;
        put_stats(stats, made);
        return XF_OK;
    });
}

xf_status xf_train_accumulate(xf_trainer *trainer, const xf_batch *batch, const xf_call *call, xf_step_stats *stats,
                              xf_error *err) {
    return guard(err, [&] {
        const TrainerUse use(trainer, call);
        try {
            check_stats(stats);
            put_stats(stats, trainer->trainer->accumulate(get_batch(batch), *use.call));
        } catch (...) {  // also after a wrong argument, so that a caller that repeats the group counts no batch twice
            trainer->trainer->drop_gradients();
            throw;
        }
    });
}

xf_status xf_train_update(xf_trainer *trainer, xf_step_stats *stats, xf_error *err) {
    return guard(err, [&] {
        const TrainerUse use(trainer, nullptr);
        check_stats(stats);
        put_stats(stats, trainer->trainer->update());
    });
}

xf_status xf_trainer_read_gradient(xf_trainer *trainer, size_t index, float *values, size_t count, xf_error *err) {
    return guard(err, [&] {
        const auto use = exclusive(trainer, "trainer");
        check_pointer(values, "values");
        const auto &list = trainer->trainer->model()->table().list;
        XF_CHECK(index < list.size(), XF_ERROR_OUT_OF_RANGE, "parameter %zu, expected 0 to %zu", index,
                 list.size() - 1);
        XF_CHECK(count == static_cast<size_t>(list[index].size()), XF_ERROR_INVALID_ARGUMENT,
                 "count is %zu, expected %lld for '%s'", count, static_cast<long long>(list[index].size()),
                 list[index].name.c_str());
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
        try {
            to.emplace(sink);
            target = {to->name(), to->path(), [&](const CheckpointTarget::Write &write) { to->save(write); }};
            own.emplace(use->context->cancel_source(), get_call(call));
            if (batcher != nullptr) {
                const auto data = shared(batcher, "batcher");
                position = DataPosition::of(*data->batcher, data->batcher->fingerprint(), data->batcher->order());
            }
            parameters.emplace(*use->trainer->model(), false);
            tokenizer = tokenizer_json(*use->model);
        } catch (...) {
            use->trainer->report_failure(Collective::kSave);
            throw;
        }
        use->trainer->save(target, tokenizer, position, *own);
    });
}

xf_status xf_trainer_copy_average(const xf_trainer *trainer, const xf_call *call, xf_model **out, xf_error *err) {
    return guard(err, [&] {
        // Ranks exchange their slices, which two calls at a time would mix up.
        const bool has_ranks = is_handle(trainer) && trainer->context->communicator() != nullptr;
        const Use<const xf_trainer> use(trainer, "trainer", has_ranks);
        std::optional<ModelUse> parameters;
        std::unique_ptr<xf_model> handle;
        try {
            check_pointer(out, "out");
            begin_call(*use->context, call).check();
            parameters.emplace(*use->trainer->model(), false);
            handle = std::make_unique<xf_model>();
        } catch (...) {
            use->trainer->report_failure(Collective::kSave);
            throw;
        }
        const auto &tokenizer = use->model->tokenizer;
        use->trainer->average([&](const std::shared_ptr<Model> &model) {
            fill_model_handle(handle.get(), model, tokenizer != nullptr ? tokenizer->tokenizer : nullptr);
        });
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
