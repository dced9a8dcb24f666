// The one list of shapes that every operation of every backend is tested with: {operation, shape letters, flags}.
//
// A new shape needs only a row in the list. problem.h turns a case into calls; check.h lists the checks of each call. A
// new operation needs rows here and a Builder in a problem_*.cpp.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace xf_test {

enum : uint32_t {
    kBias = 1u << 0,        // linear, activation, loss, top_k: with biases and their gradients; add_norm: diff_src_bias
    kRelu = 1u << 1,        // linear: forward ends in a ReLU, backward gets relu_dst
    kAccumulate = 1u << 2,  // linear: diff_src +=
    kCausal = 1u << 3,      // attention
    kGaps = 1u << 4,        // attention: rows between sentences belong to no sentence
    kNoLse = 1u << 5,       // attention, forward: lse is NULL
    kNoSrc = 1u << 6,       // add_norm: src is NULL
    kNoSum = 1u << 7,       // add_norm: sum, stats, diff_sum are NULL
    kAliasFirst = 1u << 8,  // add_norm: sum is residual's memory, diff_residual diff_dst's; activation: dst is src's
    kAliasSecond = 1u << 9,  // add_norm: sum is src's memory, diff_residual is diff_sum's
    kUniform = 1u << 10,     // loss: smoothing on every id
    kTies = 1u << 11,        // top_k: logits are small whole numbers, many are equal
    kGradient = 1u << 12,    // small enough for finite differences
    kIdle = 1u << 13,        // loss: every third row has a negative target
    kAllowed = 1u << 14,     // top_k: each row has ids it may choose
    kNearTies = 1u << 15,    // top_k: logits differ by less than a log-probability can show
    kBf16 = 1u << 16,        // on a bf16 stream; set by the checks, not by the list
    kDecay = 1u << 17,       // adam: with weight decay
    kAverage = 1u << 18,     // adam: with the moving average
    kGelu = 1u << 19,        // activation: GELU; swish; neither: ReLU
    kSwish = 1u << 20,
    kGated = 1u << 21,      // activation: gated
    kRms = 1u << 22,        // add_norm: RMSNorm
    kNoBias = 1u << 23,     // add_norm: bias and diff_bias are NULL
    kExtremes = 1u << 24,   // linear: all numbers are 1 or -1, the largest of int8; row 0 is 1
    kDistinct = 1u << 25,   // embed: row t has id t
    kMultiStep = 1u << 26,  // attention_step: rows are three steps of each hypothesis, the last first
    kAll = 1u << 27,        // top_k: with the values of all ids
};

struct Case {
    std::string op;
    int64_t M = 0, N = 0, K = 0, D = 0, V = 0, H = 1, dk = 0, dv = 0;
    int64_t pad = 0;                      // every ld is the width plus pad
    std::vector<int32_t> S = {}, T = {};  // attention: lengths of keys (S) and queries (T); S empty: the same as T
    int64_t window = 0, t = 0, k = 0;
    std::vector<int32_t> banned = {};
    float rate = 0.0f, smoothing = 0.0f;
    uint32_t flags = 0;
    uint32_t weights = 0;  // XF_WEIGHTS_...: only forward passes if it is not XF_WEIGHTS_NUM

    bool has(uint32_t flag) const { return (flags & flag) != 0; }
};

// For messages: "linear M=3 N=5 K=1 pad=2 flags=0x3".
std::string describe(const Case &c);

const std::vector<Case> &all_cases();

}  // namespace xf_test
