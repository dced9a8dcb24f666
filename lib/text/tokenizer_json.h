// The file format of tokenizers learnt here: one JSON object, kept in the metadata of a model file. (Those of
// SentencePiece are in sentencepiece_json.h.)
//
//     {"format":"xformer-tokenizer","version":1,"kind":"bpe","normalization":"nfkc","invalid_utf8":"error",
//      "vocab_size":37000,"min_pair_count":2,"character_coverage":0.9999,
//      "characters":"üäß...","merges":[[34,103],...]}
//
// "characters" holds the characters above U+007F in the order of their ids, from 258; each merge names two earlier
// ids and makes the next one (see bpe_model.h). The pieces of BPE are not stored: they follow from these two lists. For
// the kind "wordpiece" the last key is "pieces" instead: a list of strings, by id (see wordpiece_model.h). The kind
// "unigram" has "pieces" and "scores": a list of numbers, with the digits that a float needs (see unigram_model.h). A
// reader refuses what it does not know, so any change of meaning needs a new version. Damage that leaves valid lists is
// not noticed here: the model file's checksum covers it.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "text/bpe_model.h"
#include "text/word_tokenizer.h"
#include "xformer/status.h"

namespace xf {

constexpr size_t kMaxTokenizerJsonBytes = size_t{1} << 27;

// What the file holds beside the options.
struct TokenizerTable {
    std::vector<uint32_t> characters;
    std::vector<BpeMerge> merges;  // of BPE alone
    PieceList pieces;              // of WordPiece and unigram
    std::vector<float> scores;     // of unigram alone
};

std::string write_tokenizer_json(const TokenizerOptions &options, const TokenizerTable &table);

// Checks the form and the options; the models check the table. XF_ERROR_CORRUPT, XF_ERROR_LIMIT, XF_ERROR_VERSION.
void read_tokenizer_json(std::string_view json, TokenizerOptions *options, TokenizerTable *table);

// Throws `status` when an option is out of its range.
void check_tokenizer_options(const TokenizerOptions &options, xf_status status);

}  // namespace xf
