// How handles of models and tokenizers are filled.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "api/handles.h"

namespace xf {

// Throws XF_ERROR_CORRUPT if the sizes of vocabulary and tokenizer differ.
void fill_model_handle(xf_model *handle, std::shared_ptr<Model> model, std::shared_ptr<const Tokenizer> tokenizer);

// model: the options of the model that owns the tokenizer; null if none does.
void fill_tokenizer_handle(xf_tokenizer *handle, std::shared_ptr<const Tokenizer> tokenizer,
                           std::shared_ptr<const Options> model);

// The tokenizer of a model as JSON, empty if it has none; and from it, null for an empty text.
std::string tokenizer_json(const xf_model &model);
std::shared_ptr<const Tokenizer> parse_tokenizer(const std::string &json);

// XF_TYPE_... for XF_WEIGHTS_...
inline int32_t public_type(uint32_t weights_type) {
    constexpr int32_t kTypes[] = {XF_TYPE_FP32, XF_TYPE_BF16, XF_TYPE_FP16, XF_TYPE_INT8};
    return kTypes[weights_type];
}

}  // namespace xf
