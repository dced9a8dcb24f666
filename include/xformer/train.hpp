/*
 * xformer/train.hpp - train.h for C++: training.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFORMER_TRAIN_HPP
#define XFORMER_TRAIN_HPP

#include <vector>

#include "xformer/base.hpp"
#include "xformer/call.hpp"
#include "xformer/config.hpp"
#include "xformer/context.hpp"
#include "xformer/data.hpp"
#include "xformer/io.hpp"
#include "xformer/model.hpp"
#include "xformer/train.h"

namespace xformer {
inline namespace v0_1 {

/** @addtogroup cpp
 *  @{ */

/** @brief Trains a model. After an error, parameters, moments, and step are as before the call. */
class Trainer : public Owner<View<xf_trainer>, xf_trainer, xf_trainer_free> {
public:
    using Owner::Owner;
    /** @brief Creates a trainer at step 0. @param model [in] kept alive @param config [in] "train." options */
    explicit Trainer(ModelView model, ConfigView config = {})
        : Trainer(detail::make<Trainer>(xf_trainer_create, model.get(), config.get())) {}
    /** @brief Creates a trainer and its model from a checkpoint. @param context [in] the context
     *  @param source [in] a path, bytes, or another Source @param config [in] "train." options that change
     *  @param call [in] parameters of the call @return the trainer, in the state in which it was saved */
    static Trainer resume(const Context &context, const Source &source, ConfigView config = {}, const Call &call = {}) {
        const xf_source from = source.get();
        return detail::make<Trainer>(xf_trainer_resume, context.get(), &from, config.get(),
                                     detail::CallStruct(call).get());
    }

    /** @brief Updates the model from one batch. @param batch [in] with targets @param call [in] parameters of the call
     *  @return statistics of the step */
    xf_step_stats step(const Batch &batch, const Call &call = {}) { return step(span<const Batch>(&batch, 1), call); }
    /** @brief Updates the model once from several batches. @param batches [in] with targets
     *  @param call [in] parameters of the call @return statistics of the step */
    xf_step_stats step(span<const Batch> batches, const Call &call = {}) {
        return detail::fill(kNone, xf_train_step, get(), batches.data(), batches.size(),
                            detail::CallStruct(call).get());
    }
    /** @brief Updates the model from the next batches of a batcher. After an error the batcher keeps its position.
     *  @param batcher [in,out] the source of the batches
     *  @param stats [out] statistics of the step
     *  @param call [in] parameters of the call
     *  @return false at the end of an epoch: no step was made; the next call begins the next epoch */
    [[nodiscard]] bool next(Batcher &batcher, xf_step_stats &stats, const Call &call = {}) {
        stats = kNone;
        return detail::call(xf_train_next, get(), batcher.get(), detail::CallStruct(call).get(), &stats) == XF_OK;
    }
    /** @brief Adds the gradients of a batch to the pending gradients. @param batch [in] with targets
     *  @param call [in] parameters of the call @return statistics of this batch */
    xf_step_stats accumulate(const Batch &batch, const Call &call = {}) {
        return detail::fill(kNone, xf_train_accumulate, get(), &batch, detail::CallStruct(call).get());
    }
    /** @brief Updates the model from the pending gradients. @return statistics of the step */
    xf_step_stats update() { return detail::fill(kNone, xf_train_update, get()); }

    /** @brief Returns the number of updates. @return the number; -1 if this object is empty */
    std::int64_t steps() const noexcept { return xf_trainer_step_count(get()); }
    /** @brief Returns the model. @return owned by the trainer */
    ModelView model() const noexcept { return ModelView(xf_trainer_model(get())); }
    /** @brief Copies the exponential moving average of the parameters ("train.ema"). @param call [in] parameters of the
     *  call @return a new model */
    Model copy_average(const Call &call = {}) const {
        return detail::make<Model>(xf_trainer_copy_average, get(), detail::CallStruct(call).get());
    }
    /** @brief Returns the options in effect. @return owned by the trainer */
    ConfigView config() const noexcept { return ConfigView(xf_trainer_config(get())); }

    /** @brief Saves a checkpoint without the position of a batcher. @param sink [in] the destination
     *  @param call [in] parameters of the call */
    void save(const Sink &sink, const Call &call = {}) { save(sink, Batcher(nullptr), call); }
    /** @brief Saves a checkpoint. @param sink [in] the destination @param batcher [in] its position is saved
     *  @param call [in] parameters of the call */
    void save(const Sink &sink, const Batcher &batcher, const Call &call = {}) {
        const xf_sink to = sink.get();
        detail::call(xf_trainer_save, get(), batcher.get(), detail::CallStruct(call).get(), &to);
    }

private:
    static constexpr xf_step_stats kNone = XF_STEP_STATS_INIT;
};

/** @} */

}  // namespace v0_1
}  // namespace xformer

#endif /* XFORMER_TRAIN_HPP */
