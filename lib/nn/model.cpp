// See model.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "nn/model.h"

#include <algorithm>
#include <vector>

namespace xf {
namespace {

constexpr int64_t kCopied = 1 << 16;  // numbers on the way from one device to another

// Piece by piece, so that a file that asks for a long table costs device memory under the budget and little beside it.
void upload_sinusoids(Stream *stream, int64_t positions, int64_t D, float *table) {
    const int64_t rows = std::clamp<int64_t>(65536 / D, 1, positions);
    std::vector<float> piece(static_cast<size_t>(rows * D));
    for (int64_t begin = 0; begin < positions; begin += rows) {
        const int64_t count = std::min(rows, positions - begin);
        fill_sinusoids(begin, count, D, piece.data());
        stream->upload(table + begin * D, piece.data(), static_cast<size_t>(count * D) * sizeof(float));
    }
}

}  // namespace

Model::Model(std::shared_ptr<Context> context, const Options &options, uint32_t weights_type)
    : context_(std::move(context)), config_(ModelConfig::from(options)), table_(config_) {
    options_.copy_group(options, "model.");
    Stream stream(context_->device());
    if (weights_type != XF_WEIGHTS_NUM) {
        narrow_ = std::make_unique<NarrowWeights>(&context_->heap(), table_, weights_type);
    } else {
        params_ = Buffer(context_->device(), static_cast<size_t>(table_.total) * sizeof(float));
        stream.zero(params_.data(), params_.bytes());
    }
    if (dtype() == XF_BF16) {
        copy_ = Buffer(context_->device(), static_cast<size_t>(table_.total) * number_bytes(XF_BF16));
        stream.zero(copy_.data(), copy_.bytes());
    }
    if (config_.positions == Positions::kSinusoid) {
        sinusoids_ = Buffer(context_->device(), static_cast<size_t>(config_.max_length * config_.D) * sizeof(float));
        upload_sinusoids(&stream, config_.max_length, config_.D, sinusoids_.floats());
    }
    stream.sync();
}

void Model::initialise() {
    Stream stream(context_->device());
    if (context_->device().host_memory()) {
        table_.initialise(config_.seed, params());
    } else {
        std::vector<float> block(static_cast<size_t>(table_.total));
        table_.initialise(config_.seed, block.data());
        stream.upload(params_.data(), block.data(), block.size() * sizeof(float));
    }
    parameters_written(stream);
    stream.sync();
}

std::shared_ptr<Model> Model::copy_to(std::shared_ptr<Context> context, const Call &call) const {
    const uint32_t type = context->weights_type(weights_type(), "the model");
    auto copy = std::make_shared<Model>(std::move(context), options_, type);
    copy->metadata_ = metadata_;
    NarrowWeights *const narrow = copy->narrow();
    Stream from(context_->device()), to(copy->context_->device());
    std::vector<float> piece;  // by way of the host: two devices know nothing of each other
    for (const Parameter &p : table_.list) {
        const int64_t rows = std::clamp<int64_t>(kCopied / p.columns, 1, p.rows);
        const bool same_int8 = narrow != nullptr && narrow_ != nullptr && type == XF_WEIGHTS_INT8 &&
                               weights_type() == type && table_.is_matrix(p);
        if (same_int8) std::copy_n(narrow_->scales(p), p.rows, narrow->scales(p));
        for (int64_t row = 0; row < p.rows; row += rows) {
            call.check();
            const int64_t count = std::min(rows, p.rows - row);
            if (same_int8) {  // not rounded again
                narrow_->read_rows(from, p, row, count, static_cast<int8_t *>(narrow->rows(p)) + row * p.columns);
                continue;
            }
            piece.resize(static_cast<size_t>(count * p.columns));
            read(from, p, row * p.columns, count * p.columns, piece.data());
            if (narrow != nullptr)
                narrow->write(p, row, count, piece.data());
            else
                to.upload(copy->params() + p.offset + row * p.columns, piece.data(), piece.size() * sizeof(float));
        }
    }
    copy->parameters_written(to);
    to.sync();
    return copy;
}

void Model::read(Stream &stream, const Parameter &p, int64_t first, int64_t count, float *values) const {
    if (narrow_ != nullptr)
        narrow_->read(stream, p, first, count, values);
    else
        stream.download(values, params_.floats() + p.offset + first, static_cast<size_t>(count) * sizeof(float));
}

void Model::refuse_narrow() const {
    fail(XF_ERROR_STATE,
         "the model's matrices are %s, which can't be trained or written: load it in a context whose context.weights "
         "is fp32, or xf_model_copy() it into one",
         weights_name(weights_type()));
}

void Model::parameters_written(Stream &stream) const {
    if (narrow_ != nullptr) return narrow_->finish(stream);
    if (dtype() == XF_BF16) stream.run(xf_to_bf16{table_.total, params_.floats(), copy_.data()});
}

const float *Model::encoder_positions() const {
    return config_.positions == Positions::kSinusoid ? sinusoids_.floats() : param(table_.encoder_positions);
}

const float *Model::decoder_positions() const {
    return config_.positions == Positions::kSinusoid ? sinusoids_.floats() : param(table_.decoder_positions);
}

}  // namespace xf
