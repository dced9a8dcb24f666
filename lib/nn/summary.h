// The contents of a model file and the memory that it needs, computed from its header only.
//
// The memory is an upper estimate of what the context accounts for: the sum of all tensors, from dry passes over their
// shapes, and an estimate of the scratch memory of the kernels, which only a backend knows. inspect_test.c measures
// that the estimate is between 1 and 1.5 times the memory used.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nn/model_file.h"
#include "xformer/model.h"

namespace xf {

// options: the groups "decode.", "data.", and "train.".
xf_model_summary summarize(const ModelFile &file, Context &context, const Options &options);

}  // namespace xf
