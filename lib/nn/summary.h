// The contents of a model file and the memory that it needs, computed from its header only.
//
// The memory is an upper estimate of what the context accounts for: the sum of all tensors, from dry passes over their
// shapes, and an estimate of the scratch memory of the kernels, which only a backend knows. inspect_test.c measures
// that the estimate is between 1 and 1.5 times the memory used.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "nn/model_file.h"

namespace xf {

struct ModelSummary {
    int64_t parameters, vocab_size, file_bytes;
    int64_t decode_bytes, train_bytes;
    int64_t step;  // -1 if the file is not a checkpoint
    bool has_tokenizer;
    uint32_t weights_type;  // of the matrices, XF_WEIGHTS_...
};

// options: the groups "decode.", "data.", and "train.".
ModelSummary summarize(const ModelFile &file, Context &context, const Options &options);

}  // namespace xf
