// See trainer.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "train/trainer.h"

#include <charconv>
#include <cmath>

namespace xf {
namespace {

// Rows are summed in their order, in double: a loss is the same number for any number of threads.
double sum(const std::vector<float> &values) {
    double total = 0;
    for (const float value : values) total += value;
    return total;
}

const std::string kPosition = "position.";  // prefix of the metadata that say where the data stood

template <class T>
T parse_number(const ModelFile &file, const std::string &key, int base) {
    const std::string &text = file.require(key);
    T value{};
    const auto result = std::from_chars(text.data(), text.data() + text.size(), value, base);
    XF_CHECK(result.ec == std::errc() && result.ptr == text.data() + text.size(), XF_ERROR_CORRUPT,
             "'%s': metadata '%s' is '%.32s', expected a number", file.path().c_str(), key.c_str(), text.c_str());
    return value;
}

int64_t parse_count(const ModelFile &file, const std::string &key) {
    constexpr int64_t kMost = int64_t{1} << 53;  // so that counting on from there never overflows
    const auto value = parse_number<int64_t>(file, key, 10);
    XF_CHECK(value >= 0 && value <= kMost, XF_ERROR_CORRUPT, "'%s': metadata '%s' is %lld, expected 0 to %lld",
             file.path().c_str(), key.c_str(), static_cast<long long>(value), static_cast<long long>(kMost));
    return value;
}

}  // namespace

TrainConfig TrainConfig::from(const Options &options, int64_t d_model) {
    TrainConfig c{};
    c.dropout = static_cast<float>(options.f64("train.dropout"));
    c.attention_dropout = static_cast<float>(options.f64("train.attention_dropout"));
    c.label_smoothing = static_cast<float>(options.f64("train.label_smoothing"));
    c.smooth_uniform = options.str("train.label_smoothing_kind") == "uniform";
    c.schedule = {
        options.str("train.schedule") == "constant" ? Schedule::Kind::kConstant : Schedule::Kind::kInverseSqrt,
        options.f64("train.learning_rate"), static_cast<double>(options.i64("train.warmup_steps")),
        static_cast<double>(d_model)};
    c.beta1 = options.f64("train.adam_beta1");
    c.beta2 = options.f64("train.adam_beta2");
    c.epsilon = options.f64("train.adam_epsilon");
    c.seed = static_cast<uint64_t>(options.i64("train.seed"));
    return c;
}

Trainer::Trainer(std::shared_ptr<Model> model, const Options &options)
    : model_(std::move(model)),
      config_(TrainConfig::from(options, model_->config().D)),
      stream_(model_->context().device(), model_->dtype()),
      network_(*model_, stream_) {
    options_.copy_group(options, "train.");
    for (Buffer *buffer : {&grads_, &m_, &v_}) {
        *buffer = Buffer(stream_.device(), block_bytes());
        stream_.zero(buffer->data(), block_bytes());
    }
}

StepStats Trainer::run_batch(const xf_batch &batch) {
    model_->context().check_cancelled();
    // The mask belongs to the update that is being made and to the batch within it.
    batch_.load(stream_, model_->config(), batch, PackedBatch::Sides::kBoth, true,
                {static_cast<uint32_t>(step_ + 1), waiting_});
    network_.prepare(batch_, Transformer::Mode::kTrain, true);
    Pass pass{*model_, stream_};
    pass.grads = grads_.floats();
    pass.dropout = {config_.dropout, config_.attention_dropout, config_.seed, batch_.when};
    if (dirty_ && waiting_ == 0) stream_.zero(grads_.data(), block_bytes());
    dirty_ = true;
    const auto passes = [&] {
        network_.encode(pass, batch_);
        network_.decode(pass, batch_);
        network_.loss(pass, batch_, config_.label_smoothing, config_.smooth_uniform);
        network_.backward(pass, batch_);
    };
    if (model_->context().graphs())
        graphs_.run(stream_, {batch_.shape(), network_.workspace()}, passes);
    else
        passes();
    StepStats stats;
    stats.sentences = batch_.sentences;
    stats.src_tokens = batch_.src.tokens;
    stats.tgt_tokens = batch_.tgt.tokens;
    token_values_.resize(static_cast<size_t>(batch_.tgt.tokens));
    stream_.download(token_values_.data(), network_.token_loss(), token_values_.size() * sizeof(float));
    stats.loss_sum = sum(token_values_);
    stream_.download(token_values_.data(), network_.token_nll(), token_values_.size() * sizeof(float));
    stats.nll_sum = sum(token_values_);
    XF_CHECK(std::isfinite(stats.loss_sum), XF_ERROR_NONFINITE, "the loss of step %lld is not finite",
             static_cast<long long>(step_ + 1));
    return stats;
}

// What lies in the block is cleared before the next batch: here, after an error, the device may refuse.
void Trainer::drop_gradients() noexcept {
    waiting_ = 0;
    sum_ = StepStats();
}

StepStats Trainer::accumulate(const xf_batch &batch) {
    const StepStats stats = run_batch(batch);
    ++waiting_;
    sum_.sentences += stats.sentences;
    sum_.src_tokens += stats.src_tokens;
    sum_.tgt_tokens += stats.tgt_tokens;
    sum_.loss_sum += stats.loss_sum;
    sum_.nll_sum += stats.nll_sum;
    return stats;
}

StepStats Trainer::update() {
    XF_CHECK(waiting_ > 0, XF_ERROR_STATE, "no gradients wait for an update");
    const int64_t step = step_ + 1;
    const double scale = 1.0 / static_cast<double>(sum_.tgt_tokens);
    double squares = 0;
    stream_.run(xf_sum_squares{model_->table().total, grads_.floats(), &squares});
    // A gradient whose square is beyond fp32 would make Adam's second moment infinite for ever.
    constexpr double kLargestSquare = 1e36;
    if (!(squares * scale * scale < kLargestSquare)) {
        drop_gradients();
        fail(XF_ERROR_NONFINITE, "the gradient of step %lld is not finite or its norm is above 1e18",
             static_cast<long long>(step));
    }
    StepStats stats = sum_;
    stats.step = step;
    stats.learning_rate = config_.schedule.rate(step);
    stats.gradient_norm = std::sqrt(squares) * scale;
    const double correction = std::sqrt(1 - std::pow(config_.beta2, static_cast<double>(step))) /
                              (1 - std::pow(config_.beta1, static_cast<double>(step)));
    xf_adam args{};
    args.n = model_->table().total;
    args.params = model_->params();
    args.grads = grads_.floats();
    args.m = m_.floats();
    args.v = v_.floats();
    args.params_bf16 = model_->copy();
    args.alpha = static_cast<float>(stats.learning_rate * correction);
    args.beta1 = static_cast<float>(config_.beta1);
    args.beta2 = static_cast<float>(config_.beta2);
    args.eps_hat = static_cast<float>(config_.epsilon);
    args.grad_scale = static_cast<float>(scale);
    stream_.run(args);  // leaves the gradients zero
    stream_.sync();
    step_ = step;
    dirty_ = false;
    waiting_ = 0;
    sum_ = StepStats();
    return stats;
}

StepStats Trainer::step(const xf_batch *batches, size_t count) {
    XF_CHECK(waiting_ == 0, XF_ERROR_STATE, "gradients of %u batches wait for xf_train_update()", waiting_);
    try {
        for (size_t i = 0; i < count; ++i) accumulate(batches[i]);
        return update();
    } catch (...) {
        drop_gradients();
        throw;
    }
}

void Trainer::read_gradient(const Parameter &parameter, float *values) {
    XF_CHECK(waiting_ > 0, XF_ERROR_STATE, "no gradients wait");
    stream_.download(values, grads_.floats() + parameter.offset, static_cast<size_t>(parameter.size()) * sizeof(float));
    const double scale = 1.0 / static_cast<double>(sum_.tgt_tokens);
    for (int64_t i = 0; i < parameter.size(); ++i) values[i] = static_cast<float>(values[i] * scale);
}

void Trainer::save(const std::string &path, const std::string &tokenizer, const DataPosition &position) {
    XF_CHECK(waiting_ == 0, XF_ERROR_STATE, "gradients of %u batches wait for xf_train_update()", waiting_);
    FileContents contents;
    contents.kind = "checkpoint";
    contents.tokenizer = tokenizer;
    contents.extra["step"] = std::to_string(step_);
    contents.extra["position.epoch"] = std::to_string(position.epoch);
    contents.extra["position.batch"] = std::to_string(position.batch);
    contents.extra["position.fingerprint"] = format("%016llx", static_cast<unsigned long long>(position.fingerprint));
    for (const auto &[key, value] : position.order) contents.extra[kPosition + key] = value;
    for (size_t i = 0; i < option_count(); ++i)
        if (std::string_view(option(i).key).starts_with("train."))
            contents.extra[option(i).key] = options_.text(option(i).key);
    save_model_file(path, *model_, stream_, contents, {{"adam.m.", m_.floats()}, {"adam.v.", v_.floats()}});
}

std::unique_ptr<Trainer> Trainer::resume(const std::shared_ptr<Context> &context, const ModelFile &file) {
    XF_CHECK(file.kind() == "checkpoint", XF_ERROR_CORRUPT, "'%s' is a model without optimizer state, not a checkpoint",
             file.path().c_str());
    const int64_t step = parse_count(file, "step");
    DataPosition position;
    position.epoch = parse_count(file, "position.epoch");
    position.batch = parse_count(file, "position.batch");
    position.fingerprint = parse_number<uint64_t>(file, "position.fingerprint", 16);
    for (const auto &[key, value] : file.contents().extra)
        if (key.starts_with(kPosition + "data.")) position.order[key.substr(kPosition.size())] = value;
    auto trainer = std::make_unique<Trainer>(file.make_model(context), file.options());
    file.load(*trainer->model_, trainer->stream_,
              {{"adam.m.", trainer->m_.floats()}, {"adam.v.", trainer->v_.floats(), 0.0f}});
    trainer->step_ = step;
    trainer->position_ = position;
    return trainer;
}

}  // namespace xf
