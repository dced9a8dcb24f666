// See model.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "nn/model.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace xf {
namespace {

constexpr int64_t kPiece = 1 << 16;  // numbers on the way from one device to another

// Paper s. 3.5: PE(pos, 2i) = sin(pos / 10000^(2i / d_model)), PE(pos, 2i + 1) = cos of the same. Piece by piece, so
// that a file that asks for a long table costs device memory under the budget and little beside it.
void upload_sinusoids(Stream *stream, int64_t positions, int64_t D, float *table) {
    std::vector<double> rate(static_cast<size_t>(D / 2));
    for (int64_t i = 0; i < D; i += 2)
        rate[static_cast<size_t>(i / 2)] = std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(D));
    const int64_t rows = std::clamp<int64_t>(65536 / D, 1, positions);
    std::vector<float> piece;
    for (int64_t begin = 0; begin < positions; begin += rows) {
        piece.clear();
        for (int64_t pos = begin; pos < std::min(begin + rows, positions); ++pos) {
            for (const double r : rate) {
                piece.push_back(static_cast<float>(std::sin(static_cast<double>(pos) * r)));
                piece.push_back(static_cast<float>(std::cos(static_cast<double>(pos) * r)));
            }
        }
        stream->upload(table + begin * D, piece.data(), piece.size() * sizeof(float));
    }
}

}  // namespace

Model::Model(std::shared_ptr<Context> context, const Options &options)
    : context_(std::move(context)), config_(ModelConfig::from(options)), table_(config_) {
    options_.copy_group(options, "model.");
    Stream stream(context_->device());
    const size_t bytes = static_cast<size_t>(table_.total) * sizeof(float);
    params_ = Buffer(context_->device(), bytes);
    stream.zero(params_.data(), bytes);
    if (dtype() == XF_BF16) {
        copy_ = Buffer(context_->device(), static_cast<size_t>(table_.total) * number_bytes(XF_BF16));
        stream.zero(copy_.data(), copy_.bytes());
    }
    if (!config_.learned_positions) {
        sinusoids_ = Buffer(context_->device(), static_cast<size_t>(config_.max_length * config_.D) * sizeof(float));
        upload_sinusoids(&stream, config_.max_length, config_.D, sinusoids_.floats());
    }
    stream.sync();
}

void Model::initialise() {
    if (context_->device().host_memory()) {
        table_.initialise(config_.seed, params());
        return;
    }
    std::vector<float> block(static_cast<size_t>(table_.total));
    table_.initialise(config_.seed, block.data());
    Stream stream(context_->device());
    stream.upload(params_.data(), block.data(), block.size() * sizeof(float));
    parameters_written(stream);
    stream.sync();
}

std::shared_ptr<Model> Model::copy_to(std::shared_ptr<Context> context, const Call &call) const {
    auto copy = std::make_shared<Model>(std::move(context), options_);
    copy->metadata_ = metadata_;
    Stream from(context_->device()), to(copy->context_->device());
    std::vector<float> piece;  // by way of the host: two devices know nothing of each other
    for (int64_t at = 0; at < table_.total; at += kPiece) {
        call.check();
        piece.resize(static_cast<size_t>(std::min(kPiece, table_.total - at)));
        from.download(piece.data(), params() + at, piece.size() * sizeof(float));
        to.upload(copy->params() + at, piece.data(), piece.size() * sizeof(float));
    }
    copy->parameters_written(to);
    to.sync();
    return copy;
}

void Model::parameters_written(Stream &stream) const {
    if (dtype() == XF_BF16) stream.run(xf_to_bf16{table_.total, params_.floats(), copy_.data()});
}

const float *Model::encoder_positions() const {
    return config_.learned_positions ? param(table_.encoder_positions) : sinusoids_.floats();
}

const float *Model::decoder_positions() const {
    return config_.learned_positions ? param(table_.decoder_positions) : sinusoids_.floats();
}

}  // namespace xf
