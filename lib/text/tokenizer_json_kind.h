// Which format the JSON of a tokenizer has, so that one reader is asked and not each in turn.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace xf::tokenizer_json {

// The word under "kind", of at most 64 bytes, or "" where the text has none or something before it that no tokenizer
// has. It reads no further than that word, and keeps nothing else: the text may be hostile, and what follows may be
// wrong. XF_ERROR_CORRUPT for what is no JSON that far, XF_ERROR_LIMIT for a text above kMaxTokenizerJsonBytes.
std::string kind_of(std::string_view json);

}  // namespace xf::tokenizer_json
