// The special tokens around the ids of a text. Decoding and training use the same templates, so that a model receives
// at decoding time what it was trained on.
//
//   source   [language] ids end [language]
//   target   [first token] ids end [language that replaces the start symbol]
//
// A language token after the end of a target is not part of the text: PackedBatch uses it as the first input of the
// decoder instead of the start symbol.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "nn/model_config.h"

namespace xf {

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

}  // namespace xf
