// Averages the parameters of model files (paper s. 6.1), one file at a time.
//
// Sums are fp64, in the order of the files. All files have the same configuration and tokenizer; metadata come from the
// first.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "nn/model_file.h"

namespace xf {

// open(i) opens file i. *tokenizer becomes the files' tokenizer as JSON, empty if they have none. Reports progress as
// "load", in bytes of each file.
std::shared_ptr<Model> average_files(const std::shared_ptr<Context> &context, size_t count,
                                     const std::function<std::shared_ptr<const Input>(size_t i)> &open,
                                     std::string *tokenizer, const Call &call);

}  // namespace xf
