// The options of the group "model." as a typed struct, with the derived sizes.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "backend/plugin_abi.h"
#include "nn/languages.h"

namespace xf {

enum class Positions { kSinusoid, kLearned, kFixed };  // kFixed: a table in the file that training does not change
enum class Stack { kEncoder, kDecoder };
enum class Tie { kAll, kDecoder, kNone };  // which of source embedding, target embedding, and output are shared

struct SpecialTokens {
    int32_t start, end;           // may be equal
    int32_t first;                // of every hypothesis; -1: any
    std::vector<int32_t> banned;  // ascending; does not contain start

    // Throws XF_ERROR_INVALID_ARGUMENT if the options contradict each other. V, source_V: the sizes of the
    // vocabularies.
    static SpecialTokens from(const Options &options, int64_t V, int64_t source_V);
    bool operator==(const SpecialTokens &) const = default;
};

// The special tokens around the ids of a text. Decoding and training use the same templates, so that a model receives
// at decoding time what it was trained on.
//
//   source   [language] ids end [language]
//   target   [first token] ids end [language that replaces the start symbol]
//
// A language token after the end of a target is not part of the text: PackedBatch uses it as the first input of the
// decoder instead of the start symbol.
struct TokenTemplate {
    int32_t prefix = -1, end = 1, suffix = -1;  // -1: none

    // Calls write(), which appends the ids of a text to *ids, and adds the special tokens. If write() appends nothing,
    // returns false and appends nothing.
    template <class Write>
    bool append(std::vector<int32_t> *ids, Write write) const {
        const size_t begin = ids->size();
        if (prefix >= 0) ids->push_back(prefix);
        const size_t text = ids->size();
        write();
        if (ids->size() == text) {
            ids->resize(begin);
            return false;
        }
        ids->push_back(end);
        if (suffix >= 0) ids->push_back(suffix);
        return true;
    }
};

struct TokenTemplates {
    TokenTemplate source, target;

    TokenTemplates(const SpecialTokens &tokens, const Languages &languages, const LanguageTokens &language)
        : source{languages.source_prefix(language), tokens.end, languages.source_suffix(language)},
          target{languages.first_token(language) >= 0 ? languages.first_token(language) : tokens.first, tokens.end,
                 languages.start_token(language)} {}
};

struct ModelConfig {
    int64_t encoder_layers, decoder_layers;  // N (paper s. 3.1)
    int64_t D, F, H, d_k, d_v, V;            // d_model, d_ff, heads, d_k, d_v, target vocabulary
    int64_t source_V;                        // source vocabulary; V if it is shared
    Tie tie;
    uint32_t activation;  // XF_ACTIVATION_...
    bool gated;
    bool attention_bias, output_bias;
    bool pre_norm;
    bool rms_norm;
    bool embedding_norm;
    float embedding_scale;
    Positions positions;
    float norm_epsilon;
    int64_t max_length;
    int64_t window;
    SpecialTokens tokens;
    Languages languages;
    uint64_t seed;

    int64_t layers(Stack stack) const { return stack == Stack::kEncoder ? encoder_layers : decoder_layers; }
    int64_t q_columns() const { return H * d_k; }
    int64_t v_columns() const { return H * d_v; }
    int64_t qkv_columns() const { return H * (2 * d_k + d_v); }
    int64_t kv_columns() const { return H * (d_k + d_v); }
    // The output size of the first linear map of the feed-forward sub-layer: the activations and, with gates, the
    // gates.
    int64_t inner_columns() const { return gated ? 2 * F : F; }
    // Returns whether a sentence of n >= 1 tokens ends with the end symbol, which a language token may follow.
    bool ends(const int32_t *ids, int64_t n) const {
        return ids[n - 1] == tokens.end || (n > 1 && ids[n - 2] == tokens.end);
    }
    float attention_scale() const {
        const float width = d_k;
        return 1 / std::sqrt(width);
    }
    // The feed-forward sub-layer of the paper, whose first linear map includes the ReLU.
    bool plain_relu() const { return activation == XF_ACTIVATION_RELU && !gated; }

    // Throws XF_ERROR_INVALID_ARGUMENT if the options contradict each other or the vocabulary size is not set.
    static ModelConfig from(const Options &options);
};

}  // namespace xf
