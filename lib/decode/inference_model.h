// A model with the objects that are needed to run it without gradients: a stream, activations, and the current batch.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "core/half.h"
#include "nn/transformer.h"

namespace xf {

struct InferenceModel {
    explicit InferenceModel(std::shared_ptr<const Model> given)
        : model(std::move(given)), stream(model->context().device(), model->dtype()), network(*model, stream) {}

    // A pass whose results do not depend on the batch.
    Pass pass(const Call &call) {
        Pass pass{*model, stream, call};
        pass.invariant = true;
        return pass;
    }
    // Encodes sources of a valid batch. order: the indices of these sources. Returns the output of the encoder,
    // [packed.src.rows, D], which is valid until the next call.
    Num encode(const xf_batch &batch, std::span<const int64_t> order, const Call &call) {
        packed.load(stream, model->config(), batch, order, PackedBatch::Sides::kSource, 0);
        network.prepare(packed, PassKind::kInference, false);
        return network.encode(pass(call), packed);
    }
    // Downloads values of the type of the model as fp32.
    std::vector<float> read(Num from, int64_t count) {
        std::vector<float> values(count);
        if (model->dtype() == XF_FP32) {
            stream.download(values.data(), from, values.size() * sizeof(float));
            return values;
        }
        std::vector<uint16_t> halves(values.size());
        stream.download(halves.data(), from, halves.size() * sizeof(uint16_t));
        std::transform(halves.begin(), halves.end(), values.begin(), from_bf16);
        return values;
    }

    const std::shared_ptr<const Model> model;
    Stream stream;
    Transformer network;
    PackedBatch packed;
};

}  // namespace xf
