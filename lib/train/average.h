// Checkpoint averaging (paper s. 6.1).
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "nn/model_file.h"

namespace xf {

// The mean of the parameters of several files of one configuration, summed in double in the order given.
// tokenizer receives the first file's.
std::shared_ptr<Model> average_models(const std::shared_ptr<Context> &context, const std::vector<std::string> &paths,
                                      std::string *tokenizer);

}  // namespace xf
