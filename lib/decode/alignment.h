// Word alignment from attention: the source token to which each token of a hypothesis is aligned.
//
// The model runs once on the source and the finished hypothesis. The decoder position that predicts a token is its
// query. The token is aligned to the source token with the largest encoder-decoder attention weight, as the mean over
// all heads of the last two layers. The end symbol and language tokens are excluded, because attention that selects no
// word goes to the end symbol. See docs/adr/0008-decoding.md for measurements.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "decode/beam.h"
#include "decode/inference_model.h"

namespace xf {

struct AlignmentTask {
    std::span<const int32_t> source;
    int32_t start_token;  // the first input of the decoder
    Hypothesis *hypothesis;
};

// Writes Hypothesis::alignment. The result of a task does not depend on the others. The network of the model must not
// be in use.
void align(InferenceModel *member, std::span<const AlignmentTask> tasks, const Call &call);

}  // namespace xf
