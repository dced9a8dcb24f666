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

class Languages {
public:
    enum class Source { kNone, kBefore, kAfter };          // of the source's ids; kAfter: behind the end symbol
    enum class Target { kNone, kFirst, kStart, kSource };  // model.target_language

    Languages() = default;
    // Throws XF_ERROR_INVALID_ARGUMENT when the options contradict each other. V, source_V: where ids end.
    Languages(const Options &options, int64_t V, int64_t source_V);

    Source source() const { return source_; }
    Target target() const { return target_; }

    // The token of a language; -1 for an empty name. XF_ERROR_INVALID_ARGUMENT names the nearest when there is none.
    int32_t find(const char *key, std::string_view name) const;

    // The same where a text is to be read: XF_ERROR_INVALID_ARGUMENT when the model has to be told and is not.
    void check_told(int32_t source, int32_t target) const;

private:
    struct Language {
        std::string name;
        int32_t token;
    };
    std::vector<Language> list_;
    Source source_ = Source::kNone;
    Target target_ = Target::kNone;
};

}  // namespace xf
