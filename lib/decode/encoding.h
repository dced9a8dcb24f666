// Encodes texts for a model: tokenizer, special tokens, and language tokens (TokenTemplates).
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "data/encoded_corpus.h"
#include "nn/model_config.h"
#include "text/tokenizer.h"

namespace xf {

// Sets the options of a new model that its tokenizer determines: vocabulary sizes, start token, and end token. Throws
// XF_ERROR_INVALID_ARGUMENT if an option contradicts the tokenizer or no end token is known.
void set_tokenizer_options(const Tokenizer &tokenizer, Options *options);

// Converts texts to ids for one model. Immutable.
class TextEncoder {
public:
    // model: the options of the model; options: the languages ("text.source_language", "text.target_language"). Throws
    // XF_ERROR_INVALID_ARGUMENT if the model does not have a language, or if a required language is not set.
    TextEncoder(std::shared_ptr<const Tokenizer> tokenizer, Options model, const Options &options);

    // Appends the ids of a text with its special tokens. Returns false and appends nothing if the text has no token.
    bool encode(Side side, std::string_view text, std::vector<int32_t> *ids, EncodeScratch *scratch,
                Sampler *sampler = nullptr) const;

    // Everything on which ids depend, by name (Encoders::identity).
    Metadata identity() const;

private:
    std::shared_ptr<const Tokenizer> tokenizer_;
    TokenTemplates templates_;
    std::string languages_[2];
};

// Returns the encoders of a batcher, one per worker of the pool, with the sampling that the options request. tokenizer:
// null for a corpus of ids. model: the options of the model to which the tokenizer belongs; null if there is none.
// Options of the group "model." that are set in `options` override them.
Encoders batch_encoders(const std::shared_ptr<const Tokenizer> &tokenizer, const Options *model, const Options &options,
                        ThreadPool *pool);

}  // namespace xf
