// Base64 (RFC 4648, section 4): binary tables inside JSON files.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace xf {

std::string to_base64(std::string_view bytes);

// Returns false for text that to_base64() never returns: other characters, wrong padding, or nonzero unused bits.
bool from_base64(std::string_view text, std::string *bytes);

}  // namespace xf
