// SPDX-License-Identifier: Apache-2.0
#include "train/trainer.h"

#include "train/gated_gradient_sum.h"
#include "train/local_gradient_sum.h"
#include "train/sharded_gradient_sum.h"

namespace xf {

Trainer::Trainer(std::shared_ptr<Model> model, const Options &options)
    : model_(std::move(model)),
      config_(TrainConfig::from(options, model_->config().D)),
      stream_(model_->context().device(), model_->dtype()) {
    model_->params();  // throws for low-precision weights before any large allocation
    options_.copy_group(options, "train.");
    create_shards();
    const bool has_ranks = shards_ != nullptr && exchange_->ranks() > 1;
    const TrainPart part{*model_, stream_, config_};
    optimizer_ = std::make_unique<Optimizer>(part, has_ranks ? exchange_.get() : nullptr);
    if (has_ranks) ranks_ = std::make_unique<RankProtocol>(part, options_, *optimizer_, *group_, *exchange_);
    if (shards_ != nullptr)
        sum_ = std::make_unique<ShardedGradientSum>(part, *optimizer_, *shards_, *exchange_, *group_, ranks_.get());
    else if (stream_.device().ops().gate != nullptr)
        sum_ = std::make_unique<GatedGradientSum>(part, *optimizer_);
    else
        sum_ = std::make_unique<LocalGradientSum>(part, *optimizer_);
    checkpoint_ = std::make_unique<Checkpoint>(part, options_, *optimizer_, *sum_, ranks_.get());
}

void Trainer::create_shards() {
    Communicator &communicator = model_->context().communicator();
    if (communicator.size() == 1 && config_.shards <= 1) return;
    exchange_ = std::make_unique<BlockExchange>(model_->context_ptr(), model_->table().total);
    shards_ = std::make_unique<ShardSums>(model_->context(), *exchange_, config_.shards, config_.bf16_sums);
    group_ = std::make_unique<RankGroup>(communicator, shards_->most());
    options_.set_i64("train.shards", shards_->count());
}

StepStats Trainer::step(const xf_batch *batches, size_t count, const Call &call) {
    return make_step([&] { sum_->add_step(batches, count, call); }, nullptr);
}

bool Trainer::next(Batcher *batcher, StepStats *stats, const Call &call) {
    while (batcher->at_end_of_chunk())
        if (!sum_->next_chunk(batcher, call)) return false;
    const Batcher::Position before = batcher->position();
    try {
        *stats = make_step([&] { sum_->add_step(batcher, call); }, batcher);
    } catch (...) {
        batcher->seek(before);  // within the chunk, so it cannot fail
        throw;
    }
    return true;
}

// next: provides the batches of the next step; null: unknown.
template <class AddBatches>
StepStats Trainer::make_step(const AddBatches &add_batches, const Batcher *next) {
    check_no_pending_gradients();
    try {
        add_batches();
        return finish(next);
    } catch (const Error &error) {
        StepStats stats{sum_->stats()};
        stats.gradient_norm = sum_->norm();
        drop_gradients();
        if (error.status() != XF_ERROR_NONFINITE) throw;
        ++nonfinite_steps_;
        return handle_nonfinite(error, stats);
    } catch (...) {
        drop_gradients();
        throw;
    }
}

StepStats Trainer::finish(const Batcher *next) {
    XF_CHECK(sum_->pending_batches() > 0, XF_ERROR_STATE,
             "no gradients are pending, expected a call of xf_train_accumulate() before");
    StepStats stats;
    stats.step = steps_done() + 1;
    stats.learning_rate = config_.schedule.rate(stats.step);
    try {
        const GradientScale scale = sum_->finish();
        optimizer_->apply(sum_->grads(), scale, stats.learning_rate);
        sum_->publish(next);
    } catch (const std::exception &error) {
        sum_->abandon(error);
        throw;
    }
    optimizer_->commit();
    static_cast<ShardStats &>(stats) = sum_->stats();
    stats.gradient_norm = sum_->norm();
    nonfinite_steps_ = 0;
    drop_gradients();
    if (const Context &context = model_->context(); context.logs(XF_LOG_DEBUG))
        context.log(XF_LOG_DEBUG, "train", "step %" PRId64 ": loss %s, gradient norm %s, learning rate %s", stats.step,
                    NumberText(stats.loss_sum / stats.tgt_tokens).c_str(), NumberText(stats.gradient_norm).c_str(),
                    NumberText(stats.learning_rate).c_str());
    return stats;
}

// Called in the handler of the error: follows train.on_nonfinite, or throws. stats: of the step that was dropped.
StepStats Trainer::handle_nonfinite(const Error &error, StepStats stats) {
    constexpr int kMaxInARow = 10;
    using Policy = TrainConfig::OnNonfinite;
    const bool rolls_back = config_.on_nonfinite == Policy::kRollback && checkpoint_->exists();
    if (config_.on_nonfinite != Policy::kSkip && !rolls_back) throw;
    if (nonfinite_steps_ >= kMaxInARow)
        fail(XF_ERROR_NONFINITE, "%s, and neither were the %d steps before it", error.what(), nonfinite_steps_ - 1);
    if (rolls_back) {
        checkpoint_->roll_back();
        model_->context().log(XF_LOG_WARNING, "train", "%s: returned to step %" PRId64 ", saved in '%s'", error.what(),
                              steps_done(), checkpoint_->path().c_str());
    } else {
        model_->context().log(XF_LOG_WARNING, "train", "%s: its batches are skipped", error.what());
    }
    stats.step = steps_done();
    stats.outcome = rolls_back ? XF_STEP_ROLLED_BACK : XF_STEP_SKIPPED;
    return stats;
}

StepStats Trainer::accumulate(const xf_batch &batch, const Call &call) {
    try {
        return {sum_->accumulate(batch, call)};
    } catch (const Error &error) {
        if (error.status() == XF_ERROR_NONFINITE) ++nonfinite_steps_;
        throw;
    }
}

StepStats Trainer::update() {
    optimizer_->check_consistent();
    try {
        return finish(nullptr);
    } catch (const Error &error) {
        if (error.status() == XF_ERROR_NONFINITE) ++nonfinite_steps_, drop_gradients();
        throw;
    }
}

void Trainer::check_no_pending_gradients() const {
    XF_CHECK(sum_->pending_batches() == 0, XF_ERROR_STATE,
             "gradients of %u batches are pending, expected a call of xf_train_update() before",
             sum_->pending_batches());
}

void Trainer::check_savable(const CheckpointTarget &target) const {
    optimizer_->check_consistent();
    check_no_pending_gradients();
    XF_CHECK(nonfinite_steps_ == 0, XF_ERROR_NONFINITE,
             "the last step was not finite, so '%s' was not replaced: save after the next finite step",
             target.name.c_str());
}

void Trainer::save(const CheckpointTarget &target, const std::string &tokenizer, const DataPosition &position,
                   const Call &call) {
    DeferredError own;
    own.run([&] { check_savable(target); });
    checkpoint_->save(target, tokenizer, position, &own, call);
}

std::shared_ptr<Model> Trainer::average(const std::function<void(const std::shared_ptr<Model> &)> &prepare) {
    std::shared_ptr<Model> model;
    std::unique_ptr<Stream> stream;
    Buffer scratch;
    const size_t bytes = model_->table().total * sizeof(float);
    DeferredError own;
    own.run([&] {
        XF_CHECK(config_.ema > 0, XF_ERROR_STATE, "train.ema is 0, expected a decay above 0 to keep an average");
        optimizer_->check_consistent();
        model = std::make_shared<Model>(model_->context_ptr(), model_->options());
        model->metadata() = model_->metadata();
        stream = std::make_unique<Stream>(model_->context().device(), model_->dtype());
        if (prepare) prepare(model);
        if (ranks_ == nullptr) return;
        exchange_->reserve_host_block();
        scratch = Buffer(stream->device(), bytes);
    });
    if (ranks_ != nullptr) ranks_->begin(Collective::kSave, &own);
    own.rethrow();
    if (ranks_ != nullptr && optimizer_->has_average())
        ranks_->run_exchange(
            [&] { exchange_->all_gather(*stream, optimizer_->average(), model->params(), scratch.floats()); });
    else
        stream->copy(model->params(), optimizer_->has_average() ? optimizer_->average() : model_->params(), bytes);
    model->parameters_written(*stream);
    stream->sync();
    return model;
}

void Trainer::report_failure(Collective call) noexcept {
    if (ranks_ != nullptr) ranks_->report_failure(call);
}

std::unique_ptr<Trainer> Trainer::resume(const std::shared_ptr<Context> &context, const ModelFile &file,
                                         const Options &changes, const Call &call) {
    XF_CHECK(file.kind() == "checkpoint", XF_ERROR_INVALID_ARGUMENT,
             "'%s' is a model without optimizer state, expected a checkpoint", file.path().c_str());
    read_count(file, "step");  // validated, like the rest of the header, before any allocation
    DataPosition position = DataPosition::read(file);
    const Options options = resumed_options(file.options(), changes);
    auto trainer = std::make_unique<Trainer>(file.make_model(context), options);
    trainer->checkpoint_->resume(file, call);
    trainer->position_ = std::move(position);
    return trainer;
}

void Trainer::seek(Batcher *batcher, const Call &call) const {
    if (position_.seek(batcher, call)) return;
    model_->context().log(XF_LOG_WARNING, "train",
                          "data.batch_tokens has changed: training continues at batch %" PRId64 " of %" PRId64
                          ", the checkpoint was "
                          "at %" PRId64 " of %" PRId64 "; some pairs of this epoch are used twice or not at all",
                          batcher->position().batch, batcher->batches_in_chunk(), position_.at.batch,
                          position_.batches);
}

}  // namespace xf
