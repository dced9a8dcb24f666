// SPDX-License-Identifier: Apache-2.0
#include "train/optimizer.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace xf {

Optimizer::Optimizer(const TrainPart &part, BlockExchange *exchange) : TrainPart(part), exchange_(exchange) {
    const int64_t total = model_.table().total;
    const int64_t count = exchange != nullptr ? exchange->slices().slice(exchange->rank()).count() : total;
    const uint64_t bytes = count * sizeof(float);
    for (Buffer *moments : {&m_, &v_}) {
        *moments = Buffer(stream_.device(), bytes);
        stream_.zero(moments->data(), bytes);
    }
    if (config_.ema > 0) average_ = Buffer(stream_.device(), bytes);
    if (exchange != nullptr) updated_slice_ = Buffer(stream_.device(), bytes);
    find_runs();
}

// Matrices are decayed. Norms, biases, and fixed tables are not. The padding between two tensors belongs to the run of
// the first one: it is zero and remains zero.
void Optimizer::find_runs() {
    const ParameterTable &table = model_.table();
    runs_.push_back({0, table.total, false});
    if (config_.weight_decay == 0) return;
    for (const Parameter &p : table.list) {
        Run &last = runs_.back();
        const bool decays = !p.vector && p.init != Init::kSinusoid;
        if (last.decays == decays) continue;
        last.end = p.offset;
        runs_.push_back({p.offset, table.total, decays});
    }
    if (runs_.front().begin == runs_.front().end) runs_.erase(runs_.begin());
}

void Optimizer::take_slice(const Buffer &slice, const float *block) {
    if (exchange_ != nullptr)
        exchange_->take_slice(stream_, slice.floats(), block);
    else
        stream_.copy(slice.data(), block, slice.bytes());
}

// Updates the elements that are both in the run and in the segment. offset: of the segment in the slice.
void Optimizer::update(xf_adam *args, const Run &run, Range segment, int64_t offset, float decay, float *grads) {
    const int64_t begin = std::max(run.begin, segment.begin), end = std::min(run.end, segment.end);
    if (begin >= end) return;
    const int64_t at = offset + begin - segment.begin;
    args->n = end - begin;
    args->params = exchange_ != nullptr ? updated_slice_.floats() + at : model_.params() + begin;
    args->grads = grads + begin;
    args->m = m_.floats() + at;
    args->v = v_.floats() + at;
    args->ema = config_.ema > 0 ? average_.floats() + at : nullptr;
    if (model_.copy() != nullptr && exchange_ == nullptr) args->params_bf16 = Num(model_.copy(), XF_BF16) + begin;
    args->decay = decay;
    stream_.run(*args);  // also sets the gradients to zero
}

void Optimizer::apply(float *grads, const GradientScale &scale, double rate) {
    if (config_.ema > 0 && !has_average_) take_slice(average_, model_.params());
    if (exchange_ != nullptr) {
        take_slice(updated_slice_, model_.params());
        applying_ = true;
    }
    const double step = step_ + 1;
    const double correction = std::sqrt(1 - std::pow(config_.beta2, step)) / (1 - std::pow(config_.beta1, step));
    xf_adam args{};
    args.alpha = rate * correction;
    args.beta1 = config_.beta1;
    args.beta2 = config_.beta2;
    args.eps_hat = config_.epsilon;
    args.grad_scale = scale.factor;
    args.ema_rate = 1 - config_.ema;
    args.gate = scale.gate;
    for (const Run &run : runs_) {
        const float decay = run.decays ? rate * config_.weight_decay : 0.0;
        const auto update_segment = [&](Range segment, int64_t offset) {
            update(&args, run, segment, offset, decay, grads);
        };
        if (exchange_ != nullptr)
            exchange_->slices().for_each_segment(exchange_->rank(), update_segment);
        else
            update_segment({0, model_.table().total}, 0);
    }
}

void Optimizer::commit() {
    has_average_ = config_.ema > 0;
    applying_ = false;
    ++step_;
}

void Optimizer::abandon(const char *reason) noexcept {
    if (applying_)
        std::snprintf(inconsistent_, sizeof inconsistent_, "step %" PRId64 " was not finished (%.120s)", step_ + 1,
                      reason);
    applying_ = false;
}

void Optimizer::begin_load(const char *path) noexcept {
    std::snprintf(inconsistent_, sizeof inconsistent_, "'%.160s' was not loaded completely", path);
}

void Optimizer::load_slices(const float *m, const float *v, const float *average) {
    take_slice(m_, m);
    take_slice(v_, v);
    if (config_.ema > 0) take_slice(average_, average);
}

void Optimizer::end_load(int64_t step) {
    inconsistent_[0] = 0;
    step_ = step;
    has_average_ = config_.ema > 0;
}

void Optimizer::check_consistent() const {
    XF_CHECK(inconsistent_[0] == 0, XF_ERROR_STATE, "%s, so the model is inconsistent: resume from the last checkpoint",
             inconsistent_);
}

}  // namespace xf
