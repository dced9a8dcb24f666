// What stands around the ids of a text: of a source before it is translated, and of both sides before a model learns
// from them. One place for both, so that a model is asked what it was taught.
//
//   source   [language] ids end [language]
//   target   [first token] ids end [language that the decoder is fed first]
//
// A language behind the end of a target is no part of what is said: PackedBatch feeds it to the decoder in place of the
// start symbol.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "nn/model_config.h"

namespace xf {

struct Frame {
    int32_t before = -1, end = 1, after = -1;  // -1: nothing

    // Appends what write() appends to *ids, framed. False, and appends nothing, where write() does.
    template <class Write>
    bool append(std::vector<int32_t> *ids, Write write) const {
        const size_t begin = ids->size();
        if (before >= 0) ids->push_back(before);
        const size_t text = ids->size();
        write();
        if (ids->size() == text) {
            ids->resize(begin);
            return false;
        }
        ids->push_back(end);
        if (after >= 0) ids->push_back(after);
        return true;
    }
};

struct Frames {
    Frame source, target;

    Frames(const SpecialTokens &tokens, const Languages &languages, const LanguageTokens &told)
        : source{languages.before(told), tokens.end, languages.after(told)},
          target{languages.first(told) >= 0 ? languages.first(told) : tokens.first, tokens.end, languages.start(told)} {
    }
};

}  // namespace xf
