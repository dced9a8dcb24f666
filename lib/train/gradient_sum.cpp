// SPDX-License-Identifier: Apache-2.0
#include "train/gradient_sum.h"

#include <cmath>
#include <new>
#include <string>

namespace xf {

GradientSum::GradientSum(const TrainPart &part, Optimizer &optimizer)
    : TrainPart(part),
      optimizer_(optimizer),
      batch_(part),
      grads_(stream_.device(), model_.table().total * sizeof(float)) {
    stream_.zero(grads_.data(), grads_.bytes());
}

void GradientSum::add_step(const xf_batch *batches, size_t count, const Call &call) {
    for (size_t i = 0; i < count; ++i) {
        load(batches[i], call);
        check_loss(add_loaded(call, false).loss_sum);
    }
}

void GradientSum::add_step(Batcher *batcher, const Call &call) {
    for (int64_t i = 0; i < config_.accumulate && !batcher->at_end_of_chunk(); ++i) {
        load_next(batcher, call);
        check_loss(add_loaded(call, false).loss_sum);
    }
}

ShardStats GradientSum::accumulate(const xf_batch &batch, const Call &call) {
    load(batch, call);
    const ShardStats stats = add_loaded(call, true);
    check_loss(stats.loss_sum);
    return stats;
}

bool GradientSum::next_chunk(Batcher *batcher, const Call &call) { return batcher->next_chunk(call); }

void GradientSum::load(const xf_batch &batch, const Call &call) {
    optimizer_.check_consistent();
    call.check();
    batch_.load(batch, time());
}

void GradientSum::load_next(Batcher *batcher, const Call &call) {
    optimizer_.check_consistent();
    call.check();
    batch_.load_next(batcher, time());
}

ShardStats GradientSum::add_loaded(const Call &call, bool wait) {
    if (contents_ == Contents::kStale) stream_.zero(grads_.data(), grads_.bytes());
    contents_ = Contents::kSum;
    const Context &context = model_.context();
    const ShardStats stats = batch_.run(grads_.floats(), call, wait || context.logs(XF_LOG_DEBUG));
    ++pending_;
    stats_.add(stats);
    if (context.logs(XF_LOG_DEBUG))
        context.log(XF_LOG_DEBUG, "train",
                    "batch: %" PRId64 " sentences, %" PRId64 " source and %" PRId64 " target tokens, loss %s",
                    stats.sentences, stats.src_tokens, stats.tgt_tokens,
                    NumberText(stats.loss_sum / stats.tgt_tokens).c_str());
    return stats;
}

// Only marks the block: the device may refuse to clear it after an error.
void GradientSum::clear() noexcept {
    if (contents_ == Contents::kSum) contents_ = Contents::kStale;
    pending_ = 0;
    stats_ = {};
    norm_ = 0;
}

float *GradientSum::scratch() {
    contents_ = Contents::kStale;
    return grads_.floats();
}

void GradientSum::read(const Parameter &parameter, float *values) {
    XF_CHECK(pending_ > 0, XF_ERROR_STATE, "no gradients are pending, expected a call of xf_train_accumulate() before");
    stream_.download(values, grads_.floats() + parameter.offset, parameter.size() * sizeof(float));
    const double scale = mean_scale();
    for (int64_t i = 0; i < parameter.size(); ++i) values[i] = values[i] * scale;
}

// Ranks must not differ in the outcome of a step, so a failed allocation of the message is not reported.
void GradientSum::fail_nonfinite(const char *what, const char *why) {
    std::string message = "not finite";
    try {
        message = format("%s of step %" PRId64 " %s", what, optimizer_.steps_done() + 1, why);
    } catch (const std::bad_alloc &) {
    }
    throw Error(XF_ERROR_NONFINITE, std::move(message));
}

void GradientSum::check_loss(double loss) {
    if (!std::isfinite(loss)) fail_nonfinite("the loss", "is not finite");
}

void GradientSum::check_gradient(bool finite) {
    if (!finite) fail_nonfinite("the gradient", "is not finite or its norm is above 1e18");
}

double GradientSum::clipped_scale(double squares) {
    const double scale = mean_scale();
    norm_ = std::sqrt(squares) * scale;
    check_gradient(squares * scale * scale < kMaxSquare);
    return config_.clip_norm > 0 && norm_ > config_.clip_norm ? scale * (config_.clip_norm / norm_) : scale;
}

}  // namespace xf
