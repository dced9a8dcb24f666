// The models of one decoder: one, an ensemble, or one with a draft.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "core/usage.h"
#include "decode/draft_policy.h"
#include "nn/model.h"

namespace xf {

struct DecodeModels {
    static constexpr size_t kMostInEnsemble = 8;

    std::shared_ptr<const Model> model;
    std::vector<std::shared_ptr<const Model>> ensemble{};  // the other models of an ensemble
    std::shared_ptr<const Model> draft{};                  // proposes tokens for greedy search; may be null
    const DraftPolicy *policy = nullptr;                   // see Speculation; null: the default

    // Throws XF_ERROR_INVALID_ARGUMENT if the models cannot decode together.
    void check() const;
    // Returns a hash of the models that determine the results: all except the draft.
    uint64_t hash() const;
};

// Locks the parameters of models for reading, so that they cannot be trained meanwhile. The models must outlive the
// lock.
class ModelsUse {
public:
    // Throws XF_ERROR_BUSY if another call changes a model.
    explicit ModelsUse(const DecodeModels &models);
    ModelsUse(const ModelsUse &) = delete;
    ModelsUse &operator=(const ModelsUse &) = delete;

private:
    struct Lock {
        ~Lock() {
            if (usage != nullptr) usage->end(false);
        }
        Usage *usage = nullptr;
    };
    std::array<Lock, DecodeModels::kMostInEnsemble + 1> locks_;  // the last one is that of a draft
};

}  // namespace xf
