/*
 * xformer/train.hpp - train.h for C++: training.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFORMER_TRAIN_HPP
#define XFORMER_TRAIN_HPP

#include <vector>

#include "xformer/base.hpp"
#include "xformer/config.hpp"
#include "xformer/context.hpp"
#include "xformer/data.hpp"
#include "xformer/model.hpp"
#include "xformer/train.h"

namespace xformer {
inline namespace v0_1 {

/** @addtogroup cpp
 *  @{ */

/** @brief A place in the order of batches. */
struct Position {
    std::int64_t epoch; /**< from 0 */
    std::int64_t batch; /**< from 0 */
};

/** @brief The state of an optimization: gradients, moments, step. After an error it is as it was before the call. */
class Trainer : public Owner<View<xf_trainer>, xf_trainer, xf_trainer_free> {
public:
    using Owner::Owner;
    /** @brief Starts at step 0. @param model [in] what is trained; kept alive @param config [in] options "train." */
    explicit Trainer(ModelView model, ConfigView config = {})
        : Trainer(detail::make<Trainer>(xf_trainer_create, model.get(), config.get())) {}
    /** @brief Continues from a checkpoint. @param context [in] the context @param path [in] file name
     *  @param config [in] options "train." that change @return trainer and model as they were */
    static Trainer resume(const Context &context, CString path, ConfigView config = {}) {
        return detail::make<Trainer>(xf_trainer_resume, context.get(), path.c_str(), config.get());
    }

    /** @brief Makes an update. @param batch [in] with targets @return what the step did */
    xf_step_stats step(const Batch &batch) { return step(span<const Batch>(&batch, 1)); }
    /** @brief Makes one update from several batches. @param batches [in] with targets @return what the step did */
    xf_step_stats step(span<const Batch> batches) {
        return detail::fill(kNone, xf_train_step, get(), batches.data(), batches.size());
    }
    /** @brief Makes an update from the next batches of a batcher, which stands where it stood after an error.
     *  @param batcher [in,out] where they come from
     *  @param stats [out] what the step did
     *  @return false at the end of an epoch, when nothing was done; the next call begins the next */
    [[nodiscard]] bool next(Batcher &batcher, xf_step_stats &stats) {
        return detail::call(xf_train_next, get(), batcher.get(), &(stats = kNone)) == XF_OK;
    }
    /** @brief Ends the call that runs on this trainer in Cancelled. From any thread, or from a signal handler. */
    void cancel() const noexcept { xf_trainer_cancel(get()); }
    /** @brief Adds a batch's gradients to those that wait. @param batch [in] with targets @return of this batch */
    xf_step_stats accumulate(const Batch &batch) { return detail::fill(kNone, xf_train_accumulate, get(), &batch); }
    /** @brief Makes an update from the gradients that wait. @return what the step did */
    xf_step_stats update() { return detail::fill(kNone, xf_train_update, get()); }
    /** @brief Copies a waiting gradient. @param index [in] the tensor @return rows * columns numbers, row-major */
    std::vector<float> gradient(std::size_t index) {
        return detail::all_of(model().get(), index, [&](std::size_t at, span<float> values) { gradient(at, values); });
    }
    /** @brief Copies a waiting gradient. @param index [in] of the tensor
     *  @param values [out] rows * columns numbers */
    void gradient(std::size_t index, span<float> values) {
        detail::call(xf_trainer_read_gradient, get(), index, values.data(), values.size());
    }

    /** @brief Counts the updates made. @return steps; -1 when this is empty */
    std::int64_t steps() const noexcept { return xf_trainer_step_count(get()); }
    /** @brief What is trained. @return owned by the trainer */
    ModelView model() const noexcept { return ModelView(xf_trainer_model(get())); }
    /** @brief Copies the moving average of the parameters ("train.ema"). @return a model of its own */
    Model ema() const { return detail::make<Model>(xf_trainer_ema, get()); }
    /** @brief The options it works with. @return owned by the trainer */
    ConfigView config() const noexcept { return ConfigView(xf_trainer_config(get())); }

    /** @brief Saves a checkpoint without a batcher's place. @param path [in] file name */
    void save(CString path) { save(path, Batcher(nullptr)); }
    /** @brief Saves a checkpoint. @param path [in] file name @param batcher [in] its place is saved too */
    void save(CString path, const Batcher &batcher) {
        detail::call(xf_trainer_save, get(), batcher.get(), path.c_str());
    }
    /** @brief Tells the place that was saved with the checkpoint. @return zeros when none was */
    Position position() const {
        Position position{0, 0};
        detail::call(xf_trainer_get_position, get(), &position.epoch, &position.batch);
        return position;
    }
    /** @brief Moves a batcher to that place. @param batcher [in,out] of the same corpus, tokenizer and options */
    void seek(Batcher &batcher) const { detail::call(xf_trainer_seek, get(), batcher.get()); }

private:
    static constexpr xf_step_stats kNone = XF_STEP_STATS_INIT;
};

/** @} */

}  // namespace v0_1
}  // namespace xformer

#endif /* XFORMER_TRAIN_HPP */
