// Reading a tokenizer of any kind; see tokenizer.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer.h"

#include "text/json/format.h"
#include "text/json/sentencepiece.h"
#include "text/sentencepiece/tokenizer.h"
#include "text/tokenizer_pair.h"
#include "text/words/tokenizer.h"

namespace xf {

std::shared_ptr<const Tokenizer> Tokenizer::parse(std::string_view json) {
    const std::string kind = tokenizer_json::kind_of(json);
    if (kind == TokenizerPair::kKind) return TokenizerPair::parse(json);
    if (kind == sentencepiece_json::kUnigram || kind == sentencepiece_json::kBpe)
        return std::make_shared<SentencePieceTokenizer>(read_sentencepiece_json(json));
    return WordTokenizer::parse(json);  // rejects unknown kinds
}

}  // namespace xf
