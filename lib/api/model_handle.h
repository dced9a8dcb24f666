// How an xf_model is filled, shared by what makes models: create, load, average, resume.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "api/handles.h"

namespace xf {

// Throws XF_ERROR_CORRUPT when vocabulary and tokenizer differ in size.
void fill_model_handle(xf_model *handle, std::shared_ptr<Model> model, std::shared_ptr<const Tokenizer> tokenizer);

// Gives the options of special tokens that are left to the tokenizer its values; without a start symbol of its own the
// decoder is fed the end symbol first. XF_ERROR_INVALID_ARGUMENT when nobody knows the end symbol.
void set_tokens(const Tokenizer &tokenizer, Options *options);

// Its JSON, empty when the model has none.
std::string tokenizer_json(const xf_model &model);

// Null for an empty text.
std::shared_ptr<const Tokenizer> parse_tokenizer(const std::string &json);

}  // namespace xf
