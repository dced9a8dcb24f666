// Averaging the parameters of models (paper s. 6.1): of models in memory, or of files one after the other.
//
// Sums are in double and in the order given, so both give the same bits. Models are averaged that have one
// configuration and one tokenizer; the first gives the host's texts.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "nn/model_file.h"
#include "text/tokenizer.h"

namespace xf {

// A model and what made its ids, if that is known.
struct ModelWithTokenizer {
    std::shared_ptr<Model> model;
    std::shared_ptr<const Tokenizer> tokenizer;
};

// In the context of the first. call hears "average", in numbers.
std::shared_ptr<Model> average_models(const std::vector<ModelWithTokenizer> &models, const Call &call);

// The tokenizer is given as the files have it: its JSON, empty for none. call hears "load", in bytes of each file.
std::shared_ptr<Model> average_files(const std::shared_ptr<Context> &context, const std::vector<std::string> &paths,
                                     std::string *tokenizer, const Call &call);

}  // namespace xf
