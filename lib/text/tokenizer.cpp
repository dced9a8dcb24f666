// Which tokenizer a file holds; see tokenizer.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer.h"

#include "text/sentencepiece.h"
#include "text/sentencepiece_json.h"
#include "text/tokenizer_pair.h"
#include "text/word_tokenizer.h"

namespace xf {

std::shared_ptr<const Tokenizer> Tokenizer::parse(std::string_view json) {
    if (TokenizerPair::is_json(json)) return TokenizerPair::parse(json);
    if (is_sentencepiece_json(json)) return std::make_shared<SentencePieceTokenizer>(read_sentencepiece_json(json));
    return WordTokenizer::parse(json);
}

}  // namespace xf
