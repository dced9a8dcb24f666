// What a model file holds and what it would need, told from its header alone.
//
// The bytes are an upper estimate of the context's account: dry passes over the shapes of what is allocated, and a
// share for the kernels' scratch, which only a backend knows. tests/api/inspect_test.c measures them: not less than is
// used, and at most half as much again.
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
    int64_t step;  // -1 of a model
    bool has_tokenizer;
    std::string precision;  // "fp32", "fp16", "bf16", "int8"
};

// options: of the groups "decode.", "data." and "train.".
ModelSummary summarise(const ModelFile &file, Context &context, const Options &options);

}  // namespace xf
