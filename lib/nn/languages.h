// The languages of a model that translates between many, and where their tokens stand.
//
// Such a model learns from a token which language it is to write, and often from another one which it reads (Johnson et
// al. 2017; Fan et al. 2021). Models differ in where these stand.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/options.h"

namespace xf {

// What a call said; -1: nothing.
struct LanguageTokens {
    int32_t source = -1, target = -1;
};

class Languages {
public:
    Languages() = default;
    // Throws XF_ERROR_INVALID_ARGUMENT when the options contradict each other. V, source_V: where ids end.
    Languages(const Options &options, int64_t V, int64_t source_V);

    // The tokens of the languages that the options of a group name, "decode." or "data."; -1 where the name is empty.
    // XF_ERROR_INVALID_ARGUMENT names the nearest when there is none.
    LanguageTokens told(const Options &options, std::string_view group) const;

    // XF_ERROR_INVALID_ARGUMENT when a text is to be read and the model wants to be told what it was not.
    void check_told(const LanguageTokens &told, std::string_view group) const;

    // Whether a target that ends with this token is to be fed to the decoder behind it.
    bool starts(int32_t token) const;

    // What stands before the ids of a source and behind its end symbol, what an answer begins with, and what the
    // decoder is fed first in place of the start symbol; -1: nothing.
    int32_t before(const LanguageTokens &told) const {
        return source_ == Source::kBefore ? told.source : target_ == Target::kSource ? told.target : -1;
    }
    int32_t after(const LanguageTokens &told) const { return source_ == Source::kAfter ? told.source : -1; }
    int32_t first(const LanguageTokens &told) const { return target_ == Target::kFirst ? told.target : -1; }
    int32_t start(const LanguageTokens &told) const { return target_ == Target::kStart ? told.target : -1; }

private:
    enum class Source { kNone, kBefore, kAfter };          // model.source_language
    enum class Target { kNone, kFirst, kStart, kSource };  // model.target_language
    struct Language {
        std::string name;
        int32_t token;
    };
    int32_t find(const std::string &key, std::string_view name) const;

    std::vector<Language> list_;
    std::vector<int32_t> starts_;  // rising; empty unless target_ is kStart
    Source source_ = Source::kNone;
    Target target_ = Target::kNone;
};

}  // namespace xf
