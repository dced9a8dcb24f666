// train.h of the public headers.
//
// SPDX-License-Identifier: Apache-2.0
#include "xformer/train.h"

#include <optional>

#include "api/guard.h"
#include "api/model_handle.h"

using namespace xf;

namespace {

void put_stats(xf_step_stats *out, const StepStats &s) {
    if (out == nullptr) return;
    const auto tokens = static_cast<double>(s.tgt_tokens);
    put_struct(
        out, xf_step_stats{0, s.step, s.sentences, s.src_tokens, s.tgt_tokens, s.loss_sum / tokens, s.nll_sum / tokens,
                           s.learning_rate, s.gradient_norm, static_cast<int32_t>(s.outcome), 0});
}

void check_stats(const xf_step_stats *stats) {
    if (stats != nullptr) check_struct(stats, "stats");
}

// A trainer and its model for themselves, for the time of a call that can be cancelled. checks(): what else the call
// needs. Where ranks make it together, each hears of what one has not.
struct TrainerUse {
    template <class Checks>
    TrainerUse(xf_trainer *trainer, const Checks &checks)
        : handle(trainer, "trainer", true), call(handle->context->call(&handle->cancel)) {
        try {
            model.emplace(*handle->trainer->model(), true);
            checks();
        } catch (...) {
            handle->trainer->tell(Trainer::Together::kStep);
            throw;
        }
    }
    // For a call that ranks don't make.
    explicit TrainerUse(xf_trainer *trainer)
        : handle(trainer, "trainer", true), call(handle->context->call(&handle->cancel)) {
        model.emplace(*handle->trainer->model(), true);
    }

    Use<xf_trainer> handle;
    std::optional<ModelUse> model;
    Call call;
};

std::unique_ptr<xf_trainer> make_handle(std::unique_ptr<Trainer> trainer, std::shared_ptr<const Tokenizer> tokenizer) {
    auto handle = std::make_unique<xf_trainer>();
    handle->context = trainer->model()->context_ptr();
    handle->model.reset(new xf_model);
    handle->model->borrowed = true;
    fill_model_handle(handle->model.get(), trainer->model(), std::move(tokenizer));
    handle->config.reset(new xf_config);
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

void xf_trainer_cancel(xf_trainer *trainer) {
    if (is_handle(trainer)) trainer->cancel.cancel();
}

xf_status xf_train_step(xf_trainer *trainer, const xf_batch *batches, size_t count, xf_step_stats *stats,
                        xf_error *err) {
    return guard(err, [&] {
        const TrainerUse use(trainer, [&] {
            check_stats(stats);
            check_pointer(batches, "batches");
            XF_CHECK(count > 0, XF_ERROR_INVALID_ARGUMENT, "count is 0, expected at least 1");
            get_batches(batches, count, &trainer->batches);
        });
        put_stats(stats, trainer->trainer->step(trainer->batches.data(), count, use.call));
    });
}

xf_status xf_train_next(xf_trainer *trainer, xf_batcher *batcher, xf_step_stats *stats, xf_error *err) {
    return guard(err, [&] {
        std::optional<Use<xf_batcher>> data;
        const TrainerUse use(trainer, [&] {
            data.emplace(batcher, "batcher", true);
            check_stats(stats);
        });
        StepStats made;
        if (!trainer->trainer->next((*data)->batcher.get(), &made, use.call)) return XF_DONE;
        put_stats(stats, made);
        return XF_OK;
    });
}

xf_status xf_train_accumulate(xf_trainer *trainer, const xf_batch *batch, xf_step_stats *stats, xf_error *err) {
    return guard(err, [&] {
        const TrainerUse use(trainer);
        try {
            check_stats(stats);
            put_stats(stats, trainer->trainer->accumulate(get_batch(batch), use.call));
        } catch (...) {  // a wrong argument, too: who begins the group anew must not count some twice
            trainer->trainer->drop_gradients();
            throw;
        }
    });
}

xf_status xf_train_update(xf_trainer *trainer, xf_step_stats *stats, xf_error *err) {
    return guard(err, [&] {
        const TrainerUse use(trainer);
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

xf_status xf_trainer_save(xf_trainer *trainer, const xf_batcher *batcher, const char *path, xf_error *err) {
    return guard(err, [&] {
        const auto use = exclusive(trainer, "trainer");
        DataPosition position;
        std::optional<ModelUse> parameters;
        std::string place, tokenizer;
        try {
            check_pointer(path, "path");
            place = path;
            if (batcher != nullptr) {
                const auto data = shared(batcher, "batcher");
                position = DataPosition::of(*data->batcher, data->batcher->fingerprint(), data->batcher->order());
            }
            parameters.emplace(*use->trainer->model(), false);
            tokenizer = tokenizer_json(*use->model);
        } catch (...) {
            use->trainer->tell(Trainer::Together::kSave);
            throw;
        }
        use->trainer->save(place, tokenizer, position, use->context->call(&use->cancel));
    });
}

xf_status xf_trainer_ema(const xf_trainer *trainer, xf_model **out, xf_error *err) {
    return guard(err, [&] {
        // Ranks exchange their slices, which two calls at a time would mix up.
        const bool has_ranks = is_handle(trainer) && trainer->context->comm() != nullptr;
        const Use<const xf_trainer> use(trainer, "trainer", has_ranks);
        std::optional<ModelUse> parameters;
        std::unique_ptr<xf_model> handle;
        try {
            check_pointer(out, "out");
            parameters.emplace(*use->trainer->model(), false);
            handle = std::make_unique<xf_model>();
        } catch (...) {
            use->trainer->tell(Trainer::Together::kSave);
            throw;
        }
        const auto &tokenizer = use->model->tokenizer;
        use->trainer->average([&](const std::shared_ptr<Model> &model) {
            fill_model_handle(handle.get(), model, tokenizer != nullptr ? tokenizer->tokenizer : nullptr);
        });
        *out = handle.release();
    });
}

xf_status xf_trainer_resume(xf_context *context, const char *path, const xf_config *config, xf_trainer **out,
                            xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(context, "context");
        check_pointer(path, "path");
        check_pointer(out, "out");
        const Call call = use->context->call();
        const ModelFile file(path);
        auto tokenizer = parse_tokenizer(file.contents().tokenizer);
        *out =
            make_handle(Trainer::resume(use->context, file, *OptionsOf(config), call), std::move(tokenizer)).release();
    });
}

xf_status xf_trainer_get_position(const xf_trainer *trainer, int64_t *epoch, int64_t *batch, xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(trainer, "trainer");
        check_pointer(epoch, "epoch");
        check_pointer(batch, "batch");
        *epoch = trainer->trainer->position().epoch;
        *batch = trainer->trainer->position().batch;
    });
}

xf_status xf_trainer_seek(const xf_trainer *trainer, xf_batcher *batcher, xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(trainer, "trainer");
        const auto data = exclusive(batcher, "batcher");
        trainer->trainer->seek(data->batcher.get(), data->batcher->fingerprint(), data->batcher->order(),
                               data->context->call());
    });
}

const xf_config *xf_trainer_config(const xf_trainer *trainer) {
    return is_handle(trainer) ? trainer->config.get() : nullptr;
}

}  // extern "C"
