// The keys, limits, and names that all tokenizer files share.
//
// A tokenizer file is one JSON object with the keys "format", "version", and "kind", followed by the keys of its kind:
// words.h, sentencepiece.h, or TokenizerPair (tokenizer.h).
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace xf {

constexpr size_t kMaxTokenizerJsonBytes = size_t{1} << 27;

namespace tokenizer_json {

inline constexpr char kFormat[] = "xformer-tokenizer";
inline constexpr int64_t kVersion = 1;

// The first keys of every kind. The enum of a kind continues at kCommonKeyCount.
enum CommonKey { kFormatKey, kVersionKey, kKindKey, kCommonKeyCount };

// Returns the value of "kind" if it has at most 64 bytes, and "" if the file has no kind or contains something before
// it that no tokenizer file contains. Stops reading at that value, so errors after it are not detected.
// XF_ERROR_CORRUPT for text before it that is not JSON, XF_ERROR_LIMIT for a file above kMaxTokenizerJsonBytes.
std::string kind_of(std::string_view json);

// Base64 (RFC 4648, section 4), for binary tables.
std::string to_base64(std::string_view bytes);
// Returns false for text that to_base64() never returns: other characters, wrong padding, or nonzero unused bits.
bool from_base64(std::string_view text, std::string *bytes);

}  // namespace tokenizer_json
}  // namespace xf
