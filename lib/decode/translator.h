// Translation of texts: tokenizes, decodes, and detokenizes.
//
// White space at both ends of a text is removed, because a model would translate a line end. If the text is then empty,
// so is its translation.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "decode/decoder.h"
#include "text/tokenizer.h"

namespace xf {

// Returns the text without white space at its ends: the White_Space characters of Unicode and the zero-width characters
// U+200B, U+2060, and U+FEFF.
std::string_view trimmed(std::string_view text);

// An array of C strings. lengths null: they are NUL-terminated.
struct Texts {
    const char *const *texts = nullptr;
    const size_t *lengths = nullptr;
    size_t count = 0;

    // Returns text i; std::nullopt if it is NULL.
    std::optional<std::string_view> get(size_t i) const {
        if (texts == nullptr || texts[i] == nullptr) return std::nullopt;
        return lengths != nullptr ? std::string_view(texts[i], lengths[i]) : std::string_view(texts[i]);
    }
};

// Scores of pairs of texts: NaN and the error for a pair that cannot be scored.
struct ScoredTexts {
    std::vector<double> log_probabilities;
    std::vector<SentenceOutcome> errors;
};

class Translator {
public:
    // The arguments must outlive the translator.
    Translator(const Tokenizer &tokenizer, Decoder &decoder) : tokenizer_(tokenizer), decoder_(decoder) {}

    // Returns the outcome of each text. prefixes: the beginnings of the translations, one for each text; missing ones
    // are empty. The prefixes of the request are ignored.
    std::vector<SentenceOutcome> translate(const Texts &texts, const Texts &prefixes, DecodeRequest request,
                                           const Call &call = {});

    // Returns the log-probability of each target given its source. The languages are those of the decoder.
    ScoredTexts score(const Texts &sources, const Texts &targets, const Call &call = {});

private:
    const Tokenizer &tokenizer_;
    Decoder &decoder_;
    // The texts as one batch, and their prefixes. Texts with errors are empty sentences.
    std::vector<int32_t> ids_, prefix_ids_;
    std::vector<int64_t> offsets_, prefix_offsets_;
    EncodeScratch scratch_;
};

// Appends the ids of a text to *ids, and the ids of the prefix of its translation to *prefix_ids. If that fails or the
// text is empty, appends nothing and writes the outcome.
void encode_text(const Tokenizer &tokenizer, const TokenTemplate &source, std::optional<std::string_view> text,
                 std::optional<std::string_view> prefix, std::vector<int32_t> *ids, std::vector<int32_t> *prefix_ids,
                 EncodeScratch *scratch, SentenceOutcome *outcome);

// Detokenizes all hypotheses. Those with an alignment also receive text_ends.
void write_texts(const Tokenizer &tokenizer, SentenceOutcome *outcome);

// Writes the end of each source token in a text whose ids were made by encode_text().
void write_source_ends(const Tokenizer &tokenizer, const TokenTemplate &source, std::string_view text,
                       std::span<const int32_t> ids, SentenceOutcome *outcome);

}  // namespace xf
