// Handles of models and tokenizers.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "api/guard.h"
#include "nn/model.h"

namespace xf {

// The parameters of a model, which handles, decoders, and trainers share.
struct ModelUse : SharedUse {
    ModelUse(const Model &model, bool exclusive)
        : SharedUse(model.usage(), exclusive,
                    exclusive ? "the model is in use by another call, and this one needs it for itself"
                              : "the model is being changed by another call") {}
};

// Throws XF_ERROR_CORRUPT if the sizes of vocabulary and tokenizer differ.
std::unique_ptr<xf_model> make_handle(std::shared_ptr<Model> model, std::shared_ptr<const Tokenizer> tokenizer);

// model: the options of the model that owns the tokenizer; null if none does.
std::unique_ptr<xf_tokenizer> make_handle(std::shared_ptr<const Tokenizer> tokenizer,
                                          std::shared_ptr<const Options> model = nullptr);

// The tokenizer of a model; null if it has none.
std::shared_ptr<const Tokenizer> tokenizer_of(const xf_model &model);
// The same as JSON, empty if it has none; and from it, null for an empty text.
std::string tokenizer_json_of(const xf_model &model);
std::shared_ptr<const Tokenizer> parse_tokenizer(const std::string &json);

}  // namespace xf
