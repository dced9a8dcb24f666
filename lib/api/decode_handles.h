// The handle of hypotheses and the callback of constraints, which decode.cpp and engine.cpp use.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "api/handles.h"
#include "decode/decode_models.h"
#include "decode/search.h"
#include "xformer/decode.h"

struct xf_hypotheses : xf::Handle<0x58460009u> {
    static constexpr const char *kKind = "a set of hypotheses";
    bool has_text = false;
    std::vector<xf::SentenceOutcome> outcomes;
};

namespace xf {

// The models of a decoder or an engine. XF_ERROR_INVALID_ARGUMENT if their tokenizers differ.
DecodeModels models_of(const xf_model &model, const xf_decode_models *more);

// A caller's constraint; null: none. name: of the parameter. V: the size of the vocabulary.
Constraint constraint_of(const xf_constraint *in, const char *name, int32_t V);

}  // namespace xf
