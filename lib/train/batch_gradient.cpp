// SPDX-License-Identifier: Apache-2.0
#include "train/batch_gradient.h"

namespace xf {
namespace {

// Adds in order, in fp64, so the result is the same for any number of threads.
double sum(const std::vector<float> &values) {
    double total = 0;
    for (const float value : values) total += value;
    return total;
}

}  // namespace

BatchGradient::BatchGradient(const TrainPart &part) : TrainPart(part), network_(model_, stream_) {
    if (gated()) {
        verdict_ = Buffer(stream_.device(), sizeof(DeviceVerdict));
        stream_.zero(verdict_.data(), verdict_.bytes());  // a rank's first batch is not always the first of the step
    }
}

void BatchGradient::load(const xf_batch &batch, StepTime time) {
    batch_.load(stream_, model_.config(), batch, PackedBatch::Sides::kBoth, true, time);
    time_ = time;
}

void BatchGradient::load_next(Batcher *batcher, StepTime time) {
    if (prefetcher_.take(stream_, batcher, time, &batch_)) {
        time_ = time;
        return;
    }
    batcher->next(&gathered_);
    load(gathered_.view(), time);
}

void BatchGradient::prefetch(const Batcher &batcher, StepTime time) noexcept {
    prefetcher_.prefetch(stream_.device(), model_.config(), batcher, time);
}

ShardStats BatchGradient::run(float *grads, const Call &call, bool wait) {
    const PassKind kind = config_.activation_dropout > 0 ? PassKind::kInnerDropout : PassKind::kTraining;
    network_.prepare(batch_, kind, true);
    Pass pass{model_, stream_, call};
    pass.grads = grads;
    pass.dropout = {config_.dropout, config_.attention_dropout, config_.activation_dropout, config_.seed, batch_.when};
    const auto passes = [&] {
        network_.encode(pass, batch_);
        network_.decode(pass, batch_);
        network_.loss(pass, batch_, config_.label_smoothing, config_.smooth_uniform);
        network_.backward(pass, batch_);
    };
    if (model_.context().graphs() && batch_.recordable())
        graphs_.run(stream_, {batch_.shape(), network_.workspace()}, passes);
    else
        passes();
    ShardStats stats;
    stats.sentences = batch_.sentences;
    stats.src_tokens = batch_.src.tokens;
    stats.tgt_tokens = batch_.tgt.tokens;
    read_losses(&stats, wait);
    return stats;
}

void BatchGradient::read_losses(ShardStats *stats, bool wait) {
    if (gated()) {
        auto *const sums = verdict_.as<double>();
        const bool adds = time_.batch != 0;
        stream_.run(xf_sum_losses{batch_.tgt.tokens, network_.token_loss(), network_.token_nll(), sums, adds});
        if (!wait) return;
        double losses[2];
        stream_.download(losses, sums, sizeof losses);
        stats->loss_sum = losses[0], stats->nll_sum = losses[1];
        return;
    }
    token_values_.resize(batch_.tgt.tokens);
    const size_t bytes = token_values_.size() * sizeof(float);
    stream_.download(token_values_.data(), network_.token_loss(), bytes);
    stats->loss_sum = sum(token_values_);
    stream_.download(token_values_.data(), network_.token_nll(), bytes);
    stats->nll_sum = sum(token_values_);
}

}  // namespace xf
