// A model: configuration, parameters on the device, position tables.
//
// A model is wide, its parameters one block of fp32 on the device, or narrow: then its matrices are kept in 16 or 8
// bits (narrow_weights.h), and it decodes, scores and evaluates alone.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "backend/context.h"
#include "core/call.h"
#include "core/usage.h"
#include "nn/model_config.h"
#include "nn/narrow_weights.h"
#include "nn/parameters.h"
#include "nn/user_metadata.h"

namespace xf {

class Model {
public:
    // Parameters are zero, or of a narrow model nothing of worth, until initialise() or a load fills them.
    Model(std::shared_ptr<Context> context, const Options &options, uint32_t weights_type = XF_WEIGHTS_NUM);

    void initialise();

    // The same parameters and texts in a context, which may be of another device, with matrices as that wants them.
    std::shared_ptr<Model> copy_to(std::shared_ptr<Context> context, const Call &call) const;

    Context &context() const { return *context_; }
    const std::shared_ptr<Context> &context_ptr() const { return context_; }
    const Options &options() const { return options_; }
    const ModelConfig &config() const { return config_; }
    const ParameterTable &table() const { return table_; }

    UserMetadata &metadata() { return metadata_; }
    const UserMetadata &metadata() const { return metadata_; }

    // The type of activations and of the matrices they are multiplied with.
    uint32_t dtype() const { return context_->dtype(); }

    // How matrices are kept: XF_WEIGHTS_NUM, or what narrow() has.
    uint32_t weights_type() const { return narrow_ != nullptr ? narrow_->type() : uint32_t{XF_WEIGHTS_NUM}; }
    // Null of a wide model.
    NarrowWeights *narrow() const { return narrow_.get(); }

    // The parameters, fp32: what is trained. XF_ERROR_STATE of a narrow model.
    float *params() const {
        if (narrow_ != nullptr) refuse_narrow();
        return params_.floats();
    }
    // One that is no matrix, fp32; null where the model has none.
    const float *param(int64_t offset) const {
        if (offset == kAbsent) return nullptr;
        return narrow_ != nullptr ? narrow_->vector(offset) : params_.floats() + offset;
    }
    // A matrix of a wide model, or the bias of a map, as operations take it: the parameters themselves, or their
    // rounded copy; null where the model has none.
    Num weights(int64_t offset) const {
        if (offset == kAbsent) return {};
        if (narrow_ != nullptr) return {narrow_->vector(offset), XF_FP32};
        return Num(dtype() == XF_BF16 ? copy_.data() : params_.data(), dtype()) + offset;
    }
    // What an operation of decoding multiplies with: one matrix, or several that stand one behind the other.
    Matrix matrix(int64_t offset) const {
        return narrow_ != nullptr ? narrow_->matrix(offset) : Matrix{weights(offset), XF_WEIGHTS_NUM, nullptr};
    }

    // Numbers of a parameter, widened; first and count within it.
    void read(Stream &stream, const Parameter &p, int64_t first, int64_t count, float *values) const;
    // Of the shape of params(), bf16; null in fp32.
    void *copy() const { return copy_.data(); }
    // To be called when the parameters were written by anything but an update: makes the copy anew, or packs.
    void parameters_written(Stream &stream) const;

    // Who reads or writes the parameters at the moment: handles, decoders and trainers that share them.
    Usage &usage() const { return usage_; }
    // Who reads or changes the host's texts: reading them needs no peace from training.
    Usage &texts_usage() const { return texts_usage_; }

    // [max_length, D]: parameters or sinusoids.
    const float *encoder_positions() const;
    const float *decoder_positions() const;

private:
    [[noreturn]] void refuse_narrow() const;

    std::shared_ptr<Context> context_;
    Options options_;
    ModelConfig config_;
    ParameterTable table_;
    UserMetadata metadata_;
    Buffer params_, copy_;
    std::unique_ptr<NarrowWeights> narrow_;
    Buffer sinusoids_;
    mutable Usage usage_, texts_usage_;
};

}  // namespace xf
