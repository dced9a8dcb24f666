// See model.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "nn/model.h"

#include <cmath>
#include <vector>

namespace xf {
namespace {

// Paper s. 3.5: PE(pos, 2i) = sin(pos / 10000^(2i / d_model)), PE(pos, 2i + 1) = cos of the same.
std::vector<float> sinusoid_table(int64_t positions, int64_t D) {
    std::vector<float> table(static_cast<size_t>(positions * D));
    for (int64_t i = 0; i < D; i += 2) {
        const double rate = std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(D));
        for (int64_t pos = 0; pos < positions; ++pos) {
            table[static_cast<size_t>(pos * D + i)] = static_cast<float>(std::sin(static_cast<double>(pos) * rate));
            table[static_cast<size_t>(pos * D + i + 1)] = static_cast<float>(std::cos(static_cast<double>(pos) * rate));
        }
    }
    return table;
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
        const std::vector<float> table = sinusoid_table(config_.max_length, config_.D);
        sinusoids_ = Buffer(context_->device(), table.size() * sizeof(float));
        stream.upload(sinusoids_.data(), table.data(), table.size() * sizeof(float));
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
