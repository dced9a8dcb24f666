// SPDX-License-Identifier: Apache-2.0
#include "decode/decode_models.h"

#include "core/hash.h"

namespace xf {

void DecodeModels::check() const {
    XF_CHECK(ensemble.size() < kMostInEnsemble, XF_ERROR_INVALID_ARGUMENT,
             "the ensemble has %zu models, expected at most %zu", ensemble.size() + 1, kMostInEnsemble);
    XF_CHECK(ensemble.empty() || draft == nullptr, XF_ERROR_INVALID_ARGUMENT,
             "a draft is set for an ensemble of %zu models, expected one model with a draft", ensemble.size() + 1);
    const ModelConfig &a = model->config();
    for (const auto &other : ensemble) {
        const ModelConfig &b = other->config();
        XF_CHECK(&other->context() == &model->context(), XF_ERROR_INVALID_ARGUMENT,
                 "a model of the ensemble belongs to another context than the first");
        XF_CHECK(a.V == b.V && a.source_V == b.source_V && a.tokens == b.tokens && a.languages == b.languages,
                 XF_ERROR_INVALID_ARGUMENT,
                 "a model of the ensemble has other vocabulary sizes, special tokens, or languages than the first");
        XF_CHECK(b.max_length >= a.max_length, XF_ERROR_INVALID_ARGUMENT,
                 "a model of the ensemble has model.max_length %" PRId64 ", expected at least %" PRId64
                 " as in the first",
                 b.max_length, a.max_length);
    }
}

uint64_t DecodeModels::hash() const {
    if (ensemble.empty()) return model->hash();
    std::vector<uint64_t> hashes{model->hash()};
    for (const auto &other : ensemble) hashes.push_back(other->hash());
    return hash64(hashes.data(), hashes.size() * sizeof hashes[0]);
}

ModelsUse::ModelsUse(const DecodeModels &models) {
    const auto hold = [](const Model &model, Lock *lock) {
        XF_CHECK(model.usage().begin(false), XF_ERROR_BUSY, "the model is being changed by another call");
        lock->usage = &model.usage();
    };
    hold(*models.model, &locks_[0]);
    for (size_t i = 0; i < models.ensemble.size(); ++i) hold(*models.ensemble[i], &locks_[i + 1]);
    if (models.draft != nullptr) hold(*models.draft, &locks_.back());
}

}  // namespace xf
