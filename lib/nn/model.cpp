// See model.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "nn/model.h"

#include <cmath>
#include <vector>

namespace xf {
namespace {

// Paper s. 3.5: PE(pos, 2i) = sin(pos / 10000^(2i / d_model)), PE(pos, 2i + 1) = cos of the same. Row by row, so that a
// file that asks for a long table costs device memory under the budget and nothing beside it.
void upload_sinusoids(Stream *stream, int64_t positions, int64_t D, float *table) {
    std::vector<double> rate(static_cast<size_t>(D / 2));
    for (int64_t i = 0; i < D; i += 2)
        rate[static_cast<size_t>(i / 2)] = std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(D));
    std::vector<float> row(static_cast<size_t>(D));
    for (int64_t pos = 0; pos < positions; ++pos) {
        for (size_t i = 0; i < rate.size(); ++i) {
            row[2 * i] = static_cast<float>(std::sin(static_cast<double>(pos) * rate[i]));
            row[2 * i + 1] = static_cast<float>(std::cos(static_cast<double>(pos) * rate[i]));
        }
        stream->upload(table + pos * D, row.data(), row.size() * sizeof(float));
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
    stream.sync();
}

const float *Model::encoder_positions() const {
    return config_.learned_positions ? param(table_.encoder_positions) : sinusoids_.floats();
}

const float *Model::decoder_positions() const {
    return config_.learned_positions ? param(table_.decoder_positions) : sinusoids_.floats();
}

}  // namespace xf
