// Translation of texts: text -> ids -> answers -> text, and what becomes of texts that can't be translated.
//
// White space around a text is no part of what was meant and is taken off: a line end that reached the model would be
// translated too. A text of nothing else has an empty answer.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "decode/decoder.h"
#include "text/tokenizer.h"

namespace xf {

// The text without white space at its ends: what Unicode calls so, and the characters without width that stand for
// nothing, U+200B, U+2060 and U+FEFF.
std::string_view trimmed(std::string_view text);

// Texts as C gives them. lengths null: they are NUL-terminated.
struct Texts {
    const char *const *texts = nullptr;
    const size_t *lengths = nullptr;
    size_t count = 0;

    bool missing(size_t i) const { return texts == nullptr || texts[i] == nullptr; }
    std::string_view operator[](size_t i) const {
        return lengths != nullptr ? std::string_view(texts[i], lengths[i]) : std::string_view(texts[i]);
    }
};

class Translator {
public:
    // Both must outlive the translator.
    Translator(const Tokenizer &tokenizer, Decoder &decoder) : tokenizer_(tokenizer), decoder_(decoder) {}

    // What became of each text. prefixes: what the answers begin with, of as many entries, or none at all; missing ones
    // are none. The request's own prefixes are not looked at.
    std::vector<SentenceOutcome> translate(const Texts &texts, const Texts &prefixes, DecodeRequest request,
                                           const Call &call = {});

private:
    void encode(const Texts &texts, const Texts &prefixes, size_t i, const Frame &frame, SentenceOutcome *outcome);

    const Tokenizer &tokenizer_;
    Decoder &decoder_;
    // The texts as one batch, and what their answers begin with; of what can't be translated there is nothing.
    std::vector<int32_t> ids_, offsets_, prefix_ids_, prefix_offsets_;
    EncodeScratch scratch_;
};

// The text of each answer.
void write_texts(const Tokenizer &tokenizer, std::vector<SentenceOutcome> *outcomes);

}  // namespace xf
