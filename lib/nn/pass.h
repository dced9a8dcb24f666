// The context of a forward or backward pass: model, stream, gradients, dropout.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/device.h"
#include "core/call.h"
#include "nn/model.h"

namespace xf {

// The site of a dropout operation is part of its key, so that no two operations use the same mask.
constexpr uint32_t embed_site(Stack stack) { return static_cast<uint32_t>(stack); }
// sub: 0 self-attention, 1 cross-attention, 2 feed-forward. inside: dropout of the attention weights, or after the
// activation of the feed-forward sub-layer.
constexpr uint32_t sublayer_site(Stack stack, int64_t layer, uint32_t sub, bool inside) {
    return 16 + ((static_cast<uint32_t>(stack) * 1024 + static_cast<uint32_t>(layer)) * 4 + sub) * 2 + (inside ? 1 : 0);
}

struct DropoutKey {
    float rate = 0, attention_rate = 0, activation_rate = 0;  // 0: off
    uint64_t seed = 0;
    const uint32_t *when = nullptr;  // PackedBatch::when
};

struct Pass {
    const Model &model;
    Stream &stream;
    const Call &call;        // checked for cancellation between sub-layers
    float *grads = nullptr;  // a block of the parameter table; null in inference
    bool invariant = false;  // decoding and scoring: the result of a row must not depend on the other rows
    DropoutKey dropout{};

    const ModelConfig &config() const { return model.config(); }
    const float *param(int64_t offset) const { return model.param(offset); }
    Num weights(int64_t offset) const { return model.weights(offset); }
    Matrix matrix(int64_t offset) const { return model.matrix(offset); }
    float *grad(int64_t offset) const { return offset == kAbsent ? nullptr : grads + offset; }
    uint32_t linear_flags() const { return invariant ? XF_LINEAR_ROW_INVARIANT : 0; }
    xf_dropout drop(uint32_t site) const { return make(dropout.rate, site); }
    xf_dropout drop_attention(uint32_t site) const { return make(dropout.attention_rate, site); }
    xf_dropout drop_activation(uint32_t site) const { return make(dropout.activation_rate, site); }

private:
    xf_dropout make(float rate, uint32_t site) const { return {rate, site, dropout.seed, dropout.when}; }
};

}  // namespace xf
