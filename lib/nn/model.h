// A model: configuration, parameters, and position tables.
//
// The parameters of an fp32 model are one block on the device. A low-precision model stores its matrices in 16 or 8
// bits (low_precision_weights.h); it can decode, score, and evaluate, but not be trained.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "backend/context.h"
#include "core/call.h"
#include "core/usage.h"
#include "nn/low_precision_weights.h"
#include "nn/model_config.h"
#include "nn/parameters.h"
#include "nn/user_metadata.h"

namespace xf {

class Model {
public:
    // Until initialize() or a load, fp32 parameters are zero and low-precision ones are undefined.
    Model(std::shared_ptr<Context> context, const Options &options, uint32_t weights_type = XF_WEIGHTS_NUM);

    void initialize();

    // Copies the parameters and the metadata to a context, possibly on another device. weights: "model.weights", the
    // type of the matrices of the copy.
    std::shared_ptr<Model> copy_to(std::shared_ptr<Context> context, const std::string &weights,
                                   const Call &call) const;

    Context &context() const { return *context_; }
    const std::shared_ptr<Context> &context_ptr() const { return context_; }
    const Options &options() const { return options_; }
    const ModelConfig &config() const { return config_; }
    const ParameterTable &table() const { return table_; }

    UserMetadata &metadata() { return metadata_; }
    const UserMetadata &metadata() const { return metadata_; }

    // The type of activations, and of fp32 matrices when operations multiply with them.
    uint32_t dtype() const { return context_->dtype(); }

    // The type of the stored matrices; XF_WEIGHTS_NUM for an fp32 model.
    uint32_t weights_type() const {
        return low_precision_ != nullptr ? low_precision_->type() : uint32_t{XF_WEIGHTS_NUM};
    }
    // Null for an fp32 model.
    LowPrecisionWeights *low_precision() const { return low_precision_.get(); }

    // The fp32 parameters. Throws XF_ERROR_STATE for a low-precision model.
    float *params() const {
        if (low_precision_ != nullptr) fail_low_precision();
        return params_.floats();
    }
    // An fp32 parameter that is not a matrix; null for kAbsent.
    const float *param(int64_t offset) const {
        if (offset == kAbsent) return nullptr;
        return low_precision_ != nullptr ? low_precision_->vector(offset) : params_.floats() + offset;
    }
    // A matrix of an fp32 model, or the bias of a linear map, for use in operations: the parameters or their bf16 copy;
    // null for kAbsent.
    Num weights(int64_t offset) const {
        if (offset == kAbsent) return {};
        if (low_precision_ != nullptr) return {low_precision_->vector(offset), XF_FP32};
        return Num(dtype() == XF_BF16 ? copy_.data() : params_.data(), dtype()) + offset;
    }
    // The matrix at this offset, or several adjacent ones, for use in operations.
    Matrix matrix(int64_t offset) const {
        return low_precision_ != nullptr ? low_precision_->matrix(offset)
                                         : Matrix{weights(offset), XF_WEIGHTS_NUM, nullptr};
    }

    // Reads elements of a parameter as fp32; first and count are relative to the parameter.
    void read(Stream &stream, const Parameter &p, int64_t first, int64_t count, float *values) const;
    // A hash of the options and the parameters, equal for equal models on any device. Not a cryptographic hash.
    uint64_t hash() const;
    // Writes a whole parameter of an fp32 model. Throws XF_ERROR_INVALID_ARGUMENT if a value is not finite.
    void write(const Parameter &p, const float *values);
    // The bf16 copy of params(); null if dtype() is fp32.
    void *copy() const { return copy_.data(); }
    // Must be called after parameters were written, except by an update. Updates the bf16 copy, or packs the matrices.
    void parameters_written(Stream &stream) const;

    // Guards the parameters, which handles, decoders, and trainers share.
    Usage &usage() const { return usage_; }
    // Guards the metadata, which can be read during training.
    Usage &texts_usage() const { return texts_usage_; }

    // The table of positions, [max_length, D]: parameters or sinusoids.
    const float *positions(Stack stack) const;

private:
    [[noreturn]] void fail_low_precision() const;

    std::shared_ptr<Context> context_;
    Options options_;
    ModelConfig config_;
    ParameterTable table_;
    UserMetadata metadata_;
    Buffer params_, copy_;
    std::unique_ptr<LowPrecisionWeights> low_precision_;
    Buffer sinusoids_;
    mutable Usage usage_, texts_usage_;
};

}  // namespace xf
