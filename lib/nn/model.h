// A model: configuration, parameters on the device, position tables.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "backend/context.h"
#include "core/call.h"
#include "core/usage.h"
#include "nn/model_config.h"
#include "nn/parameters.h"
#include "nn/user_metadata.h"

namespace xf {

class Model {
public:
    // Parameters are zero until initialise() or a load fills them.
    Model(std::shared_ptr<Context> context, const Options &options);

    void initialise();

    // The same parameters and texts in a context, which may be of another device.
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

    // The parameters, fp32: what is trained, saved and loaded.
    float *params() const { return params_.floats(); }
    const float *param(int64_t offset) const { return params_.floats() + offset; }
    // A matrix of them, or the bias of a map, as operations take it: the parameters themselves, or their rounded copy.
    Num weights(int64_t offset) const {
        return Num(dtype() == XF_BF16 ? copy_.data() : params_.data(), dtype()) + offset;
    }
    // Of the shape of params(), bf16; null in fp32.
    void *copy() const { return copy_.data(); }
    // To be called when params() were written by anything but an update: makes the copy anew.
    void parameters_written(Stream &stream) const;

    // Who reads or writes the parameters at the moment: handles, decoders and trainers that share them.
    Usage &usage() const { return usage_; }
    // Who reads or changes the host's texts: reading them needs no peace from training.
    Usage &texts_usage() const { return texts_usage_; }

    // [max_length, D]: parameters or sinusoids.
    const float *encoder_positions() const;
    const float *decoder_positions() const;

private:
    std::shared_ptr<Context> context_;
    Options options_;
    ModelConfig config_;
    ParameterTable table_;
    UserMetadata metadata_;
    Buffer params_, copy_;
    Buffer sinusoids_;
    mutable Usage usage_, texts_usage_;
};

}  // namespace xf
