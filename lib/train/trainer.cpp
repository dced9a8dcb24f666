// Steps. What becomes of a checkpoint is in checkpoint.cpp. See trainer.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "train/trainer.h"

#include <algorithm>
#include <cmath>

namespace xf {
namespace {

// A gradient whose square is beyond fp32 would make Adam's second moment infinite for ever.
constexpr double kLargestSquare = 1e36;

// Rows are summed in their order, in double: a loss is the same number for any number of threads.
double sum(const std::vector<float> &values) {
    double total = 0;
    for (const float value : values) total += value;
    return total;
}

}  // namespace

Trainer::Trainer(std::shared_ptr<Model> model, const Options &options)
    : model_(std::move(model)),
      config_(TrainConfig::from(options, model_->config().D)),
      stream_(model_->context().device(), model_->dtype()),
      network_(*model_, stream_, config_.activation_dropout > 0) {
    model_->params();  // refuses a narrow model before anything large is made
    options_.copy_group(options, "train.");
    if (model_->context().comm() != nullptr || config_.shards > 1)
        shards_ =
            std::make_unique<Shards>(model_->context_ptr(), config_.shards, model_->table().total, config_.narrow_sums);
    if (is_sharded() && shards_->count() == 1) shards_.reset();
    if (is_sharded()) options_.set_i64("train.shards", shards_->count());
    const auto zeroed = [&](size_t bytes) {
        Buffer buffer(stream_.device(), bytes);
        stream_.zero(buffer.data(), bytes);
        return buffer;
    };
    grads_ = zeroed(block_bytes());
    m_ = zeroed(slice_bytes());
    v_ = zeroed(slice_bytes());
    if (gated()) verdict_ = Buffer(stream_.device(), sizeof(Verdict));
    if (config_.ema > 0) ema_ = Buffer(stream_.device(), slice_bytes());
    if (has_ranks()) part_ = Buffer(stream_.device(), slice_bytes());
    find_runs();
}

// Matrices are decayed; norms and biases, which no weight multiplies, and tables that are not trained are not. A gap
// between two tensors goes with the one before it: it is zero and stays so.
void Trainer::find_runs() {
    const ParameterTable &table = model_->table();
    runs_.push_back({0, table.total, false});
    if (config_.weight_decay == 0) return;
    for (const Parameter &p : table.list) {
        Run &last = runs_.back();
        const bool decays = !p.vector && p.init != Init::kSinusoid;
        if (last.decays == decays) continue;
        last.count = p.offset - last.begin;
        runs_.push_back({p.offset, table.total - p.offset, decays});
    }
    if (runs_.front().count == 0) runs_.erase(runs_.begin());
}

// batch: NULL where it is on the device already. wait: for the losses, which are 0 else.
StepStats Trainer::run_batch(const xf_batch *batch, const Call &call, bool wait, bool leaves) {
    call.check();
    if (batch != nullptr) batch_.load(stream_, model_->config(), *batch, PackedBatch::Sides::kBoth, true, time());
    network_.prepare(batch_, Transformer::Mode::kTrain, true);
    Pass pass{*model_, stream_, call};
    pass.grads = grads_.floats();
    pass.dropout = {config_.dropout, config_.attention_dropout, config_.activation_dropout, config_.seed, batch_.when};
    if (dirty_ && !begun_) stream_.zero(grads_.data(), block_bytes());
    dirty_ = begun_ = true;
    const auto forward = [&] {
        network_.encode(pass, batch_);
        network_.decode(pass, batch_);
        network_.loss(pass, batch_, config_.label_smoothing, config_.smooth_uniform);
    };
    const auto passes = [&] {
        forward();
        network_.backward(pass, batch_);
    };
    StepStats stats;
    stats.sentences = batch_.sentences;
    stats.src_tokens = batch_.src.tokens;
    stats.tgt_tokens = batch_.tgt.tokens;
    if (leaves) {
        forward();
        read_losses(&stats, true);
        conclude(stats);
        shards_->add_while_made(stream_, grads_.floats());
        const Call to_its_end;  // from here on the ranks make this step, whoever cancels
        const std::function<void(int64_t)> done = [this](int64_t offset) { shards_->done(stream_, offset); };
        Pass last{*model_, stream_, to_its_end, pass.grads, false, pass.dropout, &done};
        network_.backward(last, batch_);
        return stats;
    }
    if (model_->context().graphs() && batch_.recordable())
        graphs_.run(stream_, {batch_.shape(), network_.workspace()}, passes);
    else
        passes();
    read_losses(&stats, wait);
    return stats;
}

void Trainer::read_losses(StepStats *stats, bool wait) {
    if (gated()) {
        auto *const sums = static_cast<double *>(verdict_.data());
        stream_.run(xf_sum_losses{batch_.tgt.tokens, network_.token_loss(), network_.token_nll(), sums, waiting_ != 0});
        if (wait) {
            double losses[2];
            stream_.download(losses, sums, sizeof losses);
            stats->loss_sum = losses[0], stats->nll_sum = losses[1];
        }
        return;
    }
    token_values_.resize(static_cast<size_t>(batch_.tgt.tokens));
    stream_.download(token_values_.data(), network_.token_loss(), token_values_.size() * sizeof(float));
    stats->loss_sum = sum(token_values_);
    stream_.download(token_values_.data(), network_.token_nll(), token_values_.size() * sizeof(float));
    stats->nll_sum = sum(token_values_);
}

// What lies in the block is cleared before the next batch: here, after an error, the device may refuse.
void Trainer::drop_gradients() noexcept {
    if (is_sharded()) shards_->break_off();
    waiting_ = 0;
    begun_ = false;
    sum_ = StepStats();
}

void Trainer::check_sound() const {
    XF_CHECK(lost_[0] == 0, XF_ERROR_STATE, "%s, and what was trained is lost: resume from the last checkpoint", lost_);
}

StepStats Trainer::accumulate(const xf_batch &batch, const Call &call) {
    XF_CHECK(!is_sharded(), XF_ERROR_STATE,
             "train.shards is %lld: a step is one call then, xf_train_step() or xf_train_next()",
             static_cast<long long>(shards_->count()));
    return add_batch(&batch, call, true);
}

// The batcher's next batch; there is one.
void Trainer::add_next(Batcher *batcher, const Call &call, bool leaves) {
    call.check();
    if (ahead_.take(stream_, batcher, time(), &batch_)) {
        add_batch(nullptr, call, false, leaves);
        return;
    }
    batcher->next(&gathered_);
    const xf_batch batch = gathered_.view();
    add_batch(&batch, call, false, leaves);
}

StepStats Trainer::add_batch(const xf_batch *batch, const Call &call, bool wait, bool leaves) {
    check_sound();
    const StepStats stats =
        run_batch(batch, call, wait || is_sharded() || model_->context().logs(XF_LOG_DEBUG), leaves);
    ++waiting_;
    if (!leaves) sum_.add(stats);  // else it was concluded with them
    if (const Context &context = model_->context(); context.logs(XF_LOG_DEBUG))
        context.log(XF_LOG_DEBUG, "train", "a batch of %lld sentences, %lld + %lld tokens: loss %s",
                    static_cast<long long>(stats.sentences), static_cast<long long>(stats.src_tokens),
                    static_cast<long long>(stats.tgt_tokens),
                    NumberText(stats.loss_sum / static_cast<double>(stats.tgt_tokens)).c_str());
    if (!is_sharded()) check_loss(stats.loss_sum);
    return stats;
}

void Trainer::check_loss(double loss) {
    if (!std::isfinite(loss)) fail_nonfinite("the loss", "is not finite");
}

void Trainer::adam(double scale, double rate, const double *gate) {
    const auto step = static_cast<double>(step_ + 1);
    const double correction = std::sqrt(1 - std::pow(config_.beta2, step)) / (1 - std::pow(config_.beta1, step));
    xf_adam args{};
    args.alpha = static_cast<float>(rate * correction);
    args.beta1 = static_cast<float>(config_.beta1);
    args.beta2 = static_cast<float>(config_.beta2);
    args.eps_hat = static_cast<float>(config_.epsilon);
    args.grad_scale = static_cast<float>(scale);
    args.ema_rate = static_cast<float>(1 - config_.ema);
    args.gate = gate;
    // Numbers begin .. end - 1, whose moments lie from `first` on.
    const auto update = [&](const Run &run, Range piece, int64_t first) {
        const int64_t begin = std::max(run.begin, piece.begin), end = std::min(run.begin + run.count, piece.end);
        if (begin >= end) return;
        const int64_t at = first + begin - piece.begin;
        args.n = end - begin;
        args.params = has_ranks() ? part_.floats() + at : model_->params() + begin;
        args.grads = grads_.floats() + begin;
        args.m = m_.floats() + at;
        args.v = v_.floats() + at;
        args.ema = config_.ema > 0 ? ema_.floats() + at : nullptr;
        if (model_->copy() != nullptr && !has_ranks())
            args.params_bf16 = static_cast<char *>(model_->copy()) + begin * number_bytes(XF_BF16);
        args.decay = run.decays ? static_cast<float>(rate * config_.weight_decay) : 0.0f;
        stream_.run(args);  // leaves the gradients zero
    };
    for (const Run &run : runs_)
        if (has_ranks())
            shards_->each_own_piece([&](Range piece, int64_t at) { update(run, piece, at); });
        else
            update(run, {0, model_->table().total}, 0);
}

void Trainer::refuse_gradient() { fail_nonfinite("the gradient", "is not finite or its norm is above 1e18"); }

double Trainer::checked_scale(double squares, double scale) {
    const double norm = sum_.gradient_norm = std::sqrt(squares) * scale;
    if (!(squares * scale * scale < kLargestSquare)) refuse_gradient();
    return config_.clip_norm > 0 && norm > config_.clip_norm ? scale * (config_.clip_norm / norm) : scale;
}

void Trainer::take_slice(const Buffer &slice, const float *block) {
    if (has_ranks())
        shards_->take_slice(stream_, slice.floats(), block);
    else
        stream_.copy(slice.data(), block, slice_bytes());
}

// Before the first update.
void Trainer::begin_average() {
    if (config_.ema > 0 && !averages_) take_slice(ema_, model_->params());
}

// The update, unless something is not finite. What others read afterwards, by streams of their own, is there.
void Trainer::make_step(double scale, double rate, const Batcher *next) {
    const int64_t total = model_->table().total;
    if (gated()) {
        auto *const sums = static_cast<double *>(verdict_.data()), *const gate = sums + 4;
        stream_.run(xf_gate{total, grads_.floats(), sums, scale, kLargestSquare, config_.clip_norm, gate});
        begin_average();
        adam(scale, rate, gate);
        if (next != nullptr)
            ahead_.read(stream_.device(), model_->config(), *next, {static_cast<uint32_t>(step_ + 2), 0});
        Verdict found;
        stream_.download(&found, verdict_.data(), sizeof found);
        sum_.loss_sum = found.loss, sum_.nll_sum = found.nll;
        sum_.gradient_norm = std::sqrt(found.squares) * scale;
        check_loss(found.loss);
        if (found.open == 0) refuse_gradient();
        return;
    }
    double squares = 0;
    stream_.run(xf_sum_squares{total, grads_.floats(), &squares});
    const double factor = checked_scale(squares, scale);
    begin_average();
    adam(factor, rate, nullptr);
    stream_.sync();
}

// next: whose batch comes next, NULL when nobody knows.
StepStats Trainer::finish(const Batcher *next) {
    XF_CHECK(waiting_ > 0, XF_ERROR_STATE, "no gradients wait for an update");
    const int64_t step = step_ + 1;
    const double rate = config_.schedule.rate(step);
    const double scale = 1.0 / static_cast<double>(sum_.tgt_tokens);
    if (is_sharded())
        make_sharded_step(scale, rate);
    else
        make_step(scale, rate, next);
    StepStats stats = sum_;
    stats.step = step;
    stats.learning_rate = rate;
    averages_ = config_.ema > 0;
    step_ = step;
    dirty_ = has_ranks();  // else adam left zeros
    bad_steps_ = 0;
    drop_gradients();
    if (const Context &context = model_->context(); context.logs(XF_LOG_DEBUG))
        context.log(XF_LOG_DEBUG, "train", "step %lld: loss %s, gradient norm %s, learning rate %s",
                    static_cast<long long>(step),
                    NumberText(stats.loss_sum / static_cast<double>(stats.tgt_tokens)).c_str(),
                    NumberText(stats.gradient_norm).c_str(), NumberText(stats.learning_rate).c_str());
    return stats;
}

StepStats Trainer::update() {
    check_sound();
    try {
        return finish();
    } catch (const Error &error) {
        if (error.status() == XF_ERROR_NONFINITE) drop_gradients();
        throw;
    }
}

// Ranks must not differ in what a step came to, so want of memory for the sentence is not the error.
void Trainer::fail_nonfinite(const char *what, const char *how) {
    ++bad_steps_;
    std::string sentence = "not finite";
    try {
        sentence = format("%s of step %lld %s", what, static_cast<long long>(step_ + 1), how);
    } catch (const std::bad_alloc &) {
    }
    throw Error(XF_ERROR_NONFINITE, std::move(sentence));
}

// In the handler of the error: what train.on_nonfinite says, or the error again.
StepStats Trainer::after_nonfinite(const Error &error, StepStats lost) {
    constexpr int kMostInARow = 10;
    using Policy = TrainConfig::OnNonfinite;
    const bool back = config_.on_nonfinite == Policy::kRollback && !checkpoint_.path.empty();
    if (config_.on_nonfinite != Policy::kSkip && !back) throw;
    if (bad_steps_ >= kMostInARow)
        fail(XF_ERROR_NONFINITE, "%s, and so it was with the %d steps before it", error.what(), bad_steps_ - 1);
    if (back) has_ranks() ? roll_back_together() : roll_back();
    if (back)
        model_->context().log(XF_LOG_WARNING, "train", "%s: back to step %lld, saved in '%s'", error.what(),
                              static_cast<long long>(step_), checkpoint_.path.c_str());
    else
        model_->context().log(XF_LOG_WARNING, "train", "%s: its batches are left out", error.what());
    lost.step = step_;
    lost.outcome = back ? Outcome::kRolledBack : Outcome::kSkipped;
    return lost;
}

template <class Work>
StepStats Trainer::attempt(const Work &work, const Batcher *next) {
    XF_CHECK(waiting_ == 0, XF_ERROR_STATE, "gradients of %u batches wait for xf_train_update()", waiting_);
    try {
        work();
        return finish(next);
    } catch (const Error &error) {
        const StepStats lost = sum_;
        drop_gradients();
        if (error.status() != XF_ERROR_NONFINITE) throw;
        return after_nonfinite(error, lost);
    } catch (...) {
        drop_gradients();
        throw;
    }
}

StepStats Trainer::step(const xf_batch *batches, size_t count, const Call &call) {
    return attempt([&] {
        if (is_sharded()) return step_shards(batches, count, call);
        for (size_t i = 0; i < count; ++i) add_batch(&batches[i], call, false);
    });
}

bool Trainer::next(Batcher *batcher, StepStats *stats, const Call &call) {
    const Batcher::Position before = batcher->position();
    const auto at_end = [&] { return batcher->position().batch == batcher->batches_in_epoch(); };
    if (at_end()) return has_ranks() ? end_of_epoch(batcher, call) : batcher->next(&gathered_, call);
    try {
        *stats = attempt(
            [&] {
                if (is_sharded()) return next_shards(batcher, call);
                for (int64_t i = 0; i < config_.accumulate && !at_end(); ++i) add_next(batcher, call);
            },
            batcher);
    } catch (...) {
        batcher->seek(before);  // in the same epoch: can't fail
        throw;
    }
    return true;
}

void Trainer::read_gradient(const Parameter &parameter, float *values) {
    XF_CHECK(waiting_ > 0, XF_ERROR_STATE, "no gradients wait");
    stream_.download(values, grads_.floats() + parameter.offset, static_cast<size_t>(parameter.size()) * sizeof(float));
    const double scale = 1.0 / static_cast<double>(sum_.tgt_tokens);
    for (int64_t i = 0; i < parameter.size(); ++i) values[i] = static_cast<float>(values[i] * scale);
}

}  // namespace xf
