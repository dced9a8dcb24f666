// The languages of a multilingual model and the positions of their tokens.
//
// In such a model a token selects the target language, and often another token names the source language (Johnson et
// al. 2017; Fan et al. 2021). The positions of these tokens differ between models.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/options.h"

namespace xf {

// The languages of one call; -1: not set.
struct LanguageTokens {
    int32_t source = -1, target = -1;
};

class Languages {
public:
    Languages() = default;
    // Throws XF_ERROR_INVALID_ARGUMENT if the options contradict each other. V, source_V: the sizes of the
    // vocabularies.
    Languages(const Options &options, int64_t V, int64_t source_V);

    // Returns the tokens of text.source_language and text.target_language; -1 where the name is empty.
    // XF_ERROR_INVALID_ARGUMENT names the nearest language if the model does not have this one.
    LanguageTokens tokens(const Options &options) const;

    // Throws XF_ERROR_INVALID_ARGUMENT if the model requires a language that is not set.
    void check_set(const LanguageTokens &language) const;

    bool operator==(const Languages &) const = default;

    // Returns whether a token names a language.
    bool contains(int32_t token) const;
    // Returns whether the decoder receives this last token of a target instead of the start symbol.
    bool replaces_start(int32_t token) const { return target_ == Target::kStart && contains(token); }

    // The tokens before the ids of a source and after its end symbol, the first token of a target, and the token that
    // replaces the start symbol; -1: none.
    int32_t source_prefix(const LanguageTokens &language) const {
        return source_ == Source::kBefore ? language.source : target_ == Target::kSource ? language.target : -1;
    }
    int32_t source_suffix(const LanguageTokens &language) const {
        return source_ == Source::kAfter ? language.source : -1;
    }
    int32_t first_token(const LanguageTokens &language) const {
        return target_ == Target::kFirst ? language.target : -1;
    }
    int32_t start_token(const LanguageTokens &language) const {
        return target_ == Target::kStart ? language.target : -1;
    }

private:
    enum class Source { kNone, kBefore, kAfter };          // model.source_language
    enum class Target { kNone, kFirst, kStart, kSource };  // model.target_language
    struct Language {
        std::string name;
        int32_t token;
        bool operator==(const Language &) const = default;
    };
    int32_t find(const char *key, std::string_view name) const;

    std::vector<Language> list_;
    Source source_ = Source::kNone;
    Target target_ = Target::kNone;
};

}  // namespace xf
