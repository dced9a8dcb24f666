// The file format of the tokenizers in lib/text/words: one JSON object, stored in the metadata of a model file.
//
//     {"format":"xformer-tokenizer","version":1,"kind":"bpe","normalization":"nfkc","invalid_utf8":"error",
//      "vocab_size":37000,"min_pair_count":2,"character_coverage":0.9999,
//      "characters":"üäß...","merges":[[34,103],...]}
//
// "characters" lists the characters above U+007F in the order of their ids, from 258. Each merge names two earlier ids
// and defines the next one (words/bpe.h); the pieces of BPE are not stored because they follow from these two lists.
// The kind "wordpiece" has "pieces", a list of strings, in place of "merges" (words/wordpiece.h). The kind "unigram"
// has "pieces" and "scores", a list of floats in their shortest decimal form (words/unigram.h).
//
// Readers reject unknown keys and values, so any change of meaning requires a new version. Changed lists that are still
// valid are not detected here; the checksum of the model file covers them.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "text/json/format.h"
#include "text/words/tokenizer.h"
#include "xformer/status.h"

namespace xf {

std::string write_tokenizer_json(const TokenizerOptions &options, const WordTable &table);

// Checks the format and the options; the models check the table. XF_ERROR_CORRUPT, XF_ERROR_LIMIT, XF_ERROR_VERSION.
void read_tokenizer_json(std::string_view json, TokenizerOptions *options, WordTable *table);

// Throws `status` if an option is out of range.
void check_tokenizer_options(const TokenizerOptions &options, xf_status status);

}  // namespace xf
