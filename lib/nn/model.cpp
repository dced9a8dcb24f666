// SPDX-License-Identifier: Apache-2.0
#include "nn/model.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/hash.h"

namespace xf {
namespace {

constexpr int64_t kCopyElements = 1 << 16;  // per step of a copy between devices

// In chunks, so that a file with a long table uses no host memory beyond the device memory that the context accounts
// for.
void upload_sinusoids(Stream *stream, int64_t positions, int64_t D, float *table) {
    const int64_t rows = std::clamp<int64_t>(65536 / D, 1, positions);
    std::vector<float> chunk(rows * D);
    for (int64_t begin = 0; begin < positions; begin += rows) {
        const int64_t count = std::min(rows, positions - begin);
        fill_sinusoids(begin, count, D, chunk.data());
        stream->upload(table + begin * D, chunk.data(), count * D * sizeof(float));
    }
}

}  // namespace

Model::Model(std::shared_ptr<Context> context, const Options &options, uint32_t weights_type)
    : context_(std::move(context)), config_(ModelConfig::from(options)), table_(config_) {
    options_.copy_group(options, "model.");
    options_.set("model.weights", "same");  // an option of the call, not of the model
    Stream stream(context_->device());
    if (weights_type != XF_WEIGHTS_NUM) {
        low_precision_ = std::make_unique<LowPrecisionWeights>(&context_->heap(), table_, weights_type);
    } else {
        params_ = Buffer(context_->device(), table_.total * sizeof(float));
        stream.zero(params_.data(), params_.bytes());
    }
    if (dtype() == XF_BF16) {
        copy_ = Buffer(context_->device(), table_.total * number_bytes(XF_BF16));
        stream.zero(copy_.data(), copy_.bytes());
    }
    if (config_.positions == Positions::kSinusoid) {
        sinusoids_ = Buffer(context_->device(), config_.max_length * config_.D * sizeof(float));
        upload_sinusoids(&stream, config_.max_length, config_.D, sinusoids_.floats());
    }
    stream.sync();
}

void Model::initialize() {
    Stream stream(context_->device());
    if (context_->device().host_memory()) {
        table_.initialize(config_.seed, params());
    } else {
        std::vector<float> block(table_.total);
        table_.initialize(config_.seed, block.data());
        stream.upload(params_.data(), block.data(), block.size() * sizeof(float));
    }
    parameters_written(stream);
    stream.sync();
}

std::shared_ptr<Model> Model::copy_to(std::shared_ptr<Context> context, const std::string &weights,
                                      const Call &call) const {
    const uint32_t type = context->weights_type(weights, weights_type(), "the model");
    auto copy = std::make_shared<Model>(std::move(context), options_, type);
    copy->metadata_ = metadata_;
    LowPrecisionWeights *const target = copy->low_precision();
    Stream from(context_->device()), to(copy->context_->device());
    std::vector<float> chunk;  // copied through the host: two devices may belong to different backends
    for (const Parameter &p : table_.list) {
        const int64_t rows = std::clamp<int64_t>(kCopyElements / p.columns, 1, p.rows);
        const bool same_int8 = target != nullptr && low_precision_ != nullptr && type == XF_WEIGHTS_INT8 &&
                               weights_type() == type && table_.is_matrix(p);
        if (same_int8) std::copy_n(low_precision_->scales(p), p.rows, target->scales(p));
        for (int64_t row = 0; row < p.rows; row += rows) {
            call.check();
            const int64_t count = std::min(rows, p.rows - row);
            if (same_int8) {  // exact, without quantizing again
                low_precision_->read_rows(from, p, row, count, target->rows(p) + row * p.columns);
                continue;
            }
            chunk.resize(count * p.columns);
            read(from, p, row * p.columns, count * p.columns, chunk.data());
            if (target != nullptr)
                target->write(p, row, count, chunk.data());
            else
                to.upload(copy->params() + p.offset + row * p.columns, chunk.data(), chunk.size() * sizeof(float));
        }
    }
    copy->parameters_written(to);
    to.sync();
    return copy;
}

void Model::read(Stream &stream, const Parameter &p, int64_t first, int64_t count, float *values) const {
    if (low_precision_ != nullptr)
        low_precision_->read(stream, p, first, count, values);
    else
        stream.download(values, params_.floats() + p.offset + first, count * sizeof(float));
}

uint64_t Model::hash() const {
    uint64_t hash = 0;
    const auto add = [&](const std::string &text) { hash = hash64(text.data(), text.size(), hash); };
    for (size_t i = 0; i < option_count(); ++i)
        if (const std::string_view key = option(i).key; key.starts_with("model.")) add(options_.text(key));
    add(weights_name(weights_type()));
    Stream stream(context_->device());
    std::vector<float> chunk;
    for (const Parameter &p : table_.list) {
        add(p.name);
        for (int64_t first = 0; first < p.size(); first += kCopyElements) {
            chunk.resize(std::min<int64_t>(kCopyElements, p.size() - first));
            read(stream, p, first, std::ssize(chunk), chunk.data());
            hash = hash64(chunk.data(), chunk.size() * sizeof(float), hash);
        }
    }
    return hash;
}

void Model::write(const Parameter &p, const float *values) {
    for (int64_t i = 0; i < p.size(); ++i)
        XF_CHECK(std::isfinite(values[i]), XF_ERROR_INVALID_ARGUMENT, "value %" PRId64 " for '%s' is not finite", i,
                 p.name.c_str());
    float *const block = params();
    Stream stream(context_->device());
    stream.upload(block + p.offset, values, p.size() * sizeof(float));
    parameters_written(stream);
    stream.sync();
}

void Model::fail_low_precision() const {
    fail(XF_ERROR_STATE,
         "the model's matrices are %s and cannot be trained or written; load or copy the model with model.weights fp32",
         weights_name(weights_type()));
}

void Model::parameters_written(Stream &stream) const {
    if (low_precision_ != nullptr) return low_precision_->pack(stream);
    if (dtype() == XF_BF16) stream.run(xf_to_bf16{table_.total, params_.floats(), copy_.data()});
}

const float *Model::positions(Stack stack) const {
    return config_.positions == Positions::kSinusoid ? sinusoids_.floats() : param(table_.stack(stack).positions);
}

}  // namespace xf
