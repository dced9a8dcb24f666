// The case list itself; see cases.h.
//
// Sizes are chosen at the edges of tiles and vectors: 1, 3, 17, one more and one less than a power of two, and zero
// rows everywhere. kGradient marks the small ones that finite differences can afford.
//
// SPDX-License-Identifier: Apache-2.0
#include "backend/cases.h"

#include "backend/plugin_abi.h"

#include <cstdlib>
#include <sstream>

namespace xf_test {
namespace {

using Cases = std::vector<Case>;

// Tables, one case a line.
// clang-format off
void add_linear(Cases &list) {
    for (int64_t M : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 33, 129})
        list.push_back({.op = "linear", .M = M, .N = 37, .K = 21, .flags = kBias});
    for (int64_t M : {1, 5, 16})
        for (int64_t N : {1, 3, 17, 48})
            for (int64_t K : {1, 3, 16, 513}) list.push_back({.op = "linear", .M = M, .N = N, .K = K, .flags = kBias});
    list.insert(list.end(), {
        {.op = "linear", .M = 300, .N = 520, .K = 260, .flags = kBias},
        {.op = "linear", .M = 65, .N = 129, .K = 257, .flags = kRelu},
        {.op = "linear", .M = 33, .N = 64, .K = 64, .pad = 3, .flags = kBias | kRelu},
        {.op = "linear", .M = 130, .N = 31, .K = 40, .pad = 8, .flags = kAccumulate},
        {.op = "linear", .M = 9, .N = 5, .K = 7, .pad = 1, .flags = kAccumulate | kBias},
        {.op = "linear", .M = 0, .N = 5, .K = 7, .flags = kAccumulate | kBias},
        {.op = "linear", .M = 1100, .N = 50, .K = 40, .flags = kBias},
        {.op = "linear", .M = 1030, .N = 18, .K = 9, .flags = kBias},
        {.op = "linear", .M = 8, .N = 261, .K = 1030, .flags = kBias | kRelu},
        {.op = "linear", .M = 200, .N = 9, .K = 1024, .pad = 1, .flags = kBias},
        {.op = "linear", .M = 4, .N = 1100, .K = 64, .flags = kBias | kRelu},
        {.op = "linear", .M = 1030, .N = 9, .K = 264, .flags = kBias | kRelu},
        {.op = "linear", .M = 700, .N = 264, .K = 24, .pad = 8, .flags = kBias},
        {.op = "linear", .M = 515, .N = 70, .K = 5, .pad = 3, .flags = kBias},
        {.op = "linear", .M = 256, .N = 5, .K = 19, .pad = 1, .flags = kBias | kRelu},
        {.op = "linear", .M = 1, .N = 1, .K = 1, .flags = kBias | kGradient},
        {.op = "linear", .M = 5, .N = 3, .K = 7, .flags = kBias | kGradient},
        {.op = "linear", .M = 6, .N = 17, .K = 9, .pad = 2, .flags = kBias | kRelu | kGradient},
        {.op = "linear", .M = 19, .N = 4, .K = 5, .flags = kAccumulate | kGradient},
    });
}

void add_activation(Cases &list) {
    for (uint32_t kind : {0u, uint32_t{kGelu}, uint32_t{kSwish}})
        for (uint32_t gated : {0u, uint32_t{kGated}}) {
            const uint32_t flags = kind | gated, in_place = gated ? 0u : uint32_t{kAliasFirst};
            for (int64_t N : {1, 3, 17, 64, 513})
                for (int64_t M : {0, 1, 7, 70})
                    list.push_back({.op = "activation", .M = M, .N = N, .rate = M == 7 ? 0.1f : 0.0f,
                                    .flags = flags | (N == 17 ? 0u : uint32_t{kBias})});
            list.insert(list.end(), {
                {.op = "activation", .M = 600, .N = 40, .flags = flags | kBias},
                {.op = "activation", .M = 515, .N = 23, .rate = 0.3f, .flags = flags | kBias},
                {.op = "activation", .M = 9, .N = 2056, .rate = 0.2f, .flags = flags | kBias},
                {.op = "activation", .M = 12, .N = 264, .flags = flags | in_place},
                {.op = "activation", .M = 12, .N = 43, .rate = 0.2f, .flags = flags | in_place},
                {.op = "activation", .M = 4, .N = 7, .flags = flags | kBias | kGradient},
                {.op = "activation", .M = 5, .N = 8, .rate = 0.3f, .flags = flags | kGradient},
            });
        }
}

void add_embed_and_norm(Cases &list) {
    for (int64_t D : {1, 3, 17, 513})
        for (int64_t M : {0, 1, 7, 70})
            list.insert(list.end(), {
                {.op = "embed", .M = M, .D = D, .V = 23, .rate = M == 7 ? 0.1f : 0.0f},
                {.op = "add_norm", .M = M, .D = D, .rate = M == 7 ? 0.1f : 0.0f},
            });
    list.insert(list.end(), {
        {.op = "embed", .M = 300, .D = 64, .V = 3, .rate = 0.3f},  // few ids: long groups
        {.op = "embed", .M = 9, .D = 5, .V = 6, .flags = kGradient},
        {.op = "embed", .M = 9, .D = 5, .V = 6, .rate = 0.4f, .flags = kGradient},
        {.op = "add_norm", .M = 33, .D = 64, .flags = kAliasFirst},
        {.op = "add_norm", .M = 33, .D = 31, .rate = 0.2f, .flags = kAliasFirst},
        {.op = "add_norm", .M = 33, .D = 64, .flags = kAliasSecond},
        {.op = "add_norm", .M = 33, .D = 31, .rate = 0.2f, .flags = kAliasSecond},
        {.op = "add_norm", .M = 12, .D = 40, .flags = kNoSum},
        {.op = "add_norm", .M = 12, .D = 40, .flags = kNoSrc},
        {.op = "add_norm", .M = 12, .D = 40, .flags = kNoSrc | kNoSum},
        {.op = "add_norm", .M = 12, .D = 40, .flags = kNoSrc | kAliasFirst},
        {.op = "add_norm", .M = 600, .D = 48, .rate = 0.1f},
        // Rows of one warp, of two, of four, of a block; with columns to spare and without.
        {.op = "add_norm", .M = 2100, .D = 16, .rate = 0.1f, .flags = kBias},
        {.op = "add_norm", .M = 37, .D = 256, .flags = kBias | kAliasFirst},
        {.op = "add_norm", .M = 1100, .D = 264, .rate = 0.1f, .flags = kBias},
        {.op = "add_norm", .M = 35, .D = 512, .flags = kBias | kAliasSecond},
        {.op = "add_norm", .M = 515, .D = 520, .rate = 0.2f, .flags = kBias},
        {.op = "add_norm", .M = 19, .D = 1024, .rate = 0.1f, .flags = kBias},
        {.op = "add_norm", .M = 7, .D = 771, .rate = 0.1f, .flags = kBias | kNoSum},
        {.op = "add_norm", .M = 70, .D = 1032, .rate = 0.1f, .flags = kBias},
        {.op = "add_norm", .M = 3, .D = 4099, .flags = kBias},
        {.op = "add_norm", .M = 9, .D = 13, .rate = 0.2f, .flags = kBias | kAliasFirst},
        {.op = "add_norm", .M = 4, .D = 7, .flags = kGradient},
        {.op = "add_norm", .M = 5, .D = 16, .rate = 0.3f, .flags = kGradient},
        {.op = "add_norm", .M = 3, .D = 9, .flags = kNoSrc | kGradient},
    });
    for (uint32_t form : {uint32_t{kRms}, uint32_t{kNoBias}, uint32_t{kRms | kNoBias}})
        list.insert(list.end(), {
            {.op = "add_norm", .M = 0, .D = 8, .flags = form},
            {.op = "add_norm", .M = 1, .D = 1, .flags = form},
            {.op = "add_norm", .M = 7, .D = 17, .rate = 0.1f, .flags = form | kBias},
            {.op = "add_norm", .M = 33, .D = 64, .flags = form | kAliasFirst},
            {.op = "add_norm", .M = 12, .D = 40, .flags = form | kNoSrc | kNoSum},
            {.op = "add_norm", .M = 515, .D = 264, .rate = 0.1f, .flags = form | kBias},
            {.op = "add_norm", .M = 35, .D = 520, .flags = form | kBias | kAliasSecond},
            {.op = "add_norm", .M = 9, .D = 1032, .rate = 0.1f, .flags = form | kBias},
            {.op = "add_norm", .M = 3, .D = 4099, .flags = form},
            {.op = "add_norm", .M = 4, .D = 7, .flags = form | kGradient},
            {.op = "add_norm", .M = 3, .D = 9, .rate = 0.3f, .flags = form | kNoSrc | kGradient},
        });
}

void add_attention(Cases &list) {
    list.insert(list.end(), {
        {.op = "attention", .H = 2, .dk = 8, .dv = 8},  // no sentence
        {.op = "attention", .H = 1, .dk = 1, .dv = 1, .T = {1}},
        {.op = "attention", .H = 2, .dk = 3, .dv = 5, .T = {1, 4, 2}},
        {.op = "attention", .H = 3, .dk = 17, .dv = 9, .pad = 5, .T = {7, 1, 33}, .flags = kGaps},
        {.op = "attention", .H = 8, .dk = 64, .dv = 64, .T = {25, 31, 64}},
        {.op = "attention", .H = 8, .dk = 64, .dv = 64, .T = {25, 65, 2}, .flags = kCausal},
        {.op = "attention", .H = 2, .dk = 16, .dv = 32, .T = {130, 3}, .flags = kCausal},
        {.op = "attention", .H = 2, .dk = 16, .dv = 16, .S = {200, 5, 16}, .T = {3, 70, 17}},
        {.op = "attention", .H = 2, .dk = 16, .dv = 16, .pad = 1, .S = {5, 0, 9}, .T = {3, 4, 1}, .flags = kGaps},
        {.op = "attention", .H = 2, .dk = 16, .dv = 16, .S = {5, 6, 9}, .T = {3, 0, 1}, .flags = kGaps},
        {.op = "attention", .H = 1, .dk = 8, .dv = 8, .S = {0, 0}, .T = {0, 2}},
        {.op = "attention", .H = 2, .dk = 8, .dv = 8, .T = {40, 9}, .window = 6},
        {.op = "attention", .H = 2, .dk = 8, .dv = 8, .T = {40, 9}, .window = 7, .flags = kCausal},
        {.op = "attention", .H = 2, .dk = 8, .dv = 8, .T = {20}, .window = 1},
        {.op = "attention", .H = 2, .dk = 8, .dv = 8, .T = {20, 70}, .window = 500, .flags = kCausal},
        {.op = "attention", .H = 4, .dk = 12, .dv = 20, .pad = 4, .T = {33, 18}, .rate = 0.1f},
        {.op = "attention", .H = 4, .dk = 12, .dv = 20, .T = {33, 18}, .rate = 0.3f, .flags = kCausal | kGaps},
        {.op = "attention", .H = 2, .dk = 8, .dv = 8, .T = {40, 9}, .window = 8, .rate = 0.5f},
        {.op = "attention", .H = 2, .dk = 8, .dv = 8, .S = {19, 1}, .T = {4, 6}, .flags = kNoLse},
        // Shapes for tensor cores: 16, 32, 64, and 128 columns, masks over several tiles of 32 keys, odd row strides.
        {.op = "attention", .H = 2, .dk = 16, .dv = 16, .T = {70, 5}, .window = 20, .rate = 0.2f, .flags = kCausal},
        {.op = "attention", .H = 1, .dk = 16, .dv = 16, .pad = 1, .T = {67}, .window = 41},
        {.op = "attention", .H = 2, .dk = 32, .dv = 32, .T = {33, 70, 5}, .flags = kCausal | kGaps},
        {.op = "attention", .H = 1, .dk = 32, .dv = 32, .pad = 3, .S = {90, 40}, .T = {35, 66}, .rate = 0.1f},
        {.op = "attention", .H = 2, .dk = 64, .dv = 64, .pad = 1, .T = {45, 33}, .window = 9, .rate = 0.1f},
        {.op = "attention", .H = 1, .dk = 64, .dv = 64, .pad = 5, .S = {33, 97}, .T = {80, 34}},
        {.op = "attention", .H = 2, .dk = 128, .dv = 128, .T = {40, 3}, .rate = 0.3f, .flags = kCausal},
        {.op = "attention", .H = 1, .dk = 128, .dv = 128, .pad = 2, .S = {90}, .T = {35}, .flags = kGaps},
        {.op = "attention", .H = 1, .dk = 128, .dv = 128, .T = {97}, .window = 33},
        {.op = "attention", .H = 2, .dk = 3, .dv = 2, .T = {4, 1}, .flags = kGradient},
        {.op = "attention", .H = 2, .dk = 4, .dv = 3, .pad = 1, .S = {5, 2}, .T = {3, 4}, .flags = kGaps | kGradient},
        {.op = "attention", .H = 1, .dk = 4, .dv = 6, .T = {6, 3}, .flags = kCausal | kGradient},
        {.op = "attention", .H = 1, .dk = 4, .dv = 4, .T = {9}, .window = 4, .flags = kGradient},
        {.op = "attention", .H = 2, .dk = 4, .dv = 4, .T = {5, 4}, .rate = 0.3f, .flags = kCausal | kGradient},
    });
    for (int64_t t : {0, 1, 5, 40})
        list.insert(list.end(), {
            {.op = "attention_step", .M = 6, .H = 2, .dk = 8, .dv = 8, .pad = t % 2, .t = t},
            {.op = "attention_step", .M = 1, .H = 3, .dk = 5, .dv = 7, .pad = 3, .t = t},
        });
    list.insert(list.end(), {
        {.op = "attention_step", .M = 0, .H = 2, .dk = 8, .dv = 8, .t = 3},
        {.op = "attention_step", .M = 2, .H = 1, .dk = 8, .dv = 8, .t = 300},
        {.op = "attention_step", .M = 33, .H = 8, .dk = 64, .dv = 64, .t = 25},
        {.op = "attention_step", .M = 9, .H = 2, .dk = 16, .dv = 33, .window = 8, .t = 3},
        {.op = "attention_step", .M = 9, .H = 2, .dk = 16, .dv = 33, .window = 8, .t = 30},
        {.op = "attention_step", .M = 9, .H = 2, .dk = 16, .dv = 16, .window = 1, .t = 30},
        {.op = "attention_step", .M = 3, .H = 2, .dk = 8, .dv = 8, .t = 2, .flags = kMultiStep},
        {.op = "attention_step", .M = 12, .H = 3, .dk = 5, .dv = 7, .pad = 3, .t = 40, .flags = kMultiStep},
        {.op = "attention_step", .M = 33, .H = 8, .dk = 64, .dv = 64, .t = 25, .flags = kMultiStep},
        {.op = "attention_step", .M = 6, .H = 1, .dk = 64, .dv = 64, .pad = 1, .t = 70, .flags = kMultiStep},
        {.op = "attention_step", .M = 9, .H = 2, .dk = 16, .dv = 33, .window = 8, .t = 30, .flags = kMultiStep},
        {.op = "attention_step", .M = 9, .H = 2, .dk = 64, .dv = 64, .window = 2, .t = 3, .flags = kMultiStep},
    });
}

void add_loss_and_top_k(Cases &list) {
    for (uint32_t uniform : {0u, static_cast<uint32_t>(kUniform)})
        list.insert(list.end(), {
            {.op = "loss", .M = 0, .D = 8, .V = 11, .smoothing = 0.1f, .flags = uniform},
            {.op = "loss", .M = 1, .D = 1, .V = 2, .smoothing = 0.1f, .flags = uniform},
            {.op = "loss", .M = 7, .D = 17, .V = 33, .smoothing = 0.1f, .flags = uniform},
            {.op = "loss", .M = 65, .D = 32, .V = 300, .smoothing = 0.2f, .flags = uniform},
            {.op = "loss", .M = 9, .D = 12, .V = 40, .flags = uniform},
            {.op = "loss", .M = 3, .D = 5, .V = 7, .smoothing = 0.1f, .flags = uniform | kGradient},
            {.op = "loss", .M = 0, .D = 8, .V = 11, .smoothing = 0.1f, .flags = uniform | kBias},
            {.op = "loss", .M = 7, .D = 17, .V = 33, .smoothing = 0.1f, .flags = uniform | kBias},
            {.op = "loss", .M = 3, .D = 5, .V = 7, .smoothing = 0.1f, .flags = uniform | kBias | kGradient},
        });
    list.insert(list.end(), {
        {.op = "loss", .M = 5, .D = 6, .V = 1},
        {.op = "loss", .M = 10, .D = 12, .V = 40, .smoothing = 0.1f, .flags = kIdle},
        {.op = "loss", .M = 6, .D = 5, .V = 7, .smoothing = 0.1f, .flags = kIdle | kGradient},
        {.op = "loss", .M = 600, .D = 24, .V = 130, .smoothing = 0.1f},
        {.op = "loss", .M = 2100, .D = 9, .V = 41, .smoothing = 0.1f, .flags = kIdle},  // more than one chunk
        {.op = "loss", .M = 530, .D = 8, .V = 16, .smoothing = 0.1f, .flags = kIdle},
        {.op = "loss", .M = 20, .D = 64, .V = 5003, .smoothing = 0.1f},
        {.op = "loss", .M = 5, .D = 3, .V = 20493, .smoothing = 0.1f, .flags = kIdle},  // CUDA: larger blocks
        {.op = "loss", .M = 5, .D = 3, .V = 41003, .smoothing = 0.1f, .flags = kIdle},  // more than a block keeps
        {.op = "loss", .M = 1, .D = 1, .V = 2, .flags = kBias},
        {.op = "loss", .M = 600, .D = 24, .V = 130, .smoothing = 0.1f, .flags = kBias},
        {.op = "loss", .M = 2100, .D = 9, .V = 41, .smoothing = 0.1f, .flags = kIdle | kBias},
        {.op = "loss", .M = 20, .D = 64, .V = 1003, .smoothing = 0.1f, .flags = kBias},
        {.op = "loss", .M = 6, .D = 5, .V = 7, .smoothing = 0.1f, .flags = kIdle | kBias | kGradient},
        {.op = "loss", .M = 4, .D = 3, .V = 9, .flags = kGradient},
        {.op = "top_k", .M = 0, .D = 8, .V = 20, .k = 4},
        {.op = "top_k", .M = 1, .D = 1, .V = 1, .k = 1},
        {.op = "top_k", .M = 1, .D = 64, .V = 1000, .k = 1},
        {.op = "top_k", .M = 1, .D = 16, .V = 2600, .k = 1, .banned = {2, 2599}, .flags = kAll | kBias},
        {.op = "top_k", .M = 33, .D = 8, .V = 1501, .k = 3, .banned = {1}, .flags = kAll | kAllowed},
        {.op = "top_k", .M = 3, .D = 17, .V = 33, .k = 33},
        {.op = "top_k", .M = 9, .D = 64, .V = 515, .k = 8, .banned = {0, 3, 514}},
        {.op = "top_k", .M = 33, .D = 32, .V = 3001, .k = 10, .banned = {1}},
        {.op = "top_k", .M = 130, .D = 16, .V = 100, .k = 5},
        {.op = "top_k", .M = 5, .D = 4, .V = 200, .k = 12, .flags = kTies},
        {.op = "top_k", .M = 7, .D = 3, .V = 37, .k = 37, .flags = kTies},
        {.op = "top_k", .M = 4, .D = 3, .V = 37, .k = 30, .banned = {5, 6, 7, 36, 0}, .flags = kTies},
        {.op = "top_k", .M = 3, .D = 8, .V = 1100, .k = 5, .banned = {1}, .flags = kNearTies},
        {.op = "top_k", .M = 5, .D = 8, .V = 700, .k = 6, .flags = kNearTies | kAllowed},
        {.op = "top_k", .M = 5, .D = 16, .V = 31, .k = 31, .flags = kAllowed},
        {.op = "top_k", .M = 4, .D = 3, .V = 2600, .k = 12, .banned = {0, 7}, .flags = kTies | kAllowed},
        {.op = "top_k", .M = 21, .D = 16, .V = 5001, .k = 9, .banned = {0}, .flags = kAllowed},
        {.op = "top_k", .M = 1, .D = 64, .V = 1000, .k = 1, .flags = kBias},
        {.op = "top_k", .M = 3, .D = 17, .V = 33, .k = 33, .flags = kBias},
        {.op = "top_k", .M = 33, .D = 32, .V = 3001, .k = 10, .banned = {1}, .flags = kBias},
        {.op = "top_k", .M = 5, .D = 4, .V = 700, .k = 12, .banned = {3}, .flags = kBias | kTies | kAllowed},
    });
}

void add_low_precision(Cases &list) {
    list.push_back({.op = "linear", .M = 3, .N = 17, .K = 1 << 17, .flags = kExtremes, .weights = XF_WEIGHTS_INT8});
    for (uint32_t weights : {XF_WEIGHTS_BF16, XF_WEIGHTS_FP16, XF_WEIGHTS_INT8}) {
        for (int64_t M : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 65})
            list.push_back({.op = "linear", .M = M, .N = 37, .K = 21, .flags = kBias, .weights = weights});
        for (int64_t N : {1, 3, 15, 17, 48, 130})
            for (int64_t K : {1, 3, 4, 16, 66, 513, 1030})
                list.push_back({.op = "linear", .M = 5, .N = N, .K = K, .flags = kBias | kRelu, .weights = weights});
        list.insert(list.end(), {
            {.op = "linear", .M = 33, .N = 64, .K = 64, .pad = 3, .flags = kBias | kRelu, .weights = weights},
            {.op = "linear", .M = 4, .N = 1100, .K = 64, .weights = weights},
            {.op = "linear", .M = 250, .N = 40, .K = 2051, .flags = kBias, .weights = weights},
            {.op = "linear", .M = 4, .N = 67, .K = 70, .flags = kExtremes, .weights = weights},
            {.op = "linear", .M = 11, .N = 130, .K = 2051, .flags = kExtremes, .weights = weights},
            {.op = "embed", .M = 0, .D = 8, .V = 23, .weights = weights},
            {.op = "embed", .M = 7, .D = 17, .V = 23, .weights = weights},
            {.op = "embed", .M = 70, .D = 64, .V = 40, .weights = weights},
            {.op = "loss", .M = 7, .D = 17, .V = 33, .smoothing = 0.1f, .weights = weights},
            {.op = "loss", .M = 300, .D = 64, .V = 1003, .smoothing = 0.1f, .weights = weights},
            {.op = "loss", .M = 7, .D = 17, .V = 533, .smoothing = 0.1f, .flags = kBias, .weights = weights},
            {.op = "top_k", .M = 3, .D = 17, .V = 533, .k = 13, .flags = kBias, .weights = weights},
            {.op = "top_k", .M = 1, .D = 64, .V = 1000, .k = 1, .weights = weights},
            {.op = "top_k", .M = 5, .D = 8, .V = 1501, .k = 3, .banned = {1}, .flags = kAll | kAllowed, .weights = weights},
            {.op = "top_k", .M = 3, .D = 17, .V = 33, .k = 33, .weights = weights},
            {.op = "top_k", .M = 33, .D = 32, .V = 3001, .k = 10, .banned = {1}, .weights = weights},
            {.op = "top_k", .M = 21, .D = 16, .V = 1501, .k = 9, .banned = {0}, .flags = kAllowed, .weights = weights},
        });
    }
}
// clang-format on

Cases make_cases() {
    Cases list;
    add_embed_and_norm(list);
    add_linear(list);
    add_activation(list);
    add_attention(list);
    add_loss_and_top_k(list);
    add_low_precision(list);
    for (int64_t N : {0, 1, 3, 17, 4095, 4097, 20000})
        list.insert(list.end(), {{.op = "adam", .N = N},
                                 {.op = "adam", .N = N, .flags = kDecay | kAverage},
                                 {.op = "sum_squares", .N = N}});
    list.push_back({.op = "adam", .N = 100, .flags = kDecay});
    list.push_back({.op = "adam", .N = 100, .flags = kAverage});
    if (const char *only = std::getenv("XF_TEST_OP"))
        std::erase_if(list, [only](const Case &c) { return c.op != only; });
    return list;
}

}  // namespace

std::string describe(const Case &c) {
    std::ostringstream out;
    const auto letter = [&](const char *name, auto value) {
        if (value) out << ' ' << name << '=' << value;
    };
    const auto lengths = [&](const char *name, const std::vector<int32_t> &values) {
        if (values.empty()) return;
        out << ' ' << name << '=';
        for (size_t i = 0; i < values.size(); ++i) out << (i ? "," : "") << values[i];
    };
    out << c.op;
    letter("M", c.M), letter("N", c.N), letter("K", c.K), letter("D", c.D), letter("V", c.V);
    if (c.dk) letter("H", c.H);
    letter("dk", c.dk), letter("dv", c.dv), letter("pad", c.pad);
    lengths("S", c.S), lengths("T", c.T);
    letter("window", c.window), letter("t", c.t), letter("k", c.k);
    lengths("banned", c.banned);
    letter("rate", c.rate), letter("smoothing", c.smoothing);
    letter("weights", c.weights);
    out << " flags=0x" << std::hex << c.flags;
    return out.str();
}

const std::vector<Case> &all_cases() {
    static const Cases list = make_cases();
    return list;
}

}  // namespace xf_test
